"""The folder of a model: written whole or not at all, never over another model; and a training not yet done."""

from __future__ import annotations

import errno
import json
import shutil
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from malaprop.core.errors import SettingError
from malaprop.core.files import find_partial_files, partial_path, write_whole
from malaprop.core.settings import first_difference, plain
from malaprop.training.card import ROLES, with_article

if TYPE_CHECKING:
    from torch import Tensor


@contextmanager
def write_folder(target: Path, role: str = "classifier") -> Iterator[Path]:
    """Yield a folder to fill, which becomes `target` in one step at the end, and never if the block fails."""
    check_target(target, role)
    room: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        room = partial_path(target)
        shutil.rmtree(room, ignore_errors=True)  # of a dead process that had this one's number
        made = room / "made"
        made.mkdir(parents=True)
        yield made
        if target.exists():
            target.rename(room / "old")
        made.rename(target)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "no room left on the disk" if full else error.strerror or str(error)
        raise SettingError(f"cannot write {target}: {reason}; name another folder") from None
    finally:
        if room is not None:
            shutil.rmtree(room, ignore_errors=True)


def _mend(target: Path) -> None:
    """Clear the leftovers of killed processes beside a model; finish a replacement that one had begun."""
    for room in find_partial_files(target.parent):
        if not room.name.startswith(f".{target.name}."):
            continue
        with suppress(OSError):
            if (room / "old").is_dir() and not target.exists():
                (room / "made").rename(target)
            shutil.rmtree(room)


def check_target(target: Path, role: str = "classifier") -> None:
    """Raise, before any work, on a folder that holds anything but an earlier model of the role."""
    _mend(target)
    known = ROLES[role]
    if target.exists() and not (target.is_dir() and ((target / known.file).is_file() or not any(target.iterdir()))):
        raise SettingError(f"{target} exists and is not {with_article(known.noun)}; name another folder")


FILE = "training.json"


def refuse_other(folder: Path, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raise where the finished model in a folder was trained otherwise, naming the first setting that differs."""
    made, held = (json.loads(json.dumps(plain(table))) for table in (ours, theirs))
    if (difference := first_difference(made, held)) is not None:
        raise SettingError(f"{folder} holds a finished model: {difference}; name another folder, or delete that one")


def keep_recipe(folder: Path, recipe: Mapping[str, Any]) -> None:
    """Write the recipe of a finished model into its folder."""
    write_whole(folder / FILE, json.dumps(plain(recipe), ensure_ascii=False) + "\n")


def check_recipe(folder: Path, recipe: Mapping[str, Any]) -> None:
    """Raise where the model in a folder was made with another recipe, or does not say with which."""
    try:
        held = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise SettingError(
            f"{folder} holds a finished model that does not say how it was trained; name another folder, or delete it"
        ) from None
    refuse_other(folder, recipe, held)


# --- the state of a training that is not done, on disk, from which it goes on exactly


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
