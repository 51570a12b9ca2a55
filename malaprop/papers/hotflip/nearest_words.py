"""Find the vocabulary words nearest to a word's vector before and after an edit (Ebrahimi et al. 2018, Table 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate
from malaprop.models.tokens.vocab import SPECIAL
from malaprop.papers.hotflip.record import NearestWords

if TYPE_CHECKING:
    from torch import Tensor

NEAREST = 5


def find_edited_words(outcomes: Iterable[Outcome]) -> list[tuple[str, str]]:
    """Return the edited words of successes before and after, in lower case, each pair once, most frequent first."""
    counts = Counter(
        (edit.before.lower(), edit.after.lower()) for o in outcomes if o.status == "success" for edit in o.edits
    )
    return [pair for pair, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if all(pair)]


def neighbours(
    folder: Path, pairs: Sequence[tuple[str, str]], *, device: str = "cpu"
) -> tuple[list[NearestWords], Rate]:
    """Return the words nearest to each word and to its edited form, and how many edited forms moved away.

    Nearness is the cosine at the output of the highways. A word has moved if the original is not among the five nearest
    to its edited form; the list has those alone. Before the edit a word is not counted as its own neighbour.
    """
    import torch
    from torch.nn.functional import normalize

    from malaprop.zoo import checkpoint
    from malaprop.zoo.gradients.characters import embedding_of

    words = embedding_of(checkpoint.load(folder)[1].to(device))
    vocab = words.vocab
    assert vocab is not None
    known = vocab.size
    pairs = [(a, b) for a, b in pairs if vocab.index.get(a, known) < known]
    if not pairs:
        return [], Rate(0, 0)
    with torch.no_grad():
        table = normalize(words.table()[:known].float(), dim=1)
        after = normalize(words(words.extend([b for _, b in pairs])).float(), dim=1)
        own = words.extend([a for a, _ in pairs])
        far = _closest(after @ table.T)
        near = _closest((table[own] @ table.T).scatter(1, own[:, None], -2))
    named = vocab.words
    found, moved = [], 0
    for (word, edited), own_number, a, b in zip(pairs, own.tolist(), near, far, strict=True):
        if own_number in b:
            continue
        moved += 1
        found.append(
            NearestWords(word=word, edited=edited, before=tuple(named[i] for i in a), after=tuple(named[i] for i in b))
        )
    return found, Rate(moved, len(pairs))


def _closest(cosines: Tensor) -> list[list[int]]:
    """Return the numbers of the nearest words, special words left out."""
    cosines[:, : len(SPECIAL)] = -2
    found: list[list[int]] = cosines.topk(min(NEAREST, cosines.shape[1]), dim=1).indices.tolist()
    return found
