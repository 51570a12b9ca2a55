"""Which words a victim's answer depends on, and what a changed word does to attention and states."""

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
            "section": ".report:SECTION",
            "about": "an attention study",
            "again": "run malaprop study again",
        },
    },
)
