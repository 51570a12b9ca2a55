"""Searches by name."""

from malaprop.core.catalogue import Catalogue

SEARCHES = Catalogue(
    "search",
    {
        "greedy": "malaprop.attacks.search.greedy:Greedy",
        "first-found": "malaprop.attacks.search.greedy:FirstFound",
        "beam": "malaprop.attacks.search.beam:Beam",
        "genetic": "malaprop.attacks.search.genetic:Genetic",
        "hard-label-genetic": "malaprop.attacks.labels.hardgenetic:HardLabelGenetic",
        "border-walk": "malaprop.attacks.labels.walks:BorderWalk",
        "differential-evolution": "malaprop.attacks.search.differential:DifferentialEvolution",
        "visual-noise": "malaprop.attacks.search.noise:VisualNoise",
        "rewrites": "malaprop.attacks.search.rewrites:Rewrites",
        "sentences": "malaprop.attacks.search.sentences:Sentences",
        "from-best": "malaprop.attacks.search.sentences:FromBest",
        "sweep": "malaprop.attacks.search.oneword:Sweep",
        "random": "malaprop.attacks.search.sampling:Random",
        "swarm": "malaprop.attacks.search.swarm:Swarm",
        "reduction": "malaprop.attacks.search.reduction:Reduction",
        "contextual": "malaprop.attacks.search.contextual:Contextual",
        "local": "malaprop.attacks.search.local:LocalSearch",
        "bayes": "malaprop.attacks.search.bayes:Bayes",
        "exhaustive": "malaprop.attacks.search.sampling:Exhaustive",
    },
)
