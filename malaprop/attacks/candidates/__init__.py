"""Candidates by name."""

from malaprop.core.catalogue import Catalogue

CANDIDATES = Catalogue(
    "candidates",
    {
        "wordnet": "malaprop.attacks.candidates.lookup:WordNetSynonyms",
        "near": "malaprop.attacks.candidates.lookup:NearWords",
        "synonyms": "malaprop.attacks.candidates.lookup:CloseSynonyms",
        "vocabulary": "malaprop.attacks.candidates.lookup:Vocabulary",
        "misspellings": "malaprop.attacks.candidates.lookup:Misspellings",
        "listed": "malaprop.attacks.candidates.lookup:Listed",
        "chars": "malaprop.attacks.candidates.chars:CharEdits",
        "homoglyphs": "malaprop.attacks.candidates.chars:Homoglyphs",
        "invisible": "malaprop.attacks.candidates.unseen:InvisibleCharacters",
        "reorderings": "malaprop.attacks.candidates.unseen:Reorderings",
        "deletions": "malaprop.attacks.candidates.unseen:Deletions",
        "visual": "malaprop.attacks.candidates.chars:VisualNeighbours",
        "inflections": "malaprop.attacks.candidates.lookup:Inflections",
        "likely": "malaprop.attacks.candidates.masked:Likely",
        "masked": "malaprop.attacks.candidates.masked:MaskedWords",
        "agreeing": "malaprop.attacks.candidates.combined:Agreeing",
        "filtered": "malaprop.attacks.candidates.combined:Filtered",
        "union": "malaprop.attacks.candidates.combined:Union",
    },
)
