"""What an ARAE's settings do to what it learns."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from small_sentences import SENTENCES, blank_model

from malaprop.papers.natural.models.arae import Arae, AraeWork
from malaprop.papers.natural.models.sentencenet import SentenceNet
from malaprop.training.task import Stage, TrainingStep


def _begin(**how: object) -> tuple[SentenceNet, AraeWork, torch.Tensor]:
    model = blank_model()
    net = model.net.requires_grad_(True)
    torch.manual_seed(1)
    return net, Arae(**how).work(net), torch.from_numpy(model.codec.rows(SENTENCES[:16]))  # type: ignore[arg-type]


def _walk(work: AraeWork, losses: Any) -> Any:
    """Takes the steps that a part of the course asks for; gives its figures."""
    now = TrainingStep(Stage(losses=lambda now: losses, steps=100), 0, 0.1, 0.0)
    while True:
        try:
            name, loss, _ = next(losses)
        except StopIteration as end:
            return end.value
        work.groups[name].descend(loss, now, alone=False)


def _moved(before: list[torch.Tensor], after: list[torch.Tensor]) -> float:
    return max(float((a - b).detach().abs().max()) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("pull", [0.0, 0.01, 1.0])
def test_the_critic_moves_the_reader_at_the_rate_that_pull_sets(pull: float) -> None:
    net, work, rows = _begin(pull=pull, gan_rate=1e-3)
    before = [p.detach().clone() for p in net.reader.parameters()]
    made = [p.detach().clone() for p in net.generator.parameters()]
    torch.manual_seed(2)
    _walk(work, work._generate(rows))
    moved = _moved(before, list(net.reader.parameters()))
    assert moved == pytest.approx(pull * 1e-3, rel=0.05)
    assert _moved(made, list(net.generator.parameters())) == pytest.approx(1e-3, rel=0.05), "whatever the pull"


def test_pull_changes_what_is_learnt() -> None:
    codes = {}
    for pull in (0.0, 0.01, 1.0):
        net, work, rows = _begin(pull=pull, gan_rate=2e-3, noise=0.0, forget=0.0)
        torch.manual_seed(3)
        for _ in range(40):
            _walk(work, work.losses(rows, 0.0))
        with torch.no_grad():
            codes[pull] = net.encode(rows)
    little, much = (float((codes[pull] - codes[0.0]).norm()) for pull in (0.01, 1.0))
    assert 0 < little < much / 3, (little, much)


def test_plain_is_the_printed_training() -> None:
    assert (Arae(plain=True).cycle, Arae(plain=True, pair=2.0).pair) == (0.0, 0.0)
    _, work, rows = _begin(plain=True)
    assert set(_walk(work, work.losses(rows, 0.0))) == {"words", "distance"}
    _, ours, rows = _begin()
    assert {"words_through_z", "points"} <= set(_walk(ours, ours.losses(rows, 0.0)))
