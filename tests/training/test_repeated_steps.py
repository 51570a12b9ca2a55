"""Steps that differ in nothing but what was drawn: what they hear, and that a GPU's graph learns the same."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from malaprop.papers.natural.models.networks import ImageShape
from malaprop.papers.natural.models.training import ImagePlan, ImageWork, train
from malaprop.training import fit as repeat
from malaprop.training.fit import RepeatedStep, fit
from malaprop.training.schedule import ParameterGroup, Schedule
from malaprop.training.seeds import seeded
from malaprop.training.task import GradientLoss, Stage, TrainingTask


def test_a_step_is_taken_between_what_it_draws_and_what_is_done_after_it():
    heard: list[str] = []
    with seeded(0):
        net = nn.Linear(2, 1)
    drawn = torch.zeros(4, 2)

    def draw(now):
        heard.append(f"draws {now.step}")
        drawn.fill_(now.step)

    def losses(now):
        heard.append(f"step {now.step} on {drawn[0, 0]:.0f}")
        loss = net(drawn).square().mean()
        yield GradientLoss("net", loss)
        return {"loss": loss}

    stage = Stage(losses=losses, draw=draw, after=lambda now: heard.append(f"after {now.step}"), steps=2)
    fit(
        TrainingTask(
            stages=(stage,),
            modules={"net": net},
            groups={"net": ParameterGroup.of(Schedule(rate=0.1), net.parameters())},
        )
    )
    assert heard == ["draws 0", "step 0 on 0", "after 0", "draws 1", "step 1 on 1", "after 1"]


def test_without_a_gpu_the_work_is_done_each_time():
    done = []
    again = RepeatedStep(torch.device("cpu"))
    for _ in range(9):
        again(lambda: done.append(1) or {})
    assert len(done) == 9


def learn(kind: str, device: str) -> ImageWork:
    images = np.random.default_rng(0).random((40, 1, 28, 28)).astype(np.float32)
    plan = ImagePlan(kind=kind, width=4, steps=12, inverter_steps=12, batch=8, critic_steps=2)
    work = ImageWork(plan, ImageShape.of((1, 28, 28), width=4), images, seed=1, device=device)
    train(work)
    return work


@pytest.mark.skipif(not torch.cuda.is_available(), reason="only a GPU records graphs")
@pytest.mark.parametrize("kind", ["wgan", "vae"])
def test_a_graph_learns_what_single_steps_learn(kind, monkeypatch):
    repeated = learn(kind, "cuda")
    monkeypatch.setattr(repeat, "_ONE_BY_ONE", 1000)
    single = learn(kind, "cuda")
    for name, net in repeated.nets.items():
        for key, value in net.state_dict().items():
            other = single.nets[name].state_dict()[key]
            torch.testing.assert_close(value, other, atol=1e-3, rtol=1e-3, msg=f"{name}: {key}")
