"""Studies in which people judge adversarial examples: export, serve or send to a crowd platform, score.

- `command.py` has `malaprop humans export`, `serve`, `import` and `score`.
- The study file: `study.py` (one SQLite database), `questions.py` (wording and choices).
- Export: `export.py` makes a study. `sources.py` reads originals and adversarial forms from runs and groups them by
  original, `items.py` samples items and attention checks, assigns them to raters and shows them.
- Answers: `server.py` has the raters' pages and `study.py` stores what they send; `crowd.py` exchanges tasks and
  answers with crowd platforms.
- Scores: `score.py` computes all figures, with `agreement.py` (Krippendorff's alpha, sign test, intervals);
  `record.py` keeps and shows them.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "humans": Command(".command:app", "Ask people about texts."),
    },
    records={
        "humans": {
            "record": ".record:HumansRecord",
            "section": ".record:SECTION",
            "about": "human scores",
            "again": "write it again with malaprop humans score",
        },
    },
)
