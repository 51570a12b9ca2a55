"""Attacks on extractive question answering: words of the context are changed, or misleading sentences are added.

- `study.py` has `malaprop qa attack`; `record.py` keeps and shows the figures.
- `readers.py` is the interface of victims, and has functions and transformers models.
- `data.py` reads SQuAD's JSON and JSONL; `scoring.py` has F1 and exact match, and makes of a reader a victim with two
  scores, "kept" and "lost", which every search of the toolkit understands.
- `attacks.py` has AddSent and AddAny, and keeps true answers in place; `statements.py` makes statements of questions.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "qa attack": Command(".study:AnswerAttack", "Make a model answer questions on a text wrongly."),
    },
    groups={"qa": "Attacks on extractive question answering."},
    records={
        "answering": {
            "record": ".record:AnsweringRecord",
            "section": ".record:SECTION",
            "about": "attacks on question answering",
            "again": "run malaprop qa attack again",
        },
    },
)
