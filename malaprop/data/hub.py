"""`hub:NAME[:split]`: a dataset of the Hugging Face hub, through the `datasets` library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from malaprop.core.errors import DataError
from malaprop.data import files
from malaprop.data.base import Dataset

# What hub sets call their texts, most telling first.
_TEXT_COLUMNS = ("text", "sentence", "content", "review", "document", "tweet")


def load(
    spec: str,
    *,
    split: str = "test",
    text: str | None = None,
    label: str | None = None,
    labels: Sequence[str] | None = None,
) -> Dataset:
    """Load a split of a hub dataset; a third part names its configuration: `hub:nyu-mll/glue/sst2:validation`."""
    name, config, part = parse(spec, split)
    table = _fetch(name, config, part)
    columns = list(table.column_names)
    if text is None and not any(all(c in columns for c in layout) for layout in files.LAYOUTS):
        text = next((c for c in _TEXT_COLUMNS if c in columns), None)
    rows = [files.Row(f"row {at}", dict(cells)) for at, cells in enumerate(table, 1)]
    if not rows:
        raise DataError(f"{spec} has no rows in {part}")
    names = labels if labels is not None else getattr(table.features.get(label or "label"), "names", None)
    return files.from_rows(rows, f"hub:{name}:{part}", shown=spec, text=text, label=label, labels=names)


def parse(spec: str, split: str) -> tuple[str, str | None, str]:
    """Split `hub:NAME[:split]` into name, configuration and split."""
    name, _, part = spec.removeprefix("hub:").partition(":")
    if not name or name.count("/") > 2:
        raise DataError(f"a hub dataset is written hub:NAME or hub:NAME:split, got {spec!r}")
    if name.count("/") == 2:
        name, config = name.rsplit("/", 1)
        return name, config, part or split
    return name, None, part or split


def _fetch(name: str, config: str | None, split: str) -> Any:
    try:
        import datasets
    except ImportError:
        raise DataError(f"hub:{name} needs the datasets library; install malaprop[hf]") from None
    try:
        return datasets.load_dataset(name, config, split=split, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - the hub's client raises errors of many libraries
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(
            f"hub:{name} could not be read ({reason[:200]}); check the name, the split and the network"
        ) from None
