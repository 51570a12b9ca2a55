"""One-word attacks and attention: the paper S.

On the robustness of self-attentive models. Yu-Lun Hsieh, Minhao Cheng, Da-Cheng Juan, Wei Wei, Wen-Lian Hsu and
Cho-Jui Hsieh. ACL 2019.

The paper changes one word of a text and compares models with self-attention to recurrent ones. The word is the most or
least attended one, or the one whose replacement hurts most (greedy select); an embedding constraint prefers
replacements with near vectors. It follows how the change moves attention and states, and its Theorem 1 bounds
how far the scores of a self-attention layer move. Its translation experiments are in `malaprop.features.translation`.

- One-word attacks: `oneword_study.py` (`malaprop study oneword`) runs them, `oneword.py` computes the figures and the
  quality of texts, `oneword_record.py` keeps them and shows them beside the paper's tables.
- Attention: `attention_study.py` (`malaprop study attention`); its record and report are those of
  `malaprop.features.explain`. `theorem.py` simulates Theorem 1 and evaluates its bound on trained models.
- The recipes themselves are `malaprop.attacks.recipes`: random, list, asmin-gr, asmax-gr, asmin-ec, asmax-ec, gs-gr and
  gs-ec.
"""

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
            "section": ".oneword_record:SECTION",
            "about": "a study of one-word attacks",
            "again": "run malaprop study again",
        },
    },
)
