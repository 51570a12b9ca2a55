"""The state of a training that is not done, on disk, from which it goes on exactly."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from malaprop.core.errors import SettingError

if TYPE_CHECKING:
    from torch import Tensor

EVERY = 20.0  # short trainings write no state
_TENSORS, _NOTES = "state.safetensors", "state.json"


class TrainingState(NamedTuple):
    """All that the rest of a training depends on, as tensors and as plain values."""

    tensors: dict[str, Tensor]
    notes: dict[str, Any]
    seconds: float  # that the work has taken


@dataclass(slots=True, kw_only=True)
class TrainingFolder:
    """A folder with the newest whole state; a new one is written beside it and takes its place in one step.

    `recipe` is all that decides the outcome. A state of another recipe, or one that cannot be read, is not used; with
    `strict` it is refused, as work that took hours should be.
    """

    folder: Path
    recipe: Mapping[str, Any]
    every: float | None = None  # seconds between two states; None: EVERY
    steps: int | None = None  # steps between two states, in place of seconds
    strict: bool = False
    _last: float = field(default_factory=time.monotonic, init=False)

    @classmethod
    def beside(cls, folder: Path, recipe: Mapping[str, Any], **more: Any) -> TrainingFolder:
        """Return the hidden folder of states beside the future folder of a model."""
        return cls(folder=folder.absolute().with_name(f".{folder.name}.unfinished"), recipe=recipe, **more)

    def due(self, step: int) -> bool:
        """Return whether the last state is old enough to write a new one."""
        if self.steps is not None:
            return step % self.steps == 0
        return time.monotonic() - self._last >= (EVERY if self.every is None else self.every)

    def keep(self, state: TrainingState) -> None:
        from safetensors.torch import save_file

        fresh = self.folder / "fresh"
        try:
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            save_file({k: t.detach().cpu().clone().contiguous() for k, t in state.tensors.items()}, fresh / _TENSORS)
            whole = {"notes": state.notes, "seconds": state.seconds, "recipe": dict(self.recipe)}
            (fresh / _NOTES).write_text(json.dumps(whole, sort_keys=True), encoding="utf-8")
            numbers = self._numbers()
            fresh.rename(self.folder / str(max(numbers, default=0) + 1))
        except OSError as error:
            raise SettingError(
                f"cannot write {self.folder}: {error.strerror or error}; make room or name another folder"
            ) from None
        for old in numbers:
            shutil.rmtree(self.folder / str(old), ignore_errors=True)
        self._last = time.monotonic()

    def read(self, names: Collection[str]) -> TrainingState | None:
        """Return the newest state that has tensors of all these names."""
        for number in sorted(self._numbers(), reverse=True):
            folder = self.folder / str(number)
            try:
                found, recipe = self._read(folder)
                if missing := sorted(set(names) - set(found.tensors)):
                    raise ValueError(f"it lacks {missing[0]}")
            except (OSError, ValueError, KeyError, TypeError) as error:
                self._refuse(f"{folder} is damaged ({str(error)[:120]}); remove {self.folder} to begin anew")
                continue
            if not (other := self._differences(recipe)):
                return found
            self._refuse(
                f"{self.folder} holds an unfinished training with other {', '.join(other)}; repeat its settings to go "
                "on, name another folder, or remove that one"
            )
        return None

    def _refuse(self, why: str) -> None:
        if self.strict:
            raise SettingError(why) from None

    def _read(self, folder: Path) -> tuple[TrainingState, Mapping[str, Any]]:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            whole = json.loads((folder / _NOTES).read_text(encoding="utf-8"))
            return TrainingState(load_file(folder / _TENSORS), whole["notes"], float(whole["seconds"])), whole["recipe"]
        except SafetensorError as error:
            raise ValueError(str(error)) from None

    def _differences(self, recipe: Mapping[str, Any]) -> list[str]:
        now = json.loads(json.dumps(dict(self.recipe)))
        return sorted(name for name in {*recipe, *now} if recipe.get(name) != now.get(name))

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _numbers(self) -> list[int]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return [int(path.name) for path in self.folder.iterdir() if path.name.isdigit()]
        return []
