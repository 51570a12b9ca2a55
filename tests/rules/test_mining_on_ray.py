"""Mining on a Ray of two workers gives the same rules as one process."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import toy

from malaprop.core.errors import VictimError
from malaprop.rules.mine import Miner, mine, shards
from malaprop.rules.onray import mine_on
from malaprop.rules.shelf import Shelf
from malaprop.rules.swaps import ListedSwaps

HERE = Path(__file__).parent
SWAPS = ListedSwaps(table=toy.SYNONYMS)

pytestmark = pytest.mark.slow  # starting Ray alone takes most of a minute on a busy machine


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("ray")
    from malaprop.tasks.workers.session import join

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parent / "runs"), str(HERE.parent), str(HERE.parents[1])])
    try:
        with join(workers=2) as found:
            yield found
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


def test_the_same_sums_from_workers(cluster, tmp_path, capfd):
    examples = toy.some_examples(5000)
    assert len(list(shards(examples))) == 3
    here = mine(Miner(victims=(toy.victim(),), swaps=SWAPS), examples)
    shelf = Shelf.at(tmp_path, "mark")
    seen: list[int] = []
    there = mine_on(
        cluster, ["ray_victims:predict"], examples, swaps=SWAPS, workers=2, device="cpu", seen=seen.append, keeps=shelf
    )
    assert (sum(seen), there.texts, there.swaps) == (5000, here.texts, here.swaps)
    assert there.strings == here.strings
    for one, two in zip(here.sums, there.sums, strict=True):
        assert np.array_equal(one, two)
    again = mine_on(cluster, ["ray_victims:nobody"], examples, swaps=SWAPS, workers=1, device="cpu", keeps=shelf)
    assert np.array_equal(again.sums.total, here.sums.total)  # all shards were kept: nobody had to be asked
    assert "actor restart will fail" not in capfd.readouterr().err


def test_what_goes_wrong_there_is_told_here(cluster):
    with pytest.raises(VictimError, match="nobody"):
        mine_on(cluster, ["ray_victims:nobody"], toy.some_examples(5), swaps=SWAPS, workers=1, device="cpu")
