"""Natural adversaries from a latent space: the paper N.

Generating natural adversarial examples. Zhengli Zhao, Dheeru Dua and Sameer Singh. ICLR 2018.

The paper trains a generator, and an inverter that maps data back into its latent space. It then searches around the
point of an example for the nearest point whose generated image or sentence changes the victim's answer. The distance of
that point measures the robustness of a black-box classifier, and translators can be searched with a probing function.

- Studies: `study.py` has `malaprop natural`, `natural compare`, `natural sweep` and `natural synthetic`;
  `latent_tasks.py` the tasks that images and texts share, `image_study.py` and `text_study.py` what differs.
- Searches: `search/algorithms.py` has both algorithms of the paper and a third one of ours; `search/service.py`
  evaluates latent points, counts queries, confirms successes, and runs a search around every item.
- Images: `images.py` (targets; FGSM, the baseline), `generators.py` (training and measuring), `sweep.py`
  (accuracy against distance), `synthetic.py` (Figure 5); `record.py`, `report.py`.
- Texts: `sentences.py` (targets, queries and goals), `probes.py` (probing functions); `text_record.py`.
- Models: the folder `models`: WGAN, VAE and classifiers of images, ARAE and VAE of sentences. `model_kinds.py` makes
  them known to `malaprop train`. `compare.py` compares victims and searches.
"""

from malaprop.frame.rooms import Command, Room

ROOM = Room(
    commands={
        "natural": Command(".study:Natural", "Search for natural adversaries in latent space."),
        "natural compare": Command(".study:NaturalCompare", "Victims on the same items: which needs more change."),
        "natural sweep": Command(
            ".study:NaturalSweep", "Classifiers from poor to good: does distance follow accuracy."
        ),
        "natural synthetic": Command(".study:NaturalSynthetic", "A curve in the plane: why searches are latent."),
    },
    groups={
        "natural": "Natural adversaries: searches in the latent space of a generative model.",
    },
    records={
        "natural": {
            "record": ".record:NaturalRecord",
            "section": ".report:SECTION",
            "about": "natural adversaries",
            "again": "run it again",
            "indent": None,
        },
        "naturaltext": {
            "record": ".text_record:NaturalTextRecord",
            "section": ".text_record:SECTION",
            "about": "natural adversaries",
            "again": "run it again",
        },
    },
    alterations={
        "sentences": ".text_record:SENTENCES",
        "images": ".record:IMAGES",
    },
    models={
        "sentences": ".model_kinds:SENTENCES",
        "generators": ".model_kinds:IMAGE_GENERATORS",
        "images": ".model_kinds:IMAGE_CLASSIFIERS",
    },
)
