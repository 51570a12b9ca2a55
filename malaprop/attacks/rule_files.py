"""Word replacement rules as a file that people can read, share and edit: CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from malaprop.core.errors import DataError, TextError
from malaprop.core.files import write_whole
from malaprop.core.text import check_text, word_pattern

FORMAT = 1
NEEDED = ("label", "from", "to", "salience")
COLUMNS = ("label", "number", "from", "to", "salience", "count", "mean")
_LONGEST = 200  # characters of a label or a word
_MINE = "mine some with malaprop rules mine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Put `to` for `word` where the true label is `label`; what has the highest salience goes first.

    `number` is the label's place among the labels of the data it was mined from, `count` how often the replacement was
    weighed, `mean` what it did on average before rules of few counts were shrunk.
    """

    label: str
    word: str
    to: str
    salience: float
    count: int = 0
    mean: float | None = None
    number: int | None = None


_FIELDS = tuple(one.name for one in fields(Rule))
Best = Mapping[str, tuple[str, float]]  # a word in lower case to its strongest replacement and that one's salience


class Rules:
    """Rules in the order of their file, and where they came from. Its text is short, for run.toml.

    Sent to another process they are packed once, and unpacked there once, however many tasks hold them.
    """

    __slots__ = ("_best", "_packed", "fingerprint", "rules", "source")

    def __init__(self, rules: Iterable[Rule], source: str = "rules") -> None:
        self.rules, self.source = tuple(rules), source
        whole = "\x1e".join(f"{r.label}\x1f{r.number}\x1f{r.word}\x1f{r.to}\x1f{r.salience!r}" for r in self.rules)
        self.fingerprint = blake2b(whole.encode("utf-8", "replace"), digest_size=8).hexdigest()
        self._best: dict[tuple[str, ...], dict[int, dict[str, tuple[str, float]]]] = {}
        self._packed: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self._packed is None:
            rows = [[getattr(rule, name) for name in _FIELDS] for rule in self.rules]
            self._packed = zlib.compress(json.dumps(rows).encode(), 1)
        return _unpack, (self._packed, self.source)

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and other.fingerprint == self.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"Rules({Path(self.source).name}, {len(self.rules)}, {self.fingerprint})"

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the rules, in order of occurrence."""
        return tuple(dict.fromkeys(rule.label for rule in self.rules))

    def numbers(self, names: Sequence[str]) -> dict[str, int]:
        """Each label of the rules to its number in data whose labels have these names; those it lacks are left out.

        Names decide where both sides have names; else the number that the file gives. No label in common is an error.
        """
        places = {name.casefold(): at for at, name in enumerate(names)}
        counted = all(name.isdecimal() for name in names)
        out: dict[str, int] = {}
        for rule in self.rules:
            if rule.label in out:
                continue
            number = places.get(rule.label.casefold())
            if number is None and (counted or rule.label.isdecimal()):
                number = int(rule.label) if rule.label.isdecimal() else rule.number
            if number is not None and (not names or number < len(names)):
                out[rule.label] = number
        if not out:
            known = ", ".join(names) or "numbers alone"
            raise DataError(
                f"{self.source} has rules for the labels {', '.join(self.labels)}, the data has {known}; rename the "
                "labels in the file, or take rules that were mined from such data"
            )
        return out

    def best(self, names: Sequence[str] = ()) -> Mapping[int, Best]:
        """For each label's number the strongest rule of each word; rules that do not lower the label are left out.

        None at all is an error.
        """
        key = tuple(names)
        found = self._best.get(key)
        if found is None:
            numbers, found = self.numbers(names), {}
            for rule in self.rules:
                if rule.label not in numbers or not rule.salience > 0:
                    continue
                mine = found.setdefault(numbers[rule.label], {})
                now = mine.get(rule.word)
                if now is None or (-rule.salience, rule.to) < (-now[1], now[0]):
                    mine[rule.word] = (rule.to, rule.salience)
            if not found:
                labels = ", ".join(sorted(numbers, key=numbers.__getitem__))
                raise DataError(
                    f"no rule of {self.source} for {labels} has a salience above 0, and others are never applied; "
                    "mine rules from more texts or other victims"
                )
            self._best[key] = found
        return found


@lru_cache(maxsize=16)
def _unpack(packed: bytes, source: str) -> Rules:
    return Rules((Rule(**dict(zip(_FIELDS, row, strict=True))) for row in json.loads(zlib.decompress(packed))), source)


def read_rules(path: Path | str) -> Rules:
    """Read the rules of a .csv or .json file; errors name the line or row."""
    path = Path(path)
    if path.is_dir():
        path = path / "rules.csv"
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"no such file of rules: {path}; {_MINE}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path} is not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    return parse_rules(text, str(path), as_json=path.suffix.lower() == ".json")


def parse_rules(text: str, source: str, *, as_json: bool = False) -> Rules:
    """Parse the rules in the text of a file."""
    rows = _objects(text, source) if as_json else _cells(text, source)
    rules: list[Rule] = []
    seen: dict[tuple[str, str, str], str] = {}
    spelled: dict[str, str] = {}  # a label is written as it came first, whatever its case
    for place, cells in rows:
        rule = _rule(cells, f"{source}, {place}")
        rule = replace(rule, label=spelled.setdefault(rule.label.casefold(), rule.label))
        key = (rule.label.casefold(), rule.word, rule.to)
        if key in seen:
            raise DataError(
                f"{source}, {place} repeats the rule of {seen[key]}: {rule.label}, {rule.word} to {rule.to}; keep one"
            )
        seen[key] = place
        rules.append(rule)
    if not rules:
        raise DataError(f"{source} holds no rule; {_MINE}")
    return Rules(rules, source)


def _cells(text: str, source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = [name.strip().lower() for name in cells]
                if lacks := [name for name in NEEDED if name not in header]:
                    _need_commas(cells, f"{source}, line {reader.line_num}")
                    raise DataError(
                        f"{source}, line {reader.line_num}: the header lacks {', '.join(lacks)}; expected "
                        f"{','.join(NEEDED)} and perhaps number,count,mean"
                    )
            elif len(cells) != len(header):
                raise DataError(
                    f"{source}, line {reader.line_num} has {len(cells)} columns, the header has {len(header)} "
                    f"({','.join(header)})"
                )
            else:
                yield f"line {reader.line_num}", dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"{source}, line {reader.line_num} is not CSV: {error}") from None


def _need_commas(cells: Sequence[str], where: str) -> None:
    """Spreadsheets of many countries write other marks."""
    for mark, name in ((";", "';'"), ("\t", "tabs")):
        if len(cells) == 1 and mark in cells[0]:
            raise DataError(f"{where}: the columns are separated by {name}; separate them by commas")


def _objects(text: str, source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{source} is not JSON: {error}") from None
    rows = whole.get("rules") if isinstance(whole, dict) else whole
    if not isinstance(rows, list):
        raise DataError(f'{source} holds no list of rules; expected {{"rules": [{{"label": ..., "from": ...}}, ...]}}')
    for at, cells in enumerate(rows, 1):
        if not isinstance(cells, dict):
            raise DataError(f"{source}, rule {at} is not an object; expected {', '.join(NEEDED)}")
        yield f"rule {at}", cells


def _rule(cells: Mapping[str, Any], where: str) -> Rule:
    word = _word(cells, "from", where).lower()
    to = _word(cells, "to", where)
    if word_pattern().fullmatch(word) is None:
        raise DataError(f"{where}: 'from' must be one word, got {word[:40]!r}")
    if to.lower() == word:
        raise DataError(f"{where} puts {word[:40]!r} for itself; give another word, or take the line out")
    count, number = (_whole(cells.get(name), name, where) for name in ("count", "number"))
    mean = cells.get("mean")
    return Rule(
        label=_word(cells, "label", where),
        word=word,
        to=to,
        salience=_number(cells.get("salience"), "salience", where),
        count=count or 0,
        mean=None if mean in (None, "") else _number(mean, "mean", where),
        number=number,
    )


def _word(cells: Mapping[str, Any], name: str, where: str) -> str:
    value = cells.get(name)
    given = str(value).strip() if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
    if not given or len(given) > _LONGEST:
        raise DataError(f"{where}: {name!r} must hold 1 to {_LONGEST} characters, got {str(value)[:40]!r}")
    try:
        return check_text(given)
    except TextError as error:
        raise DataError(f"{where}: {error}") from None


def _number(value: object, name: str, where: str) -> float:
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = math.nan
    if isinstance(value, bool) or not math.isfinite(found):
        raise DataError(f"{where}: {name!r} must be a number, got {str(value)[:40]!r}")
    return found


def _whole(value: object, name: str, where: str) -> int | None:
    if value is None or value == "":
        return None
    found = _number(value, name, where)
    if found < 0 or found != int(found):
        raise DataError(f"{where}: {name!r} must be a whole number from 0, got {str(value)[:40]!r}")
    return int(found)


def rules_csv(rules: Iterable[Rule]) -> str:
    """Write rules as CSV, with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for r in rules:
        mean = "" if r.mean is None else f"{r.mean:.6g}"
        number = "" if r.number is None else r.number
        writer.writerow([r.label, number, r.word, r.to, f"{r.salience:.6g}", r.count, mean])
    return out.getvalue()


def rules_json(rules: Iterable[Rule]) -> str:
    """Write rules as JSON."""
    rows = []
    for rule in rules:
        row = asdict(rule)
        row["from"] = row.pop("word")
        rows.append({name: row[name] for name in COLUMNS})
    return json.dumps({"format": FORMAT, "rules": rows}, ensure_ascii=False, indent=1) + "\n"


def write_rules(rules: Iterable[Rule], path: Path) -> Path:
    """A .json file as JSON, any other as CSV; whole or not at all."""
    made = rules_json(rules) if path.suffix.lower() == ".json" else rules_csv(rules)
    return write_whole(path, made)
