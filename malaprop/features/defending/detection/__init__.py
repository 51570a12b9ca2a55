"""Detectors by name: each scores how suspicious a text is, from a victim's answers or from the text alone."""

from malaprop.core.catalogue import Catalogue

DETECTORS = Catalogue(
    "detector",
    {
        "fgws": "malaprop.features.defending.detection.fgws:FrequencyGuided",
        "wdr": "malaprop.features.defending.detection.wdr:WordDifferences",
        "rde": "malaprop.features.defending.detection.rde:RobustDensity",
        "rtd": "malaprop.features.defending.detection.fluency:ReplacedTokens",
        "perplexity": "malaprop.features.defending.detection.fluency:Perplexity",
        "near": "malaprop.features.defending.detection.near:NearTexts",
        "cloze": "malaprop.features.defending.detection.cloze:ClozeFits",
        "all": "malaprop.features.defending.detection.stacked:SeveralDetectors",
    },
)
