"""What the papers claim, each claim with the studies that test it, read from their records."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "reproduce": Command(".study:Reproduce", "Test the claims of five papers, and show our figures beside theirs."),
    },
    records={
        "claims": {
            "record": ".record:ClaimsRecord",
            "section": ".report:SECTION",
            "about": "malaprop reproduce",
            "again": "run it again",
        },
    },
)
