"""Goals by name."""

from malaprop.core.catalogue import Catalogue

GOALS = Catalogue(
    "goal",
    {
        "untargeted": "malaprop.attacks.goals.goal:Untargeted",
        "targeted": "malaprop.attacks.goals.goal:Targeted",
        "confident": "malaprop.attacks.goals.goal:Confident",
        "moved": "malaprop.attacks.goals.goal:Moved",
        "doubtful": "malaprop.attacks.goals.goal:Doubtful",
        "logit-sum": "malaprop.attacks.goals.goal:LogitSum",
        "kept": "malaprop.attacks.goals.goal:Kept",
        "label-only": "malaprop.attacks.goals.goal:LabelOnly",
    },
)
