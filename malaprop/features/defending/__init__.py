"""Victims behind defences, certificates and detectors, and the test that compares them."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "certify": Command(".certify_study:Certify", "Prove how many words of a text may change."),
        "detect fit": Command(".detect_study:DetectFit", "Fit a detector of adversarial texts for a victim."),
        "detect score": Command(".detect_study:DetectScore", "How well a detector tells the texts of attack runs."),
        "study defences": Command(
            ".evaluation_study:DefenceTest", "Defences of a victim under attacks that do and do not know them."
        ),
    },
    python={
        "certify": ".certify_study:certify",
        "detect": ".detect_study:detect",
    },
    rankings={
        "defences": ".leaderboard:rank_records",
    },
    descriptions={
        "detect": ".detection:DETECTORS",
    },
    groups={
        "detect": "Detectors of adversarial texts: fit one for a victim, score it on finished attacks.",
    },
    records={
        "defences": {
            "record": ".evaluation_record:DefencesRecord",
            "section": ".evaluation_report:SECTION",
            "about": "a defence test",
            "again": "run malaprop study defences again",
        },
        "certified": {
            "record": ".certified_record:CertifiedRecord",
            "section": ".certified_report:SECTION",
            "about": "certificates",
            "again": "run malaprop certify again",
        },
        "detection": {
            "record": ".detection_record:DetectionRecord",
            "section": ".detection_report:SECTION",
            "about": "malaprop detect score",
            "again": "run it again",
        },
    },
    wrappers={
        "safer": ".safer:Safer",
        "ranmask": ".ranmask:RanMask",
        "randel": ".randel:RanDel",
        "purify": ".purify:Purify",
        "detect": ".detect:Detect",
        "stateful": ".stateful:Stateful",
    },
    methods={
        "safer": ".safer:SwappedTraining",
        "ranmask": ".ranmask:MaskedTraining",
        "randel": ".randel:DeletionTraining",
    },
)
