"""The state of a training that is not done, on disk, from which it goes on exactly."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import SettingError

if TYPE_CHECKING:
    from torch import Tensor

EVERY = 20.0  # short trainings write no state
_TENSORS, _NOTES = "state.safetensors", "state.json"
State = Callable[[], "tuple[dict[str, Tensor], dict[str, Any]]"]
Fill = Callable[["dict[str, Tensor]", "dict[str, Any]"], None]


@dataclass(slots=True, kw_only=True)
class Unfinished:
    """A folder with the newest whole state; a new one is written beside it and takes its place in one step.

    `recipe` is all that decides the outcome. A state of another recipe, or one that cannot be read, is not used.
    """

    folder: Path
    recipe: Mapping[str, Any]
    every: float | None = None  # seconds between two states; None: EVERY
    _last: float = field(default_factory=time.monotonic, init=False)

    def maybe(self, state: State, seconds: float) -> None:
        """Keeps the state if the last one is old enough."""
        if time.monotonic() - self._last >= (EVERY if self.every is None else self.every):
            self.keep(state, seconds)
            self._last = time.monotonic()

    def keep(self, state: State, seconds: float) -> None:
        from safetensors.torch import save_file

        tensors, notes = state()
        fresh = self.folder / "fresh"
        try:
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir(parents=True)
            save_file({k: t.detach().cpu().clone().contiguous() for k, t in tensors.items()}, fresh / _TENSORS)
            whole = {"notes": notes, "seconds": seconds, "recipe": dict(self.recipe)}
            (fresh / _NOTES).write_text(json.dumps(whole, sort_keys=True), encoding="utf-8")
            numbers = self._numbers()
            fresh.rename(self.folder / str(max(numbers, default=0) + 1))
        except OSError as error:
            raise SettingError(
                f"cannot write {self.folder}: {error.strerror or error}; make room or name another folder"
            ) from None
        for old in numbers:
            shutil.rmtree(self.folder / str(old), ignore_errors=True)

    def restore(self, state: State, fill: Fill) -> float:
        """Fills in what was kept; gives the seconds that the work had taken by then."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        for number in sorted(self._numbers(), reverse=True):
            with suppress(OSError, ValueError, KeyError, SafetensorError):
                folder = self.folder / str(number)
                whole = json.loads((folder / _NOTES).read_text(encoding="utf-8"))
                tensors = load_file(folder / _TENSORS)
                known = {k for k in state()[0] if k.partition("|")[0] in ("now", "kept", "loss")}
                if whole["recipe"] == json.loads(json.dumps(dict(self.recipe))) and known <= set(tensors):
                    fill(tensors, whole["notes"])
                    return float(whole["seconds"])
        return 0.0

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _numbers(self) -> list[int]:
        with suppress(FileNotFoundError, NotADirectoryError):
            return [int(path.name) for path in self.folder.iterdir() if path.name.isdigit()]
        return []
