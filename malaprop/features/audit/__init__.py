"""Attack a model, audit it with a suite of attacks, and compare it with a baseline."""

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
            "section": ".check_report:SECTION",
            "about": "malaprop check",
            "again": "run it again",
            "indent": None,
        },
    },
)
