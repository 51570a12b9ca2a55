"""Attacks: a goal, candidates, constraints and a search, composed into recipes.

`from malaprop.attacks import Attack, Greedy, WordNetSynonyms, Untargeted` imports the parts of an attack of one's own.
"""

from malaprop.core.catalogue import offer

_PLACES = {
    "attack": "Attack Candidates Constraint EditRule Ending Fallback Own PartRule Search SlotRule TextRule Together "
    "WordRule try_in_turn",
    "trial": "Held Space Trial",
    "judge": "Judge",
    "quality": "set_quality tighten",
    "validity": "guards set_validity",
    "candidates.lookup": "CloseSynonyms Inflections Listed Misspellings NearWords Vocabulary WordNetSynonyms "
    "remembered",
    "candidates.chars": "CharEdits Homoglyphs VisualNeighbours",
    "candidates.unseen": "Deletions InvisibleCharacters Reorderings",
    "candidates.masked": "Likely MaskedWords MergedWords",
    "candidates.combined": "Agreeing Filtered Union",
    "candidates.rules": "BySalience RuleWords",
    "constraints.edits": "MaxChanged MaxCharacterShare MaxCharacters MaxShare MaxWords OncePerSlot",
    "constraints.guards": "KeepFunctionWords KeepQuantities SameForm SamePolarity",
    "constraints.language": "KnownWords LikelyInPlace LikelyNext PerplexityRatio",
    "constraints.meaning": "InContext KeepNames NotOpposed OtherLexeme Related",
    "constraints.positions": "FirstWords KeepStopWords KeepWords LongWords",
    "constraints.senses": "FitsSense",
    "constraints.similarity": "BleuFloor ChrfFloor NoNewMistakes SentenceCosine TokenSimilarity",
    "constraints.words": "MeanVector SamePart SameTag WordCosine",
    "goals.goal": "Accepted Confident Doubtful Goal Kept LabelOnly LogitSum Moved Targeted Untargeted",
    "ranking.order": "AnyOrder ByAttention ByGradient LeaveOneOut LeftToRight Ranking Saliency UnknownWord ZeroVector",
    "search.bayes": "Bayes",
    "search.beam": "Beam",
    "search.contextual": "Contextual",
    "search.differential": "DifferentialEvolution",
    "search.genetic": "Genetic",
    "search.greedy": "FirstFound Greedy Projection",
    "search.local": "LocalSearch",
    "search.noise": "VisualNoise",
    "search.oneword": "Sweep",
    "search.reduction": "Reduction",
    "search.rewrites": "Rewrites",
    "search.sampling": "Blind Exhaustive Random",
    "search.sentences": "FromBest Sentences",
    "search.slips": "Slips",
    "search.swarm": "Swarm",
    "sentences.distract": "Distract",
    "sentences.rewriters": "BackTranslation Paraphrase Rewriter",
    "sentences.syntax": "Syntax",
    "gradient.flips": "FlipBeam",
    "gradient.mixture": "TokenMixture",
    "gradient.swaps": "SignWalk SwapBeam",
    "labels.hardgenetic": "HardLabelGenetic",
    "labels.walks": "BorderWalk",
}
__all__, __getattr__ = offer(__name__, _PLACES)
