"""On the robustness of self-attentive models (Hsieh et al. 2019): one-word attacks, attention, Theorem 1."""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "study oneword": Command(".oneword_study:OneWord", "Attacks that change one word, model by model."),
        "study attention": Command(
            ".attention_study:AttentionStudy", "What one changed word does to attention and states; Theorem 1."
        ),
    },
    records={
        "oneword": {
            "record": ".oneword_record:OneWordRecord",
            "section": ".oneword_report:SECTION",
            "about": "a study of one-word attacks",
            "again": "run malaprop study again",
        },
    },
)
