"""Goals by name."""

from malaprop.core.catalogue import Catalogue

GOALS = Catalogue(
    "goal",
    {
        "untargeted": "malaprop.attacks.goals.goal:Untargeted",
        "targeted": "malaprop.attacks.goals.goal:Targeted",
        "confident": "malaprop.attacks.goals.confident:Confident",
        "moved": "malaprop.attacks.goals.moved:Moved",
        "doubtful": "malaprop.attacks.goals.lowered:Doubtful",
        "logit-sum": "malaprop.attacks.goals.lowered:LogitSum",
        "kept": "malaprop.attacks.goals.kept:Kept",
        "label-only": "malaprop.attacks.goals.goal:LabelOnly",
    },
)
