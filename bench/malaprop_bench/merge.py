"""Replace cells of a record of `bench --together` by cells that were measured later, or join records by language.

python -m malaprop_bench.merge RECORD LATER...     each LATER a bench.json; RECORD is written anew
python -m malaprop_bench.merge RECORD French=fr/bench.json Spanish=es/bench.json     victims lose a prefix such as `fr-`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from malaprop.core.errors import MalapropError, SettingError, plain

Held = dict[str, Any]  # what JSON holds
_SAME = ("threads", "data", "seed", "width")  # without which two cells cannot stand in one table


def merge(record: Held, later: Mapping[str, Any]) -> Held:
    """Return the record with the later cells; a cell measured with other settings keeps these with it.

    A peer that did not run again keeps its earlier side. Quality that was not measured again keeps its earlier values,
    with the number of their texts.
    """
    terms, now = record["terms"], later["terms"]
    if odd := [name for name in _SAME if terms.get(name) != now.get(name)]:
        raise SettingError(f"the two records differ in {', '.join(odd)}; measure again with the settings of the first")
    cells = list(record["cells"])
    places = {_name(cell): at for at, cell in enumerate(cells)}
    for cell in later["cells"]:
        at = places.get(_name(cell))
        made = {**cell, "terms": {name: value for name, value in now.items() if terms.get(name) != value}}
        if at is None:
            cells.append(made)
        else:
            cells[at] = _keep_earlier(made, cells[at])
    return {**record, "cells": cells}


def join(records: Mapping[str, Mapping[str, Any]]) -> Held:
    """Return one record with the cells of each language."""
    first = next(iter(records.values()))
    terms = {name: value for name, value in first["terms"].items() if name != "data"}
    languages = {
        name: [{**cell, "victim": cell["victim"].rpartition("-")[2]} for cell in one["cells"]]
        for name, one in records.items()
    }
    return {**first, "terms": terms, "cells": [], "languages": languages}


def _name(cell: Mapping[str, Any]) -> tuple[str, ...]:
    return cell["recipe"], cell["victim"], cell["precision"]


def _keep_earlier(cell: Held, earlier: Held) -> Held:
    for path, was in _sides(earlier):
        side = dict(_sides(cell)).get(path)
        if side is not None and was.get("quality") and not side.get("quality"):
            side["quality"] = {"texts": earlier["rows"], **was["quality"]}
    return {**cell, "peers": {**earlier["peers"], **cell["peers"]}}


def _sides(cell: Held) -> Iterator[tuple[tuple[str, ...], Held]]:
    """Yield every run of a cell, with its path in the cell."""
    for name in ("ours", "defaults"):
        if cell[name] is not None:
            yield (name,), cell[name]
    for tool, peer in cell["peers"].items():
        yield (tool,), peer
        yield (tool, "ours"), peer["ours"]


def main(given: Sequence[str]) -> int:
    if len(given) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    first, later = Path(given[0]), [one.rpartition("=") for one in given[1:]]
    try:
        read = {(name, path): json.loads(Path(path).read_text(encoding="utf-8")) for name, _, path in later}
        if all(name for name, _ in read):
            record = join({name: one for (name, _), one in read.items()})
        else:
            record = json.loads(first.read_text(encoding="utf-8"))
            for one in read.values():
                record = merge(record, one)
    except (OSError, ValueError, KeyError, MalapropError) as error:
        print(f"cannot merge: {plain(error)}", file=sys.stderr)
        return 2
    first.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
