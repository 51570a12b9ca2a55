"""What is asked of a causal language model about the words that may come next."""

from __future__ import annotations

from dataclasses import dataclass

NEXT_WORD = "next-word"  # the service; its answer is a float array, one number for each word


@dataclass(frozen=True, slots=True)
class NextWord:
    """How likely is each of these words behind a text's characters up to `end`? The answer is the logarithm of the
    probability of the first token of each."""

    text: str
    end: int
    words: tuple[str, ...]
