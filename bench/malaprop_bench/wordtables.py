"""Make the tables of words that are part of the package, from what package indexes hold.

python -m malaprop_bench.wordtables polarity
python -m malaprop_bench.wordtables synonyms

`synonyms` writes what was measured to docs/measured/synonyms.json; with MALAPROP_DATA also what people's ratings and
published lists say of it, and of the counter-fitted vectors. Have nothing else below that folder: local vectors would
make another table.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from malaprop.assets.vectors import open_neighbours, open_vectors
from malaprop.assets.yardsticks import outside_table
from malaprop.models.encoders import synonyms, valence

FLOOR = 0.5  # of the cosine of counter-fitted vectors, as TextFooler has it
ROOT = Path(__file__).parents[2]


def main() -> None:
    """Make one of the tables in the source tree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=("polarity", "synonyms"))
    name = parser.parse_args().table
    path = ROOT / "malaprop" / "assets" / "words" / f"{name}.npz"
    if name == "polarity":
        valence.build(path)
        return
    record: dict[str, Any] = {**synonyms.build(path), "bytes": path.stat().st_size}
    near, matrix = open_neighbours("counter-fitted"), open_vectors("counter-fitted").matrix
    told = outside_table(near, lambda rows: matrix[rows] @ matrix.T, FLOOR)
    record["counter_fitted"] = {"words": len(near.words), "floor": FLOOR, **told}
    (ROOT / "docs" / "measured" / "synonyms.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
