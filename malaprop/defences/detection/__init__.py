"""Detectors by name: how suspicious a text is, from what a victim says of it or from the text itself."""

from malaprop.core.catalogue import Catalogue

DETECTORS = Catalogue(
    "detector",
    {
        "fgws": "malaprop.defences.detection.fgws:FrequencyGuided",
        "wdr": "malaprop.defences.detection.wdr:WordDifferences",
        "rde": "malaprop.defences.detection.rde:RobustDensity",
        "rtd": "malaprop.defences.detection.rtd:ReplacedTokens",
        "perplexity": "malaprop.defences.detection.perplexity:Perplexity",
        "near": "malaprop.defences.detection.near:NearTexts",
        "cloze": "malaprop.defences.detection.cloze:ClozeFits",
        "all": "malaprop.defences.detection.stacked:SeveralDetectors",
    },
)
