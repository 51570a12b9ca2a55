"""The commands that belong to no feature; each file imports what it needs when a command is called."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "run": Command(".status:run", "Run the study that a TOML file describes."),
        "report": Command(".report:report", "Write the HTML report again, from the records of runs."),
        "status": Command(".status:status", "Show what a folder holds and what is left of it."),
        "list": Command(".list_:list_", "List recipes, models, defences, datasets or assets."),
        "fetch": Command(".list_:fetch", "Fetch a resource from outside."),
        "doctor": Command(".doctor:doctor", "Show what is installed, cached and reachable, for bug reports."),
    },
    groups={
        "study": "Do a paper's experiment as a whole, from training to figures.",
    },
)
