"""Defences by name: each makes the hooks that one training loop is given."""

from malaprop.core.catalogue import Catalogue

DEFENCES = Catalogue(
    "defence",
    {
        "hotflip": "malaprop.defences.hotflip:HotFlipTraining",
        "miyato": "malaprop.defences.miyato:Miyato",
        "blackbox": "malaprop.defences.blackbox:KeyStar",
        "fact": "malaprop.defences.fact:Fact",
        "a2t": "malaprop.defences.attacked:train_a2t",
        "augment": "malaprop.defences.attacked:AttackTraining",
        "swaps": "malaprop.defences.swaps:WordSwapTraining",
        "reject": "malaprop.defences.reject:RejectTraining",
        "freelb": "malaprop.defences.smooth_training:FreeLb",
        "smart": "malaprop.defences.smooth_training:Smart",
        "flooding": "malaprop.defences.smooth_training:Flooding",
        "ascc": "malaprop.defences.hull:Ascc",
        "dne": "malaprop.defences.hull:Dne",
        "infobert": "malaprop.defences.informed:InfoBert",
        "dsrm": "malaprop.defences.informed:Dsrm",
        "safer": "malaprop.defences.safer:SwappedTraining",
        "ranmask": "malaprop.defences.ranmask:MaskedTraining",
        "randel": "malaprop.defences.randel:DeletionTraining",
    },
)
