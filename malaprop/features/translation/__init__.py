"""Translation models, attacks on them, and their record and report."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "translate attack": Command(".study:TranslateAttack", "Bring a word into translations, or make BLEU fall."),
        "translate typos": Command(".study:TranslateTypos", "BLEU before and after one misspelling a sentence."),
        "translate probe": Command(".study:TranslateProbe", "Change words until a function of the output is true."),
        "translate run": Command(".command:run", "Translate, and score BLEU where there are references."),
    },
    groups={
        "translate": "Attacks on translation models: keywords brought into the output, typos, probes of your own.",
    },
    records={
        "translation": {
            "record": ".record:TranslationRecord",
            "section": ".report:SECTION",
            "about": "attacks on translation",
            "again": "run malaprop translate again",
        },
    },
    models={
        "translators": ".model_kinds:TRANSLATORS",
    },
)
