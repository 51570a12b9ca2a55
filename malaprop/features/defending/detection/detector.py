"""A fitted detector: its method, what that has learnt, and a threshold; how it is fitted, written, read and cached."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from malaprop.assets.folders import cache_root
from malaprop.core.errors import RecordError, SettingError
from malaprop.core.settings import call
from malaprop.core.text import Text
from malaprop.core.victim import Fields, Victim
from malaprop.features.defending.detection import DETECTORS
from malaprop.features.defending.detection.rates import count_wanted, find_auc, find_strictest, find_threshold
from malaprop.features.defending.detection.suspicion import DetectionMethod, Learnt, Lessons, Numbers
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.defended import cut_up
from malaprop.frame.runs.wrap import read_settings

LEAST = 20  # the fewest texts that a threshold is fixed on
_LEARNS = 0.75  # share of the texts that a detector learns from
Kind = tuple[bool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FitTexts:
    """The texts for fitting a detector: clean ones, adversarial ones made from them, and all of the data."""

    clean: Mapping[str, Fields]  # by the id of the example
    attacked: Sequence[tuple[str, Fields]]  # each with the id of its original
    corpus: Sequence[Fields]
    tried: Sequence[Collection[str]] = ()  # for each attack the ids of all examples that it was tried on
    asked: Sequence[str] = ()  # ids of all examples of the data, also of those that the victim answers wrongly


@dataclass(frozen=True, slots=True, kw_only=True)
class FitParts:
    """The ids of the clean texts to learn from and of those held out, and the texts in which words are counted.

    `right` are the held-out texts that are among the data, `wrong` as large a share of the data's texts that the victim
    answers wrongly (nothing is learnt from those). The victim's accuracy is measured on both together.
    """

    learns: Sequence[str]
    held: Sequence[str]
    corpus: Sequence[Fields]
    right: Sequence[str]
    wrong: Sequence[str]


def cut_texts(texts: FitTexts, *, counts: bool) -> FitParts:
    """Split the texts, in their order, into both parts; with `counts`, words are counted in texts of neither part."""
    order, corpus = _set_apart(texts) if counts else (list(texts.clean), texts.corpus)
    learns, asked = _choose(texts, order), texts.asked or list(texts.clean)
    held, own = [id for id in order if id not in learns], set(asked)
    wrong = [id for id in asked if id not in texts.clean][:: 1 if len(order) == len(texts.clean) else 2]
    return FitParts(
        learns=[id for id in order if id in learns], held=held, corpus=corpus,
        right=[id for id in held if id in own], wrong=wrong[round(_LEARNS * len(wrong)) :],
    )  # fmt: skip


def _set_apart(texts: FitTexts) -> tuple[list[str], Sequence[Fields]]:
    """Return the ids of the examples to fit a detector on, and other texts to count words in.

    A text that was itself counted has no unseen word, so the words of later texts would look too rare. Where there are
    few other texts, half of the examples are used for counting alone.
    """
    order, own = list(texts.clean), set(texts.clean.values())
    rest = [fields for fields in texts.corpus if fields not in own]
    if 2 * len(rest) >= len(order):
        return order, rest
    if len(order) < 4 * LEAST:
        return order, texts.corpus
    return order[::2], [*rest, *(texts.clean[id] for id in order[1::2])]


def _choose(texts: FitTexts, order: Sequence[str]) -> set[str]:
    """Return the ids to learn from: the first three quarters of the attacked texts and of the others, run by run.

    A run on fewer texts of the same seed has the first of them, so without this none of its texts would be held out.
    Where one of the two parts has no text on which an attack succeeded, those texts are split by themselves too.
    """
    tried, broken = [set(ids) for ids in texts.tried], {id for id, _ in texts.attacked}

    def tell(ids: Sequence[str]) -> Kind:
        return tuple(not run.isdisjoint(ids) for run in tried)

    learns, there = _take_first(texts.clean, order, tell), broken.intersection(order)
    if there and (there <= learns or there.isdisjoint(learns)):
        return _take_first(texts.clean, order, lambda ids: (not broken.isdisjoint(ids), *tell(ids)))
    return learns


def _take_first(clean: Mapping[str, Fields], order: Sequence[str], tell: Callable[[Sequence[str]], Kind]) -> set[str]:
    """Return the ids of the first three quarters of each kind of text; the ids of equal texts stay together."""
    same: dict[Fields, list[str]] = {}
    for id in order:
        same.setdefault(clean[id], []).append(id)
    kinds: dict[Kind, list[list[str]]] = {}
    for ids in same.values():
        kinds.setdefault(tell(ids), []).append(ids)
    taken, seen = set[str](), 0
    for kind in sorted(kinds, reverse=True):
        many = round(_LEARNS * (seen + len(kinds[kind]))) - round(_LEARNS * seen)
        taken.update(id for ids in kinds[kind][:many] for id in ids)
        seen += len(kinds[kind])
    return taken


CARD, ARRAYS, WORDS = "detector.json", "detector.safetensors", "words.json"
FORMAT = 3  # older ones misread some of the texts that they learnt from
_AT_ONCE = 256  # texts that are judged at a time
_NOTHING = Rate(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorCard:
    """The card of a fitted detector: its method, its victim, the texts of the fit, and its threshold."""

    method: str  # as the user types it: rtd:worst=0.5
    victim: str
    spec: str = ""  # the victim as the user typed it; empty for a Python object
    fingerprint: str = ""  # of the victim; empty: not known
    labels: tuple[str, ...] = ()
    data: str
    data_fingerprint: str = ""
    attack: str = ""  # the attack whose adversarial texts it learnt from
    false_positives: float  # share of clean texts that may be rejected ...
    threshold: float  # ... and the score above which a text is rejected, fixed on held-out clean texts
    least_accuracy: float | None = None  # of originals; where given, it fixed the threshold
    right: Rate = _NOTHING  # held-out originals that the victim answers rightly without the detector ...
    left: Rate = _NOTHING  # ... and those of them that the detector does not reject
    scale: float = 1.0  # spread of the scores of clean texts
    clean: int = 0  # texts it learnt from
    attacked: int = 0
    held_out: int = 0  # clean texts that the threshold was fixed on
    auc: float | None = None  # of held-out adversarial texts against held-out clean ones
    seed: int = 0
    format: int = FORMAT


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Detector:
    """A detector fitted for one victim: scores texts, and says which scores are above its threshold."""

    card: DetectorCard
    suspicion: DetectionMethod
    learnt: Learnt
    state: str = ""  # a digest of its files, for caches of answers

    def check(self, victim: Victim) -> None:
        """Raise SettingError where the victim is not the one that the detector was fitted for."""
        mine, other = self.card.fingerprint, victim.fingerprint
        if mine and other and mine != other:
            raise SettingError(
                f"this {self.card.method} was fitted for {self.card.victim}, and {victim.name} is another model; fit "
                f"one for it: malaprop detect fit {self.card.method} --victim {victim.name}"
            )
        self.suspicion.check(victim)

    def judge(self, victim: Victim, texts: Sequence[Text], *, exact: bool) -> Numbers:
        """Return a score [text], the larger the more suspicious."""
        parts = [
            self.suspicion.score(victim, self.learnt, texts[a : a + _AT_ONCE], exact=exact)
            for a in range(0, len(texts), _AT_ONCE)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def count_passes(self, victim: Victim, text: Text) -> int:
        """Return the victim's forward passes for judging a text, not counting the answer for the text itself."""
        return self.suspicion.count_passes(victim, self.learnt, text)

    def weigh(self, scores: Numbers) -> Numbers:
        """Return scores less the threshold, in spreads of the scores of clean texts; above 0 a text is rejected."""
        return (scores - self.card.threshold) / self.card.scale

    def write(self, folder: Path) -> None:
        """Write the detector to a folder; the card comes last, for it marks the folder as complete."""
        from safetensors.numpy import save

        from malaprop.core.codec import encode
        from malaprop.core.files import write_whole

        folder.mkdir(parents=True, exist_ok=True)
        arrays = {name: np.ascontiguousarray(value) for name, value in self.learnt.arrays.items()}
        (folder / ARRAYS).write_bytes(save(arrays))
        words = {name: list(value) for name, value in self.learnt.words.items()}
        write_whole(folder / WORDS, json.dumps(words, ensure_ascii=False))
        write_whole(folder / CARD, json.dumps(encode(self.card), ensure_ascii=False, indent=1) + "\n")


def parse_method(spec: str) -> DetectionMethod:
    """Return the detection method that a user typed: fgws, or rtd:worst=0.5."""
    name, *settings = spec.split(":")
    made: DetectionMethod = call(DETECTORS[name.strip()], read_settings(name, settings), name)
    return made


def fit_detector(victim: Victim, card: DetectorCard, texts: FitTexts) -> Detector:
    """Fit a detector on most of the examples, and fix its threshold on the clean texts of the others.

    A method that learns from adversarial texts sees each with its original, so that it learns what an attack changes
    and not which texts can be attacked with success.
    """
    suspicion = parse_method(card.method)
    suspicion.check(victim)
    if suspicion.needs_attacked and len(texts.attacked) < LEAST:
        raise SettingError(
            f"{card.method} learns from adversarial texts, and the attack found {len(texts.attacked)}; at least "
            f"{LEAST} are wanted: take more texts (--n) or another --attack"
        )
    parts = cut_held_out(card, texts)
    learns, rest = set(parts.learns), set(parts.held)
    pairs = [(texts.clean[id], fields) for id, fields in texts.attacked if id in learns]
    lessons = Lessons(
        clean=cut_up([clean for clean, _ in pairs] or [texts.clean[id] for id in parts.learns]),
        attacked=cut_up([fields for _, fields in pairs]),
        corpus=parts.corpus,
    )
    made = Detector(card=card, suspicion=suspicion, learnt=suspicion.learn(victim, lessons))
    held = cut_up([texts.clean[id] for id in parts.held])
    exact = victim.rounding > 0  # without rounding the fast path gives what `predict` gives
    scores = made.judge(victim, held, exact=exact)
    others = cut_up([fields for id, fields in texts.attacked if id in rest])
    found = made.judge(victim, others, exact=exact)
    return replace(
        made,
        card=replace(
            _fix_threshold(card, parts, scores),
            clean=len(lessons.clean), attacked=len(lessons.attacked), held_out=len(held),
            auc=find_auc(scores.tolist(), found.tolist()).value if len(found) else None,
        ),
    )  # fmt: skip


def cut_held_out(card: DetectorCard, texts: FitTexts) -> FitParts:
    """Cut the texts into those to learn from and those held out; raise where the victim misses `least_accuracy`."""
    if len(texts.clean) < 2 * LEAST:
        raise SettingError(f"a threshold needs at least {2 * LEAST} clean texts, got {len(texts.clean)}; raise --n")
    parts = cut_texts(texts, counts=parse_method(card.method).counts_words)
    if not parts.held:
        raise SettingError(f"a threshold needs clean texts that differ; too few of these {len(texts.clean)} do")
    least, has = card.least_accuracy, Rate(len(parts.right), len(parts.right) + len(parts.wrong))
    if least is not None and has.hits < count_wanted(has.total, least):
        raise SettingError(
            f"--least-accuracy {least:g} is more than {card.victim} has without a detector: it answers {has} of the "
            "held-out texts rightly"
        )
    return parts


def _fix_threshold(card: DetectorCard, parts: FitParts, scores: Numbers) -> DetectorCard:
    """Return the card with its threshold and what that costs in accuracy; `scores` are those of held-out texts."""
    own, total = set(parts.right), len(parts.right) + len(parts.wrong)
    right = scores[[id in own for id in parts.held]]
    least, allowed = card.least_accuracy, card.false_positives
    if least is None:
        threshold = find_threshold(scores.tolist(), allowed)
    else:
        threshold = find_strictest(right.tolist(), total, least)
        allowed = round(float((scores > threshold).mean()), 4)
    low, high = np.quantile(scores, (0.25, 0.75)).tolist()
    return replace(
        card, threshold=threshold, false_positives=allowed, scale=max((high - low) / 1.349, 1e-6),
        right=Rate(len(right), total), left=Rate(int((right <= threshold).sum()), total),
    )  # fmt: skip


def read_detector(folder: Path) -> Detector:
    """Read the detector of a folder; a cached one is returned until its card changes."""
    path = folder / CARD
    if not path.is_file():
        raise SettingError(
            f"{folder} holds no detector; fit one with: malaprop detect fit METHOD --victim VICTIM --out {folder}"
        )
    return _read(folder.resolve(), os.stat(path).st_mtime_ns)


@lru_cache(maxsize=4)
def _read(folder: Path, changed: int) -> Detector:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    from malaprop.core.codec import decode

    del changed
    try:
        whole = (folder / CARD).read_bytes()
        card = decode(DetectorCard, json.loads(whole))
        stored = (folder / ARRAYS).read_bytes()
        words: Mapping[str, list[str]] = json.loads((folder / WORDS).read_text(encoding="utf-8"))
        learnt = Learnt(load(stored), words)
    except (OSError, ValueError, RecordError, SafetensorError) as error:
        what = f"{folder} is not a complete detector ({error})"
        raise SettingError(f"{what}; fit it again with malaprop detect fit") from None
    if card.format > FORMAT:
        raise SettingError(f"{folder} was written by a newer version of malaprop; update it, or fit it again")
    if card.format < FORMAT:
        raise SettingError(f"{folder} was written by an older version of malaprop; fit it again: malaprop detect fit")
    state = blake2b(whole + stored, digest_size=8).hexdigest()
    return Detector(card=card, suspicion=parse_method(card.method), learnt=learnt, state=state)


def place_kept(method: str, victim: Victim) -> Path:
    """Return the cache folder of a detector, named by its method, settings other than defaults, and victim."""
    marks = (_take_name(method), mark_settings(method), _mark_victim(victim))
    return cache_root() / "detectors" / "-".join(filter(None, marks))


def find_kept(method: str, victim: Victim) -> Path | None:
    """Return the folder of the cached detector with these settings; None where there is none.

    Before settings had folders of their own, the last detector of a method lay in that of the default ones.
    """
    places = (place_kept(method, victim), place_kept(_take_name(method), victim))
    return next((place for place in places if _holds(place, method)), None)


def list_kept(method: str, victim: Victim) -> list[str]:
    """List the cached detectors of this method for a victim, with their settings as they were typed."""
    places = (cache_root() / "detectors").glob(f"{_take_name(method)}-*{_mark_victim(victim)}")
    found = (_read_method(place) for place in sorted(places))
    return [one for one in found if one and _take_name(one) == _take_name(method)]


def mark_settings(method: str) -> str:
    """Return a digest of a method's settings, the same however they are typed; empty for the defaults."""
    name, *typed = method.split(":")
    usual = {key: _unify(one.default) for key, one in signature(DETECTORS[name.strip()]).parameters.items()}
    given = {key: _unify(value) for key, value in read_settings(name, typed).items()}
    own = sorted((key, repr(value)) for key, value in given.items() if key not in usual or usual[key] != value)
    return blake2b(repr(own).encode(), digest_size=6).hexdigest() if own else ""


def _unify(value: Any) -> Any:
    """Return a number as a float, so that 50 equals 50.0; anything else as it is."""
    return float(value) if isinstance(value, (int, float)) else value


def _take_name(method: str) -> str:
    return method.partition(":")[0].strip()


def _mark_victim(victim: Victim) -> str:
    """Return the fingerprint of a victim, or a digest of its name where it has none."""
    return victim.fingerprint or blake2b(victim.name.encode(), digest_size=8).hexdigest()


def _holds(folder: Path, method: str) -> bool:
    """Return whether a folder has a detector with these settings; a damaged one counts, and reading it raises."""
    if not (folder / CARD).is_file():
        return False
    said = _read_method(folder)
    return not said or mark_settings(said) == mark_settings(method)


def _read_method(folder: Path) -> str:
    """Return the method of a detector as it was typed; empty where its card cannot be read."""
    try:
        return str(json.loads((folder / CARD).read_text(encoding="utf-8"))["method"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
