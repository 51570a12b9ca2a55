"""Rankings by name."""

from malaprop.core.catalogue import Catalogue

RANKINGS = Catalogue(
    "ranking",
    {
        "leave-one-out": "malaprop.attacks.ranking.order:LeaveOneOut",
        "unknown": "malaprop.attacks.ranking.order:UnknownWord",
        "saliency": "malaprop.attacks.ranking.order:Saliency",
        "random": "malaprop.attacks.ranking.order:AnyOrder",
        "left-to-right": "malaprop.attacks.ranking.order:LeftToRight",
        "zero-vector": "malaprop.attacks.ranking.order:ZeroVector",
        "gradient": "malaprop.attacks.ranking.order:ByGradient",
        "attention": "malaprop.attacks.ranking.order:ByAttention",
    },
)
