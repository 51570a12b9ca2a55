"""Rewriters by name: sources of whole sentences that can stand in the place of a sentence."""

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
