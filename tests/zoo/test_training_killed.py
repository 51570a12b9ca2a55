"""A training whose process is killed at random moments, and goes on, ends with the weights of one that was not."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path

import pytest
import torch

from malaprop.data import of
from malaprop.training import folder as unfinished
from malaprop.training.splits import splits
from malaprop.zoo import checkpoint
from malaprop.zoo.names import ZooSpec
from malaprop.zoo.train import TrainingInput, train

TEXTS = [(f"the {w} film number {i} is {w}", y) for i in range(60) for y, w in enumerate(("bad", "good"))]
SMALL = {"epochs": 4, "batch": 4, "hidden": 6, "patience": 9, "rate": 1e-2}


def work(name: str, folder: Path, every: float) -> None:
    torch.set_num_threads(1)
    unfinished.EVERY = every
    data = splits(lambda spec, split: of(TEXTS, name=spec), "toy")
    train(ZooSpec.of(name), data, folder, given=TrainingInput(settings=SMALL), quiet=True)


@pytest.mark.parametrize("name", ["BiLSTM-W-Random-2", "CNN-C-Random-1"])
def test_killed_and_gone_on(name, tmp_path, monkeypatch):
    monkeypatch.setattr(unfinished, "EVERY", 0.0)
    work(name, tmp_path / "whole", 1e9)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["malaprop.zoo.train", "torch._dynamo", "safetensors.torch"])
    rng, killed, seen = random.Random(name), 0, 0
    folder, state = tmp_path / "killed", tmp_path / ".killed.unfinished"
    for _ in range(60):
        child = context.Process(target=work, args=(name, folder, 0.0))
        child.start()
        if killed < 6:
            limit = time.monotonic() + 20
            before = {p.name for p in state.glob("*")}
            while child.is_alive() and time.monotonic() < limit and before == {p.name for p in state.glob("*")}:
                time.sleep(0.01)  # at least a step, so that the work comes to an end
            time.sleep(rng.uniform(0, 0.08))
            child.kill()
            seen += state.exists()
        child.join()
        killed += child.exitcode == -9
        if child.exitcode == 0:
            break
    assert checkpoint.is_checkpoint(folder)
    assert killed >= 3
    assert seen >= 3
    assert checkpoint.fingerprint(folder) == checkpoint.fingerprint(tmp_path / "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["killed", "whole"]
