"""Natural adversarial examples (Zhao et al. 2018): searches in the latent space of a generative model."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "natural": Command(".study.commands:Natural", "Search for natural adversaries in latent space."),
        "natural compare": Command(
            ".study.commands:NaturalCompare", "Victims on the same items: which needs more change."
        ),
        "natural sweep": Command(
            ".study.commands:NaturalSweep", "Classifiers from poor to good: does distance follow accuracy."
        ),
        "natural synthetic": Command(
            ".study.commands:NaturalSynthetic", "A curve in the plane: why searches are latent."
        ),
    },
    groups={
        "natural": "Natural adversaries: searches in the latent space of a generative model.",
    },
    records={
        "natural": {
            "record": ".record:NaturalRecord",
            "section": ".report:SECTION",
            "about": "natural adversaries",
            "again": "run it again",
            "indent": None,
        },
        "naturaltext": {
            "record": ".text_record:NaturalTextRecord",
            "section": ".text_report:SECTION",
            "about": "natural adversaries",
            "again": "run it again",
        },
    },
    alterations={
        "sentences": ".alterations:SENTENCES",
        "images": ".alterations:IMAGES",
    },
    models={
        "sentences": ".model_kinds:SENTENCES",
        "generators": ".model_kinds:IMAGE_GENERATORS",
        "images": ".model_kinds:IMAGE_CLASSIFIERS",
    },
)
