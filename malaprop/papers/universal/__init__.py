"""Universal language adversarial examples (2021): transfer of attacks between models, and ensembles."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "transfer": Command(".study:Transfer", "Try the texts that break one model on all others."),
        "ensemble": Command(".ensemble_study:EnsembleSearch", "Search for an ensemble whose texts break other models."),
        "rules mine": Command(".rules.mine_study:Mine", "Find word swaps that lower a label in several victims."),
        "rules pmi": Command(".rules.command:pmi", "Make rules from counts of words and labels."),
        "rules apply": Command(
            ".rules.command:apply", "Apply rules to texts, the strongest first; no victim is asked."
        ),
        "rules show": Command(".rules.command:show", "The strongest rules, and how they go with the data."),
        "rules measure": Command(".rules.measure_study:Measure", "Several files of rules on the same victims."),
    },
    python={
        "transfer": ".study:transfer",
    },
    groups={
        "rules": "Universal word replacement rules: mine them from victims or counts, apply them, show what they tell.",
    },
    records={
        "transfer": {
            "record": ".record:TransferRecord",
            "section": ".report:SECTION",
            "about": "malaprop transfer",
            "again": "run it again",
            "indent": None,
        },
        "ensembles": {
            "record": ".ensembles_record:EnsemblesRecord",
            "section": ".ensembles_report:SECTION",
            "about": "malaprop ensemble",
            "again": "run it again",
            "indent": None,
        },
        "diagnosis": {
            "record": ".rules.diagnosis_record:DiagnosisRecord",
            "section": ".rules.diagnosis_report:SECTION",
            "about": "a diagnosis",
            "again": "run malaprop rules show --out again",
        },
        "mined": {
            "record": ".rules.mined_record:MinedRecord",
            "section": ".rules.mined_report:SECTION",
            "about": "malaprop rules mine",
            "again": "run it again",
        },
        "measured": {
            "record": ".rules.measured_record:MeasuredRecord",
            "section": ".rules.measured_report:SECTION",
            "about": "malaprop rules measure",
            "again": "run it again",
        },
    },
)
