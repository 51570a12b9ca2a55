"""Apply rules to texts, the strongest first, until enough words have changed. No victim is queried."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from malaprop.attacks.candidates.lookup import recase
from malaprop.attacks.candidates.rules import weights
from malaprop.attacks.rule_files import Best, Rules
from malaprop.core.errors import DataError, SettingError, plain
from malaprop.core.example import Example
from malaprop.core.files import write_whole
from malaprop.core.score import ranked
from malaprop.core.text import Text, Words
from malaprop.papers.universal.rules.mine import shards
from malaprop.papers.universal.rules.swaps import open_slots


@dataclass(frozen=True, slots=True)
class Applied:
    """A text with its rules applied: `changes` in order; `reason` says why a text could not be read."""

    example: Example
    fields: Mapping[str, str]
    changes: tuple[tuple[int, str, str], ...]  # slot, before, after
    words: int
    reason: str = ""


def change(text: Text, example: Example, rules: Best, share: float) -> tuple[Text, list[int]]:
    """Apply the strongest rules to a text; also return the slots in the order in which they changed.

    At most `share` of all words change, and at least one may; each word gives way to its own strongest rule.
    """
    strings = text.strings
    words = {s: _put(rules, strings[s]) for s in open_slots(text, example).tolist()}
    able = [s for s, word in words.items() if word != strings[s]]
    most = max(1, int(np.floor(share * text.slots + 1e-9)))
    order = [able[i] for i in ranked(weights(rules, [strings[s] for s in able])).tolist()][:most]
    for slot in order:
        text = text.put(slot, words[slot])
    return text, order


def _put(rules: Best, word: str) -> str:
    found = rules.get(word.lower())
    return word if found is None else recase(found[0], word)


def apply_rules(
    rules: Rules, examples: Iterable[Example], names: Sequence[str], *, share: float = 0.3
) -> Iterator[Applied]:
    """Yield each example after the rules for its label; an example without a rule stays as it is."""
    if not 0 < share <= 1:
        raise SettingError(f"the share of words that may change lies in (0, 1], got {share}")
    best = rules.best(names)
    for shard in shards(examples):
        table = Words()
        for example in shard:
            try:
                text = Text.of(example.fields, table)
            except DataError as error:
                yield Applied(example, dict(example.fields), (), 0, plain(error))
                continue
            new, order = change(text, example, best.get(example.label, {}), share)
            before, after = text.strings, new.strings
            edits = tuple((slot, before[slot], after[slot]) for slot in order)
            yield Applied(example, new.fields if order else dict(example.fields), edits, text.slots)


def check_kind(path: Path) -> None:
    if path.suffix.lower() not in (".csv", ".jsonl"):
        raise SettingError(f"--out takes a .csv or a .jsonl file, got {path}")


def write_applied(found: Sequence[Applied], names: Sequence[str], path: Path) -> Path:
    """Write the texts as rows that --data reads, CSV or JSONL by the file's name; `changes` lists the rules applied."""
    check_kind(path)
    rows = [
        {
            **{name: _make_valid(value) for name, value in one.fields.items()},
            "label": names[one.example.label] if one.example.label < len(names) else str(one.example.label),
            "id": one.example.id,
            "changes": "; ".join(f"{before} -> {after}" for _, before, after in one.changes),
        }
        for one in found
    ]
    if path.suffix.lower() == ".jsonl":
        return write_whole(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["text", "label"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return write_whole(path, out.getvalue())


def _make_valid(value: str) -> str:
    """Replace what UTF-8 cannot encode, such as lone surrogates."""
    return value.encode("utf-8", "replace").decode()
