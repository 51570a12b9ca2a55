"""Goals by name."""

from malaprop.core.catalogue import Catalogue

GOALS = Catalogue(
    "goal",
    {
        "untargeted": "malaprop.attacks.goals.goal:Untargeted",
        "targeted": "malaprop.attacks.goals.goal:Targeted",
        "confident": "malaprop.attacks.goals.confident:Confident",
        "moved": "malaprop.attacks.goals.moved:Moved",
        "label-only": "malaprop.attacks.goals.goal:LabelOnly",
    },
)
