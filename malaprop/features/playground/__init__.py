"""The playground: type a text in the browser and watch a recipe attack it.

- `command.py` (`malaprop serve`) loads the victims and serves the page; `app.py` has the page, its requests, and
  the events of an attack.
- `victims.py` holds the victims, recipes and examples of a playground; `victim_thread.py` runs each victim in a thread
  of its own, where the queries of all clients share batches.
- `jobs.py` has the jobs of such a thread (scores, importance, attacks, attention).
- `input_checks.py` checks requests, and removes paths and addresses from error messages.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "serve": Command(".command:serve", "Attack a victim in the browser."),
    },
)
