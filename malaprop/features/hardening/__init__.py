"""Train a model against attacks, and search for the method and settings that help most."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "augment": Command(".augment_command:augment", "Write perturbed copies of a dataset."),
        "harden": Command(".study:Harden", "Train a model against attacks, or wrap one in a defence."),
        "tune": Command(".tune_study:Tune", "Search for the settings of a defence."),
    },
    python={
        "harden": ".study:harden",
    },
    records={
        "tuning": {
            "record": ".tuning_record:TuningRecord",
            "section": ".tuning_report:SECTION",
            "about": "malaprop tune",
            "again": "give another --out",
        },
        "autoharden": {
            "record": "malaprop.frame.records.autoharden:AutoHardenRecord",
            "section": ".auto_report:SECTION",
            "about": "malaprop harden auto",
            "again": "run it again",
        },
    },
    methods={
        "miyato": ".miyato:Miyato",
        "blackbox": ".key_star:KeyStar",
        "a2t": ".attacked:train_a2t",
        "augment": ".attacked:AttackTraining",
        "swaps": ".word_swaps:WordSwapTraining",
        "reject": ".reject:RejectTraining",
        "freelb": ".smooth_training:FreeLb",
        "smart": ".smooth_training:Smart",
        "flooding": ".smooth_training:Flooding",
        "ascc": ".synonym_hull:Ascc",
        "dne": ".synonym_hull:Dne",
        "infobert": ".informed:InfoBert",
        "dsrm": ".informed:Dsrm",
    },
    augmenters={
        "keyboard": ".augment:read_keyboard",
        "blackbox": ".augment:read_mistyped",
    },
)
