"""Explain a victim: which words its answer depends on, and how one changed word moves its attention and states."""

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
