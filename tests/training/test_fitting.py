"""The one training loop: stages in their order, looks that end one, and an exact resume inside any of them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from malaprop.training.fit import fit
from malaprop.training.folder import TrainingFolder
from malaprop.training.schedule import ParameterGroup, Schedule
from malaprop.training.seeds import reseed, seeded
from malaprop.training.task import Assessment, GradientLoss, Stage, TrainingTask


class Killed(Exception):
    pass


class Two:
    """Two networks: the first learns to give noise back, the second, begun from the first, to give its negative."""

    def __init__(self, heard: list[str], die_at: tuple[str, int] | None = None) -> None:
        with seeded(0):
            self.nets = {"one": nn.Linear(3, 3), "two": nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))}
        self.heard, self.die_at = heard, die_at
        self.course = TrainingTask(
            stages=(self._stage("one", 1.0, lambda: None), self._stage("two", -1.0, self._begin)),
            modules=self.nets,
            groups={name: ParameterGroup.of(Schedule(rate=0.05), net.parameters()) for name, net in self.nets.items()},
        )

    def _begin(self) -> None:
        self.nets["two"].get_submodule("0").load_state_dict(self.nets["one"].state_dict())

    def _stage(self, name, sign, begin):
        def losses(now):
            if (name, now.step) == self.die_at:
                raise Killed
            reseed(0 if sign > 0 else 1, now.step)
            noise = torch.randn(8, 3)
            self.heard.append(f"{name} {now.step}")
            loss = (self.nets[name](noise) - sign * noise).square().mean()
            yield GradientLoss(name, loss)
            self.heard.append(f"{name} {now.step} taken")
            return {"loss": loss}

        def look(now, sums):
            return Assessment({"loss": sums["loss"].mean}, over=name == "one" and now.step == 6)

        return Stage(losses=losses, name=name, steps=10, look=look, every=3, begin=begin)

    def weights(self):
        return torch.cat([t.flatten().float() for net in self.nets.values() for t in net.state_dict().values()])


def test_a_step_is_taken_between_a_loss_and_what_follows_it_and_a_look_may_end_a_phase():
    heard: list[str] = []
    fitted = fit(Two(heard).course)
    assert heard[:4] == ["one 0", "one 0 taken", "one 1", "one 1 taken"]
    assert [(look["phase"], look["step"]) for look in fitted.looks] == [
        *(("one", step) for step in (3, 6)),
        *(("two", step) for step in (3, 6, 9, 10)),
    ]
    assert fitted.looks[-1]["loss"] < fitted.looks[2]["loss"]


@pytest.mark.parametrize("at", [("one", 1), ("one", 5), ("two", 0), ("two", 4), ("two", 9)])
def test_a_killed_training_goes_on_exactly_in_any_phase(at, tmp_path):
    whole, rest = Two([]), Two(heard := [])
    looks = fit(whole.course).looks
    kept = {"folder": tmp_path / "state", "recipe": {}, "every": 0.0}
    with pytest.raises(Killed):
        fit(Two([], die_at=at).course, unfinished=TrainingFolder(**kept))
    again = fit(rest.course, unfinished=TrainingFolder(**kept)).looks
    assert heard[0] == " ".join(map(str, at))
    assert torch.equal(rest.weights(), whole.weights())
    assert [{**look, "seconds": 0} for look in again] == [{**look, "seconds": 0} for look in looks]
