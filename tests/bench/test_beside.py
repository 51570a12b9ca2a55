"""What README says of the peers: where each cell stands in their source, looked up where they are installed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from malaprop_bench.beside import FEATURES

ROOT = Path(__file__).parents[2]
READ = json.loads((ROOT / "docs" / "measured" / "peer-features.json").read_text(encoding="utf-8"))["read"]
HOMES = {"TextAttack": ".venv-peers", "OpenAttack": ".venv-openattack"}


def test_every_cell_of_a_peer_says_where_it_was_read():
    assert {(one["feature"], one["tool"]) for one in READ} == {(row[0], tool) for row in FEATURES for tool in HOMES}
    counted = [one.get("files") or one["imports"] for one in READ if one["feature"] == "attack recipes"]
    assert FEATURES[0][2:] == tuple(str(len(names)) for names in counted)


@pytest.mark.parametrize("one", READ, ids=lambda one: f"{one['tool']}: {one['feature']}")
def test_it_stands_there(one):
    found = sorted((ROOT / HOMES[one["tool"]]).glob(f"lib/python*/site-packages/{one['file']}"))
    if not found:
        pytest.skip("the peer is not installed; run: make bench-peers")
    (place,) = found
    if "line" in one:
        assert one["text"] in place.read_text(encoding="utf-8").splitlines()[one["line"] - 1]
    elif "files" in one:
        assert set(one["files"]) == {file.name for file in place.glob("*.py")} - {"__init__.py", "attack_recipe.py"}
    elif "imports" in one:
        lines = place.read_text(encoding="utf-8").splitlines()
        assert one["imports"] == [line.split()[3] for line in lines if line.startswith("from .")][2:]
    else:
        texts = [file.read_text(encoding="utf-8", errors="replace").lower() for file in place.rglob("*.py")]
        assert not [word for word in one["absent"] if any(word in text for text in texts)]
