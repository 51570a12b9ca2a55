"""The claims of the five papers, tested: `malaprop reproduce`.

Each claim of a paper has an id (U1, S1, N1, F1, H1 ...), the paper's own figure, what would count as a failure (written
down before anything is run), and the studies it is read from. The verdict comes from their records alone.

- `study.py` runs the commands and reads the claims; `record.py` keeps and shows the verdicts; `pages.py` fills the
  pages of the site, and `figures.py` draws a figure for each paper.
- `claim.py` defines a claim, the step that makes a record, and a reading.
- `kept_records.py` packs the records that a claim is read from, so that every figure can be derived again.
- `by_paper` has one file a paper: its claims, its steps with their settings, and the functions that read the records.
  `by_paper/differences.py` has each claim's place and setting in the paper, and every difference of ours.
  `by_paper/transfer_causes.py` and `by_paper/attention_causes.py` vary one setting at a time to find why a claim fails;
  `by_paper/translators.py` trains the translators of two papers; `by_paper/commands.py` writes commands that are not
  studies.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "reproduce": Command(".study:Reproduce", "Test the claims of five papers, and show our figures beside theirs."),
    },
    records={
        "claims": {
            "record": ".record:ClaimsRecord",
            "section": ".record:SECTION",
            "about": "malaprop reproduce",
            "again": "run it again",
        },
    },
)
