"""`Selection` holds the options that choose examples: dataset, part, number, seed and columns."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from malaprop.core.catalogue import unknown
from malaprop.core.errors import DataError, SettingError
from malaprop.frame.study.settings import opt

if TYPE_CHECKING:
    from malaprop.core.example import Example
    from malaprop.data.base import Dataset, Examples
    from malaprop.training.splits import Splits

PARTS = ("auto", "train", "validation", "test", "all")
_CARDS = ("model.json", "translator.json")  # where models say what they were trained on
_BY = {"train": "train", "validation": "held_out", "test": "test"}  # the names of parts in `Splits`


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Which examples to take: a dataset or file, a part of it, and how many, sampled by the seed.

    A dataset with parts of its own gives `split`. A file has none: train, validation and test are what `malaprop train`
    cuts of it, `all` is the whole file, and `auto` is `test` where one of the victims was trained on this very file
    (the fingerprint in its card says so) and `all` where none was. Of a dataset `auto` is `test`.
    """

    data: Any = opt("mr")
    split: str = opt("auto")
    n: int = opt(100, min=0, words={"all": 0})
    seed: int = opt(0, min=0)
    text: str | None = opt(None, name="text_column", old=("text",))
    label: str | None = opt(None, name="label_column", old=("label",))
    fields: str | None = opt(None)
    labels: tuple[str, ...] = opt(())

    def __post_init__(self) -> None:
        if isinstance(self.data, os.PathLike):
            object.__setattr__(self, "data", os.fspath(self.data))
        if self.split not in PARTS:
            raise unknown("split", self.split, PARTS)
        if self.n < 0:
            raise SettingError(f"n is a number of examples, or 0 for all of them, got {self.n}")

    def examples(self, victims: Sequence[Any] = (), *, trains: bool = False) -> Examples:
        """Return the examples, sampled by the seed.

        `victims` are named as the user types them; no model is loaded. `trains`: models are trained on this data too.
        """
        found = self._read(victims, trains, hold=False)
        return self._finished(found.sample(self.n or None, self.seed))

    def whole(self, victims: Sequence[Any] = (), *, trains: bool = False) -> Dataset:
        """Return all examples of the part in memory, in their order."""
        from malaprop.data.base import Dataset

        found = self._finished(self._read(victims, trains, hold=True))
        assert isinstance(found, Dataset), "what is held is no stream"
        return found

    def held(self, victims: Sequence[Any] = (), *, trains: bool = False) -> Dataset:
        """Return the sampled examples, as `examples` does, in memory."""
        return self.whole(victims, trains=trains).sample(self.n or None, self.seed)

    def pairs(self, translators: Sequence[str] = ()) -> Dataset:
        """Return sources with their translations, sampled by the seed; with `n` 0 all of them, in their order."""
        return self.held(translators) if self.n else self.whole(translators)

    def splits(self) -> Splits:
        """Return all parts, as training needs them."""
        from malaprop.training.splits import splits

        if not isinstance(self.data, str):
            raise SettingError("training takes a dataset by name or a file; write the examples to a file first")
        return splits(_Once(self), self.data)

    @property
    def is_file(self) -> bool:
        """Whether the data is a file, which has no parts of its own."""
        from malaprop.data.base import names
        from malaprop.data.files import looks_like_file

        if not isinstance(self.data, str):
            return False  # values of Python: pairs, dictionaries, a frame
        return not self.data.startswith("hub:") and self.data not in names() and looks_like_file(self.data)

    @property
    def columns(self) -> dict[str, str | None]:
        """The names of the text and label columns."""
        return {"text": self.text, "label": self.label}

    # --- how it is read

    def _finished(self, found: Examples) -> Examples:
        found = found if self.fields is None else found.opened(self.fields)
        return found.ordered_as(self.labels) if self.labels else found

    def _read(self, victims: Sequence[Any], trains: bool, *, hold: bool) -> Examples:
        if self.is_file:
            return self._file(victims, trains, hold=hold)
        from malaprop.data.base import list_splits, load, of

        if not isinstance(self.data, str):
            return replace(of(self.data), part="all")

        part = "test" if self.split == "auto" else self.split
        if part == "all":
            return self._all_parts()
        if part == "validation" and part not in list_splits(self.data):
            return self._held_out()
        return replace(load(self.data, split=part, text=self.text, label=self.label), part=part)

    def _held_out(self) -> Dataset:
        """Return the validation part of a dataset that has none: the rows that training holds out."""
        from malaprop.data.base import load

        train = load(self.data, split="train", text=self.text, label=self.label)
        rows = tuple(self.splits().held_out)
        name = f"{train.name.removesuffix(':train')}:validation"
        note = f"{name}: {len(rows):,} of {len(train):,} training rows, those that `malaprop train` holds out"
        return replace(train, name=name, examples=rows, part="validation", notes=(*train.notes, note))

    def _all_parts(self) -> Dataset:
        from malaprop.data.base import SPLITS, list_splits, load

        found = [
            load(self.data, split=split, text=self.text, label=self.label)
            for split in SPLITS
            if split in list_splits(self.data)
        ]
        examples = tuple(e for part in found for e in part)
        return replace(found[0], name=self.data, examples=examples, part="all")

    def _file(self, victims: Sequence[Any], trains: bool, *, hold: bool) -> Examples:
        from malaprop.data.base import load

        part, why, whole = self.split, "", None
        if part == "auto" and trains:
            part, why = "test", "models are trained on the rest"
        elif part == "auto" and (marks := self._may_be_of(list(trained_on(victims)))):
            whole = load(self.data, text=self.text, label=self.label)
            if who := [one.model for one in marks if one.data == whole.fingerprint]:
                part, why = "test", f"{', '.join(who)} {'was' if len(who) == 1 else 'were'} trained on the rest"
        if part in ("auto", "all"):
            return self._every_row(whole, hold=hold)
        whole = whole if whole is not None else load(self.data, text=self.text, label=self.label)
        return self._cut(whole, part, why)

    def _may_be_of(self, marks: Sequence[TrainingMark]) -> Sequence[TrainingMark]:
        """Return the marks of models that may have been trained on this file, by its rows: a large one is not held."""
        from malaprop.data.base import reach
        from malaprop.data.stream import is_large

        if not marks or not is_large(self.data):
            return marks
        rows = len(reach(self.data, text=self.text, label=self.label))
        return [one for one in marks if not one.rows or one.rows <= rows <= 2 * one.rows]

    def _every_row(self, whole: Dataset | None, *, hold: bool) -> Examples:
        from malaprop.data.base import Dataset, load, reach
        from malaprop.data.stream import Stream

        found: Examples | None = whole if whole is not None or hold else self._sampled()
        if found is None:
            read = load if hold else reach
            found = read(self.data, text=self.text, label=self.label)
        if isinstance(found, Dataset):
            return replace(found, part="all")
        assert isinstance(found, Stream)
        return replace(found, part="all")

    def _sampled(self) -> Dataset | None:
        """Sample a large file in one pass; None if the file is small or the sample is large."""
        from malaprop.data import stream

        path = Path(self.data)
        if not 0 < self.n <= stream.HELD or not stream.is_large(path):
            return None
        return stream.sample_file(path, self.n, self.seed, text=self.text, label=self.label)

    def _cut(self, whole: Dataset, part: str, why: str) -> Dataset:
        """Return a part of a file, split as `malaprop train` splits it."""
        rows = _pair_rows(whole, part) if whole.fields == ("source", "target") else self._rows(whole, part)
        if not rows:
            raise DataError(f"{whole.name} has {len(whole)} rows, none of them in its {part} part; take --split all")
        note = f"{whole.name}: {len(rows):,} of {len(whole):,} rows are taken, its {part} part"
        note += f", for {why}; --split all takes every row" if why else ""
        return replace(whole, name=f"{whole.name}:{part}", examples=rows, part=part, notes=(*whole.notes, note))

    def _rows(self, whole: Dataset, part: str) -> tuple[Example, ...]:
        from malaprop.training.splits import splits

        try:
            return tuple(getattr(splits(_Once(self, whole), self.data), _BY[part]))
        except DataError as error:
            raise DataError(f"{error}; or take all of it with --split all") from None


def _pair_rows(whole: Dataset, part: str) -> tuple[Example, ...]:
    """Return a part of a file of translations; all pairs of one source are in one part."""
    from malaprop.data.packaged import tenth_of

    tenths = {"test": {0}, "validation": {1}, "train": set(range(2, 10))}[part]
    return tuple(e for e in whole if tenth_of(e.fields["source"].strip()) in tenths)


class _Once:
    """Opens the parts of one dataset for `splits`; a file, which has no parts, is read once."""

    def __init__(self, texts: Selection, whole: Dataset | None = None) -> None:
        self._texts, self._whole = texts, whole

    def __call__(self, spec: str, *, split: str) -> Dataset:
        from malaprop.data.base import load

        if not self._texts.is_file:
            return load(spec, split=split, text=self._texts.text, label=self._texts.label)
        if self._whole is None:
            self._whole = load(spec, text=self._texts.text, label=self._texts.label)
        return self._whole


class TrainingMark(NamedTuple):
    """What a model's card says of its data: the fingerprint, and the rows of the training part (0: not known)."""

    model: str
    data: str
    rows: int


def trained_on(victims: Collection[Any]) -> Iterator[TrainingMark]:
    """Yield the mark of each model folder among the victims, also inside defences and ensembles."""
    named = [os.fspath(victim) for victim in victims if isinstance(victim, (str, os.PathLike))]
    for folder in dict.fromkeys(inner for victim in named for inner in _inside(victim)):
        for card in _CARDS:
            try:
                said = json.loads((Path(folder).expanduser() / card).read_text(encoding="utf-8"))
                mark = TrainingMark(folder, str(said["data_fingerprint"]), _training_rows(said.get("figures")))
            except (OSError, ValueError, KeyError, TypeError):
                continue  # no model of ours, or a damaged card: whoever loads it says what is wrong with it
            yield mark


def _training_rows(figures: Any) -> int:
    """Return the rows that the figures of a card say; 0 if they cannot be read."""
    try:
        return int(figures.get("train_rows", 0)) - int(figures.get("added_rows", 0))
    except (AttributeError, TypeError, ValueError, OverflowError):
        return 0


def _inside(victim: str) -> Iterator[str]:
    """Yield the names of the models inside a victim's name."""
    from malaprop.frame.runs.wrap import is_defence_file, read_defence_file
    from malaprop.models.victims.ensemble import member_specs

    if victim.startswith("ensemble:"):
        for member in member_specs(victim):
            yield from _inside(member)
    elif victim.endswith(")") and "(" in victim and not Path(victim).exists():
        yield from _inside(victim.partition("(")[2].removesuffix(")"))
    elif is_defence_file(victim) and Path(victim).expanduser().is_file():
        yield from _inside(read_defence_file(Path(victim).expanduser())[0])
    else:
        yield victim
