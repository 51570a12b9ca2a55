"""Robust self-training (Carmon et al. 2019; Uesato et al. 2019): texts without labels, labelled by a trained victim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from malaprop.core.errors import DataError, MalapropError, RecordError, VictimError, plain
from malaprop.core.example import Example
from malaprop.core.score import Floats, winners
from malaprop.core.victim import Victim
from malaprop.data.base import Dataset
from malaprop.data.files import Names
from malaprop.data.matching import agree
from malaprop.training.splits import Added, Splits

_BLOCK = 512  # texts in one question to the teacher
_REMEDY = "give a --teacher with the labels of --data"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeacherLabels:
    """The texts of a file that a teacher is sure of: their rows from 0, and the number of each one's label."""

    file: str
    mark: str  # a digest of all texts of the file
    texts: int  # that the file holds
    teacher: str
    sure: float
    rows: tuple[int, ...]
    labels: tuple[int, ...]

    def describe(self) -> str:
        """Describe in a line how many texts are labelled."""
        return (
            f"{len(self.rows):,} of {self.texts:,} texts of {self.file} were answered with at least "
            f"{show_share(self.sure)}"
        )


def show_share(share: float) -> str:
    return f"{100 * share:g}%"


def check_single(data: Splits) -> None:
    """Raise DataError for data whose examples are not single texts."""
    fields = tuple(data.train[0].fields)
    if len(fields) > 1:
        raise DataError(f"--unlabelled adds single texts, and {data.name} has {' and '.join(fields)}; leave it out")


def label_texts(
    victim: Victim, data: Splits, texts: Sequence[str], *, file: str, teacher: str, sure: float
) -> TeacherLabels:
    """Let a teacher label the texts that are not in the data, each once; keep those of which it is sure."""
    rows = list(_find_new(data, texts))
    if not rows:
        held = any(map(_key, texts))
        raise DataError(f"{file} holds no text{f' that is not in {data.name} already' if held else ''}")
    own = _match(victim, data, teacher)
    kept: dict[int, int] = {}
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        answers = _ask(victim, [texts[row] for row in block], teacher)
        for row, label, most in zip(block, winners(answers).tolist(), answers.max(1).tolist(), strict=True):
            if label in own and most >= sure:  # a text that is rejected has no label of the data's
                kept[row] = own[label]
    if not kept:
        raise DataError(
            f"none of the {len(rows):,} new texts of {file} was answered by {teacher} with at least "
            f"{show_share(sure)}; lower --sure, or give another --teacher"
        )
    return TeacherLabels(
        file=file, mark=_mark(texts), texts=sum(1 for text in texts if _key(text)), teacher=teacher, sure=sure,
        rows=tuple(kept), labels=tuple(kept.values()),
    )  # fmt: skip


def add_texts(data: Splits, texts: Sequence[str], found: TeacherLabels) -> Splits:
    """Return the data with these texts added to the training part."""
    if _mark(texts) != found.mark:
        raise RecordError(f"{found.file} has changed since its texts were labelled; choose another --out")
    (field,) = data.train[0].fields
    names = Names({example.id for part in (data.train, data.held_out, data.test) for example in part})
    added = [
        Example(names.of(f"unlabelled-{row + 1}"), {field: texts[row]}, label)
        for row, label in zip(found.rows, found.labels, strict=True)
    ]
    mark = _mark(f"{example.label} {example.fields[field]}" for example in added)
    about = (
        f"Added to the training part: {len(added):,} of {found.texts:,} texts of {found.file}, labelled by "
        f"{found.teacher} with a probability of at least {show_share(found.sure)} (fingerprint {mark})."
    )
    return data._replace(train=[*data.train, *added], added=Added(len(added), about))


def _find_new(data: Splits, texts: Sequence[str]) -> Iterator[int]:
    """Yield the rows of texts that are in no part of the data, each text once."""
    seen = {_key(" ".join(e.fields.values())) for part in (data.train, data.held_out, data.test) for e in part}
    for row, text in enumerate(texts):
        if (key := _key(text)) and key not in seen:
            seen.add(key)
            yield row


def _key(text: str) -> str:
    """Return a key of a text that ignores case and spaces."""
    return " ".join(text.casefold().split())


def _match(victim: Victim, data: Splits, teacher: str) -> dict[int, int]:
    """Return the data's number of each label of the teacher, matched by name."""
    whole = Dataset(name=data.name, examples=tuple(data.train), labels=data.labels, fields=tuple(data.train[0].fields))
    if victim.labels == 1:
        raise VictimError(f"{teacher} answers with a number and not with labels; {_REMEDY}")
    try:
        turned = agree(whole, victim)
    except DataError as error:
        raise DataError(f"{str(error).rpartition('; ')[0]}; {_REMEDY}") from None
    return {theirs.label: ours.label for theirs, ours in zip(turned, whole, strict=True)}


def _ask(victim: Victim, texts: Sequence[str], teacher: str) -> Floats:
    try:
        answers = victim.predict([(text,) for text in texts])
    except MalapropError:
        raise
    except Exception as error:
        raise VictimError(f"the teacher {teacher} raised {plain(error)[:300]}") from error
    if (answers < 0).any() or (np.abs(answers.sum(1) - 1) > 1e-3).any():
        raise VictimError(
            f"the answers of {teacher} are not probabilities, by which --sure chooses; give another --teacher"
        )
    return answers


def _mark(texts: Iterable[str]) -> str:
    """Return a digest of texts in their order, 16 hex digits."""
    digest = blake2b(digest_size=8)
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\x1e")
    return digest.hexdigest()
