"""The playground: type a text in the browser and watch a recipe attack it."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "serve": Command(".command:serve", "Attack a victim in the browser."),
    },
)
