"""Attacks on token classification: entities that a tagger misses, mislabels, cuts or invents.

- `study.py` has `malaprop tag attack`; `run.py` runs an attack over many sentences and computes the record.
- `record.py` keeps and shows the figures; `entities.py` reads entities from tags and computes F1.
- `taggers.py` is the interface of victims, and has functions; `spacy_tagger.py` and `transformers_tagger.py` are kinds.
- `data.py` reads CoNLL and JSONL files.
- `victim.py` turns the answers of a tagger into two scores, "kept" and "reached", which every search of the toolkit
  understands; `rules.py` keeps tokens aligned and entity words in place; `presets.py` has SeqAttack's attacks.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "tag attack": Command(".study:TagAttack", "Make a tagger miss, mislabel, cut or invent entities."),
    },
    groups={"tag": "Attacks on token classification: named entities and other tags."},
    records={
        "tagging": {
            "record": ".record:TaggingRecord",
            "section": ".record:SECTION",
            "about": "attacks on token classification",
            "again": "run malaprop tag attack again",
        },
    },
)
