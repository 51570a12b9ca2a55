"""Victims behind defences, certificates and detectors, and the test that compares them.

- Votes over noisy copies: `smooth.py` has the protocol of the noise, the vote, and training on noisy copies;
  `safer.py` and `lost_words.py` (RanMASK, RanDel) are the three noises.
- Other defences around a victim: `purify.py` (with `spellcheck.py`) cleans texts, `detect.py` rejects suspicious ones,
  `stateful.py` rejects texts that are like many queries before.
- Certificates: `certify_study.py` (`malaprop certify`), `certified_record.py`. `certify.py` has the bounds,
  `challenge.py` tests certificates and limits attacks to what they cover.
- Detectors: `detect_study.py` (`malaprop detect fit` and `detect score`), `detection_record.py`. The folder
  `detection` has the methods; `suspicion.py` there is their protocol, `detector.py` a fitted one with its
  threshold, its held-out texts and its place in the cache.
- The defence test: `evaluation_study.py` (`malaprop study defences`), `evaluation_record.py`, `evaluation_report.py`.
  `evaluation_columns.py` are its tests, `evaluation_figures.py` the rates and verdicts, `defended_models.py` finds or
  trains the models, `leaderboard.py` ranks several tests.
- Attacks that know a defence: `evasion.py` averages over its randomness, or evades a stateful service.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "certify": Command(".certify_study:Certify", "Prove how many words of a text may change."),
        "detect fit": Command(".detect_study:DetectFit", "Fit a detector of adversarial texts for a victim."),
        "detect score": Command(".detect_study:DetectScore", "How well a detector tells the texts of attack runs."),
        "study defences": Command(
            ".evaluation_study:DefenceTest", "Defences of a victim under attacks that do and do not know them."
        ),
    },
    python={
        "certify": ".certify_study:certify",
        "detect": ".detect_study:detect",
    },
    rankings={
        "defences": ".leaderboard:rank_records",
    },
    descriptions={
        "detect": ".detection:DETECTORS",
    },
    groups={
        "detect": "Detectors of adversarial texts: fit one for a victim, score it on finished attacks.",
    },
    records={
        "defences": {
            "record": ".evaluation_record:DefencesRecord",
            "section": ".evaluation_report:SECTION",
            "about": "a defence test",
            "again": "run malaprop study defences again",
        },
        "certified": {
            "record": ".certified_record:CertifiedRecord",
            "section": ".certified_record:SECTION",
            "about": "certificates",
            "again": "run malaprop certify again",
        },
        "detection": {
            "record": ".detection_record:DetectionRecord",
            "section": ".detection_record:SECTION",
            "about": "malaprop detect score",
            "again": "run it again",
        },
    },
    wrappers={
        "safer": ".safer:Safer",
        "ranmask": ".lost_words:RanMask",
        "randel": ".lost_words:RanDel",
        "purify": ".purify:Purify",
        "detect": ".detect:Detect",
        "stateful": ".stateful:Stateful",
    },
    methods={
        "safer": ".safer:SwappedTraining",
        "ranmask": ".lost_words:MaskedTraining",
        "randel": ".lost_words:DeletionTraining",
    },
)
