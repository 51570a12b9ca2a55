"""Constraints by name."""

from malaprop.core.catalogue import Catalogue

CONSTRAINTS = Catalogue(
    "constraint",
    {
        "keep-stop-words": "malaprop.attacks.constraints.positions:KeepStopWords",
        "long-words": "malaprop.attacks.constraints.positions:LongWords",
        "keep": "malaprop.attacks.constraints.positions:KeepWords",
        "first-words": "malaprop.attacks.constraints.positions:FirstWords",
        "word-cosine": "malaprop.attacks.constraints.words:WordCosine",
        "other-lexeme": "malaprop.attacks.constraints.meaning:OtherLexeme",
        "not-opposed": "malaprop.attacks.constraints.meaning:NotOpposed",
        "related": "malaprop.attacks.constraints.meaning:Related",
        "keep-names": "malaprop.attacks.constraints.meaning:KeepNames",
        "in-context": "malaprop.attacks.constraints.meaning:InContext",
        "same-part": "malaprop.attacks.constraints.words:SamePart",
        "max-share": "malaprop.attacks.constraints.edits:MaxShare",
        "max-words": "malaprop.attacks.constraints.edits:MaxWords",
        "once-per-slot": "malaprop.attacks.constraints.edits:OncePerSlot",
        "max-characters": "malaprop.attacks.constraints.edits:MaxCharacters",
        "max-character-share": "malaprop.attacks.constraints.edits:MaxCharacterShare",
        "same-tag": "malaprop.attacks.constraints.words:SameTag",
        "likely-in-place": "malaprop.attacks.constraints.language:LikelyInPlace",
        "likely-next": "malaprop.attacks.constraints.language:LikelyNext",
        "perplexity-ratio": "malaprop.attacks.constraints.language:PerplexityRatio",
        "mean-vector": "malaprop.attacks.constraints.words:MeanVector",
        "sentence-cosine": "malaprop.attacks.constraints.similarity:SentenceCosine",
        "token-similarity": "malaprop.attacks.constraints.similarity:TokenSimilarity",
        "grammar": "malaprop.attacks.constraints.similarity:NoNewMistakes",
        "bleu": "malaprop.attacks.constraints.similarity:BleuFloor",
        "chrf": "malaprop.attacks.constraints.similarity:ChrfFloor",
    },
)
