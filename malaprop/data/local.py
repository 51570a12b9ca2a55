"""Larger datasets in the folder $MALAPROP_DATA, for experiments; packaged datasets never read them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from malaprop.core.errors import DataError
from malaprop.data import files
from malaprop.data.base import Dataset, check_split
from malaprop.data.matching import ENTAILMENT as _NLI

_SENTIMENT = ("negative", "positive")
_NEWS = ("World", "Sports", "Business", "Sci/Tech")


class Part(NamedTuple):
    """A file under MALAPROP_DATA; `flag` keeps the rows whose column of that name is `kept`."""

    file: str
    flag: str | None = None
    kept: bool = True


class Local(NamedTuple):
    """A dataset of the folder: its labels, and the file of each split."""

    labels: tuple[str, ...]
    splits: dict[str, Part]


def _whole(labels: tuple[str, ...], **files: str) -> Local:
    return Local(labels, {split: Part(file) for split, file in files.items()})


TABLE = {
    "ag_news": _whole(_NEWS, train="ag_news/train_part.jsonl.gz", test="ag_news/test.jsonl.gz"),
    "imdb-full": _whole(_SENTIMENT, train="imdb/train.jsonl.gz", test="imdb/test.jsonl.gz"),
    "mnli": _whole(_NLI, train="nli/mnli_train_part.jsonl.gz", test="nli/mnli_dev_matched.jsonl.gz"),
    "mr-full": Local(
        _SENTIMENT,
        {
            "train": Part("mr/mr_all.jsonl.gz", "textfooler1000", False),
            "test": Part("mr/mr_all.jsonl.gz", "textfooler1000", True),
        },
    ),
    "multi30k": _whole(
        (),
        train="multi30k/train.en-de.jsonl.gz",
        validation="multi30k/val.en-de.jsonl.gz",
        test="multi30k/test2016.en-de.jsonl.gz",
    ),
    "snli": _whole(
        _NLI,
        train="nli/snli_train_part.jsonl.gz",
        validation="nli/snli_dev.jsonl.gz",
        test="nli/snli_test.jsonl.gz",
    ),
    "sst2": _whole(_SENTIMENT, train="sst2/train.jsonl.gz", validation="sst2/dev.jsonl.gz", test="sst2/test.jsonl.gz"),
    "yelp": _whole(_SENTIMENT, train="yelp/train.jsonl.gz", test="yelp/test.jsonl.gz"),
    **{
        f"textfooler:{name}": _whole(labels, test=f"textfooler1000/{name}.jsonl.gz")
        for name, labels in {
            "ag": _NEWS,
            "imdb": _SENTIMENT,
            "mr": _SENTIMENT,
            "yelp": _SENTIMENT,
            "snli": _NLI,
            "mnli": _NLI,
        }.items()
    },
}


def names() -> tuple[str, ...]:
    """Return the names of the datasets whose files exist."""
    from malaprop.assets import store

    root = store.data_root()
    if root is None:
        return ()
    return tuple(name for name, local in TABLE.items() if all((root / p.file).exists() for p in local.splits.values()))


def load(name: str, split: str = "test") -> Dataset:
    from malaprop.assets import store

    local, root = TABLE[name], store.data_root()
    assert root is not None, "names() lists nothing without a folder"
    if check_split(split) not in local.splits:
        raise DataError(f"{name} has no split {split}; it has {', '.join(local.splits)}")
    part = local.splits[split]
    path = root / part.file
    rows = [files.Row(f"line {at}", cells) for at, cells in _cells(path) if part.flag is None or _is_kept(cells, part)]
    return files.from_rows(rows, f"{name}:{split}", shown=str(path), labels=local.labels)


def _is_kept(cells: dict[str, Any], part: Part) -> bool:
    return bool(cells.get(str(part.flag))) is part.kept


def _cells(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            for at, line in enumerate(file, 1):
                cells = json.loads(line)
                cells.pop("id", None)  # content ids: IMDB's own are not unique across its labels
                yield at, cells
    except (OSError, EOFError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None
