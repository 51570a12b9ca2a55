"""The defence `detect`: a victim with one label more, by which it rejects suspicious texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.score import Floats
from malaprop.core.text import Text
from malaprop.core.variants import Variants
from malaprop.core.victim import REJECTED, Victim, find_rejected
from malaprop.features.defending.detection import DETECTORS
from malaprop.features.defending.detection.detector import (
    CARD,
    Detector,
    find_kept,
    list_kept,
    parse_method,
    read_detector,
)
from malaprop.features.defending.detection.suspicion import Answered, ask
from malaprop.frame.runs.defended import Counters

_FAR = 8.0  # spreads at which scores are clipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Detect:
    """The victim's answer with one label more: the text is rejected, which wins where a detector finds it suspicious.

    `by` is a folder that malaprop detect fit wrote, or a method with its settings (fgws, all:of=fgws+rde ...) whose
    detector for this victim lies in the cache. The labels' scores are shares of what rejection leaves: divided by it
    they are the victim's own. A victim that rejects texts itself keeps its label for that, which wins where either of
    the two does.
    """

    by: str = ""
    kind: ClassVar[str] = "detect"
    samples: ClassVar[int] = 1
    discrete: ClassVar[bool] = False
    steady: ClassVar[bool] = True  # it draws nothing at random, so the plain attack sees all of it

    def __post_init__(self) -> None:
        name, colon, settings = self.by.partition(":")
        if not colon or self._is_folder():
            return
        if name not in DETECTORS:
            raise SettingError(
                f"a detector in a folder takes no settings, got {settings!r}; they stand behind a method, as "
                f"detect:METHOD:{settings}(VICTIM), and methods are {', '.join(DETECTORS)}"
            )
        assert parse_method(self.by)  # raises on a wrong setting before a model is loaded

    def check(self, victim: Victim) -> None:
        self._open(victim).check(victim)

    def name_labels(self, victim: Victim) -> tuple[str, ...]:
        names = tuple(victim.label_names or self._open(victim).card.labels)
        return names if _rejects(names) else (*names, REJECTED)

    def read_state(self, victim: Victim) -> str:
        return self._open(victim).state

    def prepare(self, victim: Victim, texts: Sequence[Text], counters: Counters) -> Sequence[Text]:
        del victim, counters
        return texts

    def answers(
        self, victim: Victim, prepared: Sequence[Text], seeds: Sequence[int], counters: Counters, *, exact: bool
    ) -> Floats:
        del seeds
        detector = self._open(victim)
        counters.inner += len(prepared) + sum(detector.count_passes(victim, text) for text in prepared)
        own = ask(victim, [Variants.itself(text) for text in prepared], exact=exact)
        answered, shares = Answered(victim, dict(zip(prepared, own, strict=True)), exact), np.exp(own)
        rejects = _rejects(victim.label_names)
        if shares.shape[1] != len(self.name_labels(victim)) - 1 + rejects:
            raise VictimError(f"{victim.name} scores {shares.shape[1]} labels, not those its detector was fitted with")
        far = np.clip(detector.weigh(detector.judge(answered, prepared, exact=exact)), -_FAR, _FAR)
        shares, less = (shares[:, :-1], shares[:, -1]) if rejects else (shares, np.zeros(len(shares)))
        rejected = np.maximum(less, shares.max(1) * np.exp(far))
        rows = np.column_stack([shares, rejected])
        return np.asarray(rows / rows.sum(1, keepdims=True), np.float32)

    def _open(self, victim: Victim) -> Detector:
        if not self.by:
            raise SettingError(
                "detect needs a detector: detect:FOLDER(VICTIM), with a folder that malaprop detect fit wrote, or "
                f"detect:METHOD(VICTIM) of {', '.join(DETECTORS)}"
            )
        if self._is_folder() or self.by.partition(":")[0] not in DETECTORS:
            return read_detector(Path(self.by).expanduser())
        kept = find_kept(self.by, victim)
        if kept is None:
            others = ", ".join(f"detect:{one}" for one in list_kept(self.by, victim))
            raise SettingError(
                f"no {self.by} was fitted for {victim.name} yet; fit one first: malaprop detect fit {self.by} --victim "
                f"{victim.name} --data TRAIN{f' (kept for it: {others})' if others else ''}"
            )
        return read_detector(kept)

    def _is_folder(self) -> bool:
        return (Path(self.by).expanduser() / CARD).is_file()


def _rejects(label_names: Sequence[str]) -> bool:
    return find_rejected(label_names) >= 0
