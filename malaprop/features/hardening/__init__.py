"""Train a model against attacks, and search for the method and settings that help most.

- Hardening: `study.py` (`malaprop harden`). `self_training.py` adds texts that a teacher labels;
  `trainer_callback.py` brings adversarial examples to the Trainer of transformers.
- Methods on word vectors: `perturbed.py` (Miyato, FreeLB, SMART, flooding), `synonym_hull.py` (ASCC, DNE) and
  `informed.py` (InfoBERT, DSRM).
- Methods on texts: `key_star.py` (random characters), `word_swaps.py` and `reject.py` (swaps by gradient),
  `attacked.py` (any recipe, A2T). `attack_processes.py` attacks in several processes, `model_in_training.py`
  ranks words by gradients and appends rows to a batch, `character_batches.py` gives gradients of characters.
- Choosing a method: `auto.py` (`malaprop harden auto`), `auto_report.py`. `auto_budget.py` times trainings and
  keeps to the time budget, `auto_trials.py` runs the trials.
- Choosing settings: `tune_study.py` (`malaprop tune`), `tuning_record.py`. `tune.py` has the spaces and the
  search.
- Copies of a dataset: `augment_command.py` (`malaprop augment`) and `augment.py`.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "augment": Command(".augment_command:augment", "Write perturbed copies of a dataset."),
        "harden": Command(".study:Harden", "Train a model against attacks, or wrap one in a defence."),
        "tune": Command(".tune_study:Tune", "Search for the settings of a defence."),
    },
    python={
        "harden": ".study:harden",
    },
    records={
        "tuning": {
            "record": ".tuning_record:TuningRecord",
            "section": ".tuning_record:SECTION",
            "about": "malaprop tune",
            "again": "give another --out",
        },
        "autoharden": {
            "record": "malaprop.frame.records.autoharden:AutoHardenRecord",
            "section": ".auto_report:SECTION",
            "about": "malaprop harden auto",
            "again": "run it again",
        },
    },
    methods={
        "miyato": ".perturbed:Miyato",
        "blackbox": ".key_star:KeyStar",
        "a2t": ".attacked:train_a2t",
        "augment": ".attacked:AttackTraining",
        "swaps": ".word_swaps:WordSwapTraining",
        "reject": ".reject:RejectTraining",
        "freelb": ".perturbed:FreeLb",
        "smart": ".perturbed:Smart",
        "flooding": ".perturbed:Flooding",
        "ascc": ".synonym_hull:Ascc",
        "dne": ".synonym_hull:Dne",
        "infobert": ".informed:InfoBert",
        "dsrm": ".informed:Dsrm",
    },
    augmenters={
        "keyboard": ".augment:read_keyboard",
        "blackbox": ".augment:read_mistyped",
    },
)
