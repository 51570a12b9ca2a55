"""Attack a model, audit it with a suite of attacks, and compare it with a baseline.

- `attack.py` (`malaprop attack`, `mp.attack`) attacks a dataset with one recipe.
- `study.py` (`malaprop audit`, `mp.audit`) attacks victims with a suite of recipes and writes the report card.
- `check.py` (`malaprop check`, `mp.check`) repeats the attacks of a baseline and fails where the model is less robust;
  `check_record.py` keeps the comparison and writes it as report section, JUnit XML, Markdown and badge.
- `leaderboard.py` (`malaprop study leaderboard`) ranks victims by their accuracy under several attacks; it holds the
  whole study, with record and report section.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "audit": Command(".study:Audit", "Attack a victim in several ways and write a report card."),
        "check": Command(".check:Check", "Fail a build where a model is less robust than a baseline."),
        "attack": Command(".attack:AttackRun", "Run one recipe over a dataset and write its outcomes."),
        "study leaderboard": Command(".leaderboard:Leaderboard", "Several victims under several attacks, ranked."),
    },
    python={
        "attack": ".attack:attack",
        "audit": ".study:audit",
        "check": ".check:check",
    },
    records={
        "leaderboard": {
            "record": ".leaderboard:LeaderboardRecord",
            "section": ".leaderboard:SECTION",
            "about": "a leaderboard",
            "again": "run malaprop study again",
        },
        "check": {
            "record": ".check_record:CheckRecord",
            "section": ".check_record:SECTION",
            "about": "malaprop check",
            "again": "run it again",
            "indent": None,
        },
    },
)
