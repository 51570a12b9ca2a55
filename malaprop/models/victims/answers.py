"""Answers of functions and servers as scores [text, label]: rows of scores, one probability a text, labels alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import VictimError
from malaprop.core.score import Floats

_NUMBERED = re.compile(r"(.*?)(\d+)")
_NAMING = (
    "name all of them in the order of their numbers, as label_names=('no', 'yes') or, where it is typed, {} or "
    "--labels no,yes"
)


class Answer(NamedTuple):
    """Scores [text, label], with notes for the user on how they were read; empty where there are none.

    `names` are the labels in the order of the scores, where the answer names all of them.
    """

    scores: Floats
    note: str = ""
    names: tuple[str, ...] = ()


def read_answer(answer: Any, *, name: str, labels: int | None = None, label_names: Sequence[str] = ()) -> Answer:
    """Read scores from an array, a tensor of any library or nested lists.

    One number a text from 0 to 1 is the probability of the second of two labels. Whole numbers and strings, one a text,
    are labels: they score 1, all others 0. So are entries such as {"label": "yes", "score": 0.9}, with what they score.
    A list of such entries a text has the scores of all labels.
    """
    if isinstance(answer, list) and answer and all(isinstance(row, Mapping) for row in answer):
        return winners_alone(answer, name=name, label_names=label_names)
    if has_entries(answer):
        rows, names = order_scores(answer, name=name, label_names=label_names)
        return Answer(_array(rows, name).astype(np.float32), names=names)
    found = _array(answer, name)
    alone = found.ndim == 1 or (found.ndim == 2 and found.shape[1] == 1)
    if alone and found.dtype.kind in "biu":
        return _of_numbers(found.reshape(-1).astype(np.int64), name, labels or len(label_names) or 2)
    if alone and found.dtype.kind == "U":
        return _of_names(found.reshape(-1).tolist(), name, label_names)
    if found.dtype.kind == "U":
        raise _no_table(answer, name)
    with np.errstate(over="ignore"):  # what does not fit becomes infinite and is refused
        scores = found.astype(np.float32)
    return _of_probabilities(scores.reshape(-1), name, labels or len(label_names)) if alone else Answer(scores)


def winners_alone(rows: Sequence[Mapping[str, Any]], *, name: str, label_names: Sequence[str]) -> Answer:
    """Spread answers of the winning label and its probability alone to scores: the others share the rest evenly."""
    try:
        found, sure = [str(row["label"]) for row in rows], [float(row["score"]) for row in rows]
    except (KeyError, TypeError, ValueError):
        raise VictimError(f'{name} answered with entries other than {{"label": ..., "score": ...}}') from None
    hot = _of_names(found, name, label_names).scores
    kept = np.asarray(sure, np.float32)[:, None]
    scores = np.where(hot > 0, kept, (1 - kept) / max(1, hot.shape[1] - 1)).astype(np.float32)
    more = hot.shape[1] > 2
    note = f"{name} gives the probability of one label a text; the other labels share the rest evenly" * more
    return Answer(scores, note)


def has_entries(answer: Any) -> bool:
    """Return whether an answer is a list of lists of labels with their scores."""
    rows = answer if isinstance(answer, list) else []
    return any(isinstance(row, list) and row and isinstance(row[0], Mapping) for row in rows)


def order_scores(
    rows: Sequence[Any], *, name: str, label_names: Sequence[str] = ()
) -> tuple[list[list[Any]], tuple[str, ...]]:
    """Return the scores of rows of {"label": ..., "score": ...} in the order of the label names, with these names.

    Without names the labels are sorted: by number if they end in one (LABEL_2 before LABEL_10), else by name.
    """
    try:
        found = [[(str(entry["label"]), entry["score"]) for entry in row] for row in rows]
    except (TypeError, KeyError):
        raise VictimError(f'{name} answered with entries other than {{"label": ..., "score": ...}}') from None
    names = tuple(label_names) or tuple(sorted((label for label, _ in found[0]), key=sort_key))
    places, out = _places(names), []
    for row in found:
        scores = {places.get(label.casefold()): score for label, score in row}
        if len(scores) != len(row) or set(scores) != set(range(len(names))):
            given = ", ".join(sorted((label for label, _ in row), key=sort_key))[:100]
            raise VictimError(
                f"{name} answered with the labels {given}; expected {', '.join(names)[:100]} for every text"
            )
        out.append([scores[place] for place in range(len(names))])
    return out, names


def sort_key(label: str) -> tuple[str, int, str]:
    numbered = _NUMBERED.fullmatch(label)
    return (numbered[1], int(numbered[2]), "") if numbered else (label.casefold(), -1, label)


def _places(names: Sequence[str]) -> dict[str, int]:
    """Return the number of each label by its name in lower case, or by that which libraries make of the number."""
    numbered = {f"label_{place}": place for place in range(len(names))}
    return numbered | {label.casefold(): place for place, label in enumerate(names)}


def _array(answer: Any, name: str) -> NDArray[Any]:
    """Return the answer as an array of numbers or strings; raise on anything else."""
    if answer is None:
        raise _no_table(answer, name)
    try:
        if hasattr(answer, "detach"):
            answer = answer.detach().cpu()
            answer = answer.float() if answer.is_floating_point() else answer
        found = np.asarray(answer)
        if found.dtype.kind in "OS":  # of mixed kinds, or strings of some library's own
            strings = all(isinstance(one, str) for one in found.reshape(-1).tolist())
            found = found.astype(np.str_) if strings else np.asarray(answer, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _no_table(answer, name) from None
    if found.dtype.kind not in "biufU":
        raise _no_table(answer, name)
    return found


def _no_table(answer: Any, name: str) -> VictimError:
    inner = f" of {type(answer[0]).__name__}" if isinstance(answer, (list, tuple)) and answer else ""
    return VictimError(
        f"{name} answered with a {type(answer).__name__}{inner} that is not a table of numbers; "
        "expected one row a text with one score a label"
    )


def _of_probabilities(values: Floats, name: str, labels: int) -> Answer:
    if labels not in (0, 2):
        raise VictimError(f"{name} answered with one number a text; expected {labels}, one score a label")
    finite = values[np.isfinite(values)]
    odd = finite[(finite < 0) | (finite > 1)]
    if len(odd):
        raise VictimError(
            f"{name} answered with one number a text, {odd[0]:.4g} among them; expected the probability of the second "
            "label, from 0 to 1 (take a sigmoid), or one score a label"
        )
    note = f"{name} answers with one number a text, which is read as the probability of the second label"
    return Answer(np.stack([1 - values, values], 1), note)


def _of_numbers(numbers: NDArray[np.int64], name: str, labels: int) -> Answer:
    odd = numbers[(numbers < 0) | (numbers >= labels)]
    if len(odd):
        raise VictimError(
            f"{name} answered with the label {odd[0]}; expected whole numbers from 0 to {labels - 1}: say how many "
            f"labels there are, as labels=3 or, where it is typed, {_written(name)}#labels=3"
        )
    return Answer(np.eye(labels, dtype=np.float32)[numbers], _alone(name))


def _of_names(found: Sequence[str], name: str, label_names: Sequence[str]) -> Answer:
    places = _places(label_names)
    for label in found:
        if not places:
            shown = _NAMING.format(f"{_written(name)}#label_names=no/yes")
            raise VictimError(f"{name} answered with labels alone, such as {label[:40]!r}; {shown}")
        if label.casefold() not in places:
            raise VictimError(f"{name} answered with the label {label[:40]!r}; expected {', '.join(label_names)[:100]}")
    rows = [places[label.casefold()] for label in found]
    return Answer(np.eye(max(2, len(label_names)), dtype=np.float32)[rows], _alone(name))


def _alone(name: str) -> str:
    return (
        f"{name} answers with labels alone, which are taken as scores of 1 and 0: an attack that follows scores sees "
        "no progress before the label changes; those of the suite labels-only need no scores"
    )


def _written(name: str) -> str:
    """Return the name, where a user could have typed it; else an example of what can be typed."""
    return name if ":" in name else "my_model:predict"
