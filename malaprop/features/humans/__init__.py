"""Studies in which people judge adversarial examples."""

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
