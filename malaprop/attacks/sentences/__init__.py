"""Rewriters by name: they produce whole sentences that may replace a sentence of the text."""

from malaprop.core.catalogue import Catalogue

REWRITERS = Catalogue(
    "rewriter",
    {
        "back-translation": "malaprop.attacks.sentences.rewriters:BackTranslation",
        "paraphrase": "malaprop.attacks.sentences.rewriters:Paraphrase",
        "syntax": "malaprop.attacks.sentences.syntax:Syntax",
        "distract": "malaprop.attacks.sentences.distract:Distract",
    },
)
