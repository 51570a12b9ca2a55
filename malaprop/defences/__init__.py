"""Defences by name: each makes the hooks that one training loop is given."""

from malaprop.core.catalogue import Catalogue

DEFENCES = Catalogue(
    "defence",
    {
        "hotflip": "malaprop.defences.hotflip:HotFlipTraining",
        "miyato": "malaprop.defences.miyato:Miyato",
        "blackbox": "malaprop.defences.blackbox:KeyStar",
        "fact": "malaprop.defences.fact:Fact",
        "safer": "malaprop.defences.safer:SwappedTraining",
        "ranmask": "malaprop.defences.ranmask:MaskedTraining",
    },
)
