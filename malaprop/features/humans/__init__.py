"""Studies in which people judge adversarial examples: export, serve or send to a crowd platform, score.

- `command.py` has `malaprop humans export`, `serve`, `import` and `score`.
- The study file: `study.py` (one SQLite database), `questions.py` (wording and choices), `presentation.py` (an item as
  a rater sees it).
- Export: `export.py` makes a study. `changes.py` reads originals and adversarial forms from runs, `sources.py` groups
  them by original, `items.py` samples items and attention checks and assigns them to raters.
- Answers: `server.py` has the raters' pages and `answer_writer.py` stores what they send; `crowd_export.py` and
  `incoming.py` exchange tasks and answers with crowd platforms.
- Scores: `score.py` computes all figures, with `agreement.py` (Krippendorff's alpha) and `significance.py` (sign test,
  intervals); `record.py` and `report.py` keep and show them.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "humans": Command(".command:app", "Ask people about texts."),
    },
    records={
        "humans": {
            "record": ".record:HumansRecord",
            "section": ".report:SECTION",
            "about": "human scores",
            "again": "write it again with malaprop humans score",
        },
    },
)
