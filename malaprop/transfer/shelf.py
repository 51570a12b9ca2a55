"""Shelf: the victims that one process holds, loaded once."""

from __future__ import annotations

import gc
import os
import sys
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from malaprop.core.victim import Victim
from malaprop.runs.cluster.parcel import Parcel, unpack

_HELD = 48  # victims; the one not used for longest goes first
_CARRIED = ("MALAPROP_CACHE", "MALAPROP_DATA")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref:
    """A victim as it travels: `thing` is what `mp.victim` takes, a parcel of files, or the members of an ensemble."""

    name: str
    thing: Any
    labels: tuple[str, ...] = ()  # of an ensemble, in the order of the data

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of what has to be loaded."""
        return tuple(ref.name for ref in self.thing) if isinstance(self.thing, tuple) else (self.name,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where and how victims are loaded; `threads` None leaves torch alone."""

    device: str = "cpu"
    precision: str = "auto"
    threads: int | None = None
    sharing: int = 1  # processes on the same GPU
    folder: str = field(default_factory=os.getcwd)
    surroundings: Mapping[str, str] = field(
        default_factory=lambda: {name: os.environ[name] for name in _CARRIED if name in os.environ}
    )

    def settle(self) -> None:
        """Takes this place's surroundings on in a process of its own, as far as its machine has them."""
        for name, value in self.surroundings.items():
            if Path(value).exists():
                os.environ[name] = value
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        if self.sharing > 1 and self.device.startswith("cuda"):
            from malaprop.models.batches import share_gpu

            share_gpu(self.sharing)


class Shelf:
    """Victims by name, loaded when first asked for."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._held: OrderedDict[str, Victim] = OrderedDict()

    def victim(self, ref: Ref) -> Victim:
        if isinstance(ref.thing, tuple):
            from malaprop.models.victims.ensemble import Ensemble

            return Ensemble(members=tuple(map(self.victim, ref.thing)), names=ref.labels)
        if ref.name not in self._held:
            self._held[ref.name] = self._load(ref.thing)
            while len(self._held) > _HELD or (len(self._held) > 1 and self._crowded()):
                self._held.popitem(last=False)
        self._held.move_to_end(ref.name)
        return self._held[ref.name]

    def _crowded(self) -> bool:
        """Whether the GPU's memory should be given back before more is loaded."""
        if not self.place.device.startswith("cuda"):
            return False
        import torch

        from malaprop.models.batches import crowded

        device = torch.device(self.place.device)
        if crowded(device):
            gc.collect()
            torch.cuda.empty_cache()
        return crowded(device)

    def _load(self, thing: Any) -> Victim:
        from malaprop.runs.victims import victim

        place = self.place
        with unpack(thing) if isinstance(thing, Parcel) else nullcontext(thing) as found:
            made = victim(found, device=place.device, **_options(found, place))
        if place.threads is not None and (torch := sys.modules.get("torch")) is not None:
            torch.set_num_threads(place.threads)
        return made


def _options(thing: Any, place: Place) -> dict[str, Any]:
    return {"precision": place.precision, "quiet": True} if isinstance(thing, (str, os.PathLike)) else {}
