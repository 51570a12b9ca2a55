"""Translation models, attacks on them, and their record and report.

- `study.py` has `malaprop translate attack`, `translate typos` and `translate probe`; `run.py` runs an attack over many
  sentences side by side and computes the record. `command.py` (`malaprop translate run`) translates and scores BLEU.
- `record.py` keeps and shows the figures.
- Attacks, in the folder `attacks`: `goals.py` (what the output must become), `replacements.py` (for the words of a
  source), `sweep.py` (GS-EC's sweep, natural typos, and word by word).
- Victims, in the folder `models`: `translator.py` is their interface, `victim.py` loads ours and wraps functions,
  `transformers_victim.py` wraps models of transformers. `guide.py` computes keyword probabilities for an attack.
- Our own models, in the same folder: `lstm.py`, `transformer.py`, `subwords.py`, `decoding.py`
  (interface and beam search), `train.py` (training), `checkpoint.py` (folders). `model_kinds.py` makes
  them known to `malaprop train`.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "translate attack": Command(".study:TranslateAttack", "Bring a word into translations, or make BLEU fall."),
        "translate typos": Command(".study:TranslateTypos", "BLEU before and after one misspelling a sentence."),
        "translate probe": Command(".study:TranslateProbe", "Change words until a function of the output is true."),
        "translate run": Command(".command:run", "Translate, and score BLEU where there are references."),
    },
    groups={
        "translate": "Attacks on translation models: keywords brought into the output, typos, probes of your own.",
    },
    records={
        "translation": {
            "record": ".record:TranslationRecord",
            "section": ".record:SECTION",
            "about": "attacks on translation",
            "again": "run malaprop translate again",
        },
    },
    models={
        "translators": ".model_kinds:TRANSLATORS",
    },
    translators={
        "models": ".models.victim:load",
    },
)
