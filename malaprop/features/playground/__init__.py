"""Attacks in the browser: type a text, watch a recipe work on it."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "serve": Command(".command:serve", "Attack a victim in the browser."),
    },
)
