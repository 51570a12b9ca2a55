"""The state of an unfinished pre-training on disk, from which it goes on exactly."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from malaprop.core.errors import SettingError

_NAMED = re.compile(r"step-(\d+)")
_TENSORS, _NOTES = "state.safetensors", "state.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class States:
    """Weights, optimiser and step, in the newest whole `step-N` folder.

    Random numbers need no state: each step draws from a seed of its own. `recipe` is all that decides the outcome; a
    state of another recipe is refused.
    """

    folder: Path
    recipe: Mapping[str, Any]

    def save(self, step: int, seconds: float, model: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        from safetensors.torch import save_file

        room = self.folder / f"writing-{step}"
        shutil.rmtree(room, ignore_errors=True)
        try:
            room.mkdir(parents=True)
            save_file({k: v.detach().cpu().contiguous() for k, v in _tensors(model, optimiser)}, room / _TENSORS)
            notes = {"step": step, "seconds": seconds, "recipe": dict(self.recipe)}
            (room / _NOTES).write_text(json.dumps(notes, sort_keys=True), encoding="utf-8")
            older = self._steps()
            room.rename(self.folder / f"step-{step}")
        except OSError as error:
            raise SettingError(f"cannot write {self.folder}: {error.strerror or error}; name another --out") from None
        for old in older:
            shutil.rmtree(self.folder / f"step-{old}", ignore_errors=True)

    def restore(self, model: nn.Module, optimiser: torch.optim.Optimizer) -> tuple[int, float]:
        """Fills model and optimiser; gives the step and the seconds that the work has come to."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        steps = self._steps()
        if not steps:
            return 0, 0.0
        folder = self.folder / f"step-{max(steps)}"
        try:
            notes = json.loads((folder / _NOTES).read_text(encoding="utf-8"))
            tensors = load_file(folder / _TENSORS)
            step, seconds, recipe = notes["step"], notes["seconds"], notes["recipe"]
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise SettingError(
                f"{folder} is damaged ({str(error)[:120]}); remove {self.folder} to begin anew"
            ) from None
        self._agree(recipe)
        _fill(model, optimiser, tensors)
        return step, seconds

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _agree(self, recipe: Mapping[str, Any]) -> None:
        now = json.loads(json.dumps(dict(self.recipe)))
        other = sorted(name for name in {*recipe, *now} if recipe.get(name) != now.get(name))
        if other:
            raise SettingError(
                f"{self.folder} holds an unfinished pre-training with other {', '.join(other)}; repeat its settings to "
                "go on, name another --out, or remove that folder"
            )

    def _steps(self) -> list[int]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return [int(found[1]) for path in self.folder.iterdir() if (found := _NAMED.fullmatch(path.name))]
        return []


def _tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> list[tuple[str, Tensor]]:
    out: list[tuple[str, Tensor]] = []
    for name, parameter in model.named_parameters():  # a tied weight comes once
        out.append((f"model|{name}", parameter))
        kept = optimiser.state.get(parameter, {})
        out += [(f"{key}|{name}", value) for key, value in kept.items()]
    return out


@torch.no_grad()
def _fill(model: nn.Module, optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[f"model|{name}"])
    parameters = dict(model.named_parameters())
    for label, value in tensors.items():
        key, _, name = label.partition("|")
        if key != "model":
            optimiser.state[parameters[name]][key] = value.to(parameters[name].device)
