"""Profile the robustness of victims: everyday noise, the worst case by words changed, queries, transfer, one score.

- `study.py` (`malaprop profile`, `mp.profile`) has the settings and the tasks.
- `noise.py` makes noisy copies of texts; `fewest.py` attacks a text with ever fewer words; `answers.py` queries a
  victim with noisy copies, and with adversarial texts that were found on other victims.
- `score.py` computes one score with an interval from the two curves of a victim, noise and attack.
- `record.py` and `report.py` keep and show the profiles.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "profile": Command(".study:Profile", "Rank victims by accuracy under noise and attack, with a score."),
    },
    python={
        "profile": ".study:profile",
    },
    records={
        "profile": {
            "record": ".record:ProfileRecord",
            "section": ".report:SECTION",
            "about": "malaprop profile",
            "again": "run malaprop profile again",
        },
    },
)
