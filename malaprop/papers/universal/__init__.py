"""Transfer between models, ensembles and replacement rules: the paper U.

Generating universal language adversarial examples by understanding and enhancing the transferability across neural
models. 2021, submitted to ICLR without names; later Liping Yuan, Xiaoqing Zheng, Yi Zhou, Cho-Jui Hsieh and Kai-Wei
Chang, On the transferability of adversarial attacks against neural text classifier, EMNLP 2021.

The paper attacks 63 classifiers, measures how often the adversarial texts of one model fool another, and asks which
trait of a model decides it. It then searches for a small ensemble whose texts fool most other models, and mines from
that ensemble word replacement rules that work on any text without asking a victim.

- Transfer: `study.py` (`malaprop transfer`), `record.py`. `study_models.py` are the models of a study and
  `cached_models.py` trains them; `transfer_tasks.py` are the tasks; `attack_many.py` attacks several models in one
  loop; `sampled_successes.py` draws the texts and compares answers. `matrix.py` has the rates and their intervals,
  `summary.py` computes Tables 2 to 4 and builds the record.
- Ensembles: `ensemble_study.py` (`malaprop ensemble`), `ensembles_record.py`.
  `choose_ensemble.py` has the genetic algorithm of section 4.1, the expert's choice, greedy and exact search;
  `ensembles.py` evaluates the chosen ones.
- Rules (section 4.2): the folder `rules`. `rules/mine.py` and `rules/mine_study.py` mine them from victims,
  `rules/diagnose.py` makes them from counts (equation 2) and relates them to the data, `rules/apply.py` applies them,
  `rules/measure_study.py` tests several files of rules; `rules/record.py` serves all.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "transfer": Command(".study:Transfer", "Try the texts that break one model on all others."),
        "ensemble": Command(".ensemble_study:EnsembleSearch", "Search for an ensemble whose texts break other models."),
        "rules mine": Command(".rules.mine_study:Mine", "Find word swaps that lower a label in several victims."),
        "rules pmi": Command(".rules.command:pmi", "Make rules from counts of words and labels."),
        "rules apply": Command(
            ".rules.command:apply", "Apply rules to texts, the strongest first; no victim is asked."
        ),
        "rules show": Command(".rules.command:show", "The strongest rules, and how they go with the data."),
        "rules measure": Command(".rules.measure_study:Measure", "Several files of rules on the same victims."),
    },
    python={
        "transfer": ".study:transfer",
    },
    groups={
        "rules": "Universal word replacement rules: mine them from victims or counts, apply them, show what they tell.",
    },
    records={
        "transfer": {
            "record": ".record:TransferRecord",
            "section": ".record:SECTION",
            "about": "malaprop transfer",
            "again": "run it again",
            "indent": None,
        },
        "ensembles": {
            "record": ".ensembles_record:EnsemblesRecord",
            "section": ".ensembles_record:SECTION",
            "about": "malaprop ensemble",
            "again": "run it again",
            "indent": None,
        },
        "diagnosis": {
            "record": ".rules.record:DiagnosisRecord",
            "section": ".rules.record:DIAGNOSIS",
            "about": "a diagnosis",
            "again": "run malaprop rules show --out again",
        },
        "mined": {
            "record": ".rules.record:MinedRecord",
            "section": ".rules.record:MINED",
            "about": "malaprop rules mine",
            "again": "run it again",
        },
        "measured": {
            "record": ".rules.record:MeasuredRecord",
            "section": ".rules.record:MEASURED",
            "about": "malaprop rules measure",
            "again": "run it again",
        },
    },
)
