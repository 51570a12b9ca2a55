"""Explain a victim: which words its answer depends on, and how one changed word moves its attention and states.

- `command.py` (`malaprop explain`) prints and writes what follows for one text, or compares victims on many texts.
- `importance.py` (`mp.explain`) computes the importance of words and of their substitutes; `heat.py` draws it as
  coloured text, HTML page and SVG figure.
- `attention.py` compares attention and states before and after a change, and measures the change of states (R_e).
- `record.py` keeps and shows attention studies; `malaprop.papers.attentive` runs them.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "explain": Command(".command:explain", "Show which words decide a victim's answer."),
    },
    python={
        "explain": ".importance:explain",
    },
    records={
        "attention": {
            "record": ".record:AttentionRecord",
            "section": ".record:SECTION",
            "about": "an attention study",
            "again": "run malaprop study again",
        },
    },
)
