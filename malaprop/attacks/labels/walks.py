"""Walks along the border that learn from the labels of a few random texts which words bring the text nearer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.labels.border import Border
from malaprop.attacks.labels.start import RandomStart
from malaprop.attacks.trial import Held, Space, Trial
from malaprop.core.ask import Steps
from malaprop.core.errors import SettingError
from malaprop.core.score import Floats, ranked
from malaprop.core.text import Ints, Text
from malaprop.core.variants import Variants

_ROUNDING = 1e-5  # rounding of vectors and of estimates from them; smaller differences decide nothing


class Step(Protocol):
    """One step of a walk: queries some texts and moves the border's text if one of them is nearer."""

    def take(self, border: Border) -> Steps[None]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixStep:
    """Ye et al. 2022 (TextHoaxer): the changes of all words are one matrix of vectors, which moves as a whole.

    `draws` random directions of length `reach` are added to it, and the texts nearest to the sums are queried. The
    value of each is its similarity less `weight` times the mean length of its changes, or 0 where the label does not
    turn; the matrix moves by `reach` along the slope of these values, and the text nearest to it is queried too.
    """

    draws: int = 5
    reach: float = 2.0
    weight: float = 0.1

    def __post_init__(self) -> None:
        if self.draws < 2 or self.reach <= 0 or self.weight < 0:
            raise SettingError(
                f"MatrixStep needs draws >= 2, reach > 0 and weight >= 0, got {self.draws}, {self.reach}, {self.weight}"
            )

    def take(self, border: Border) -> Steps[None]:
        places, text = border.changed, border.text
        now = np.stack([border.vectors[p][border.chosen(p)] for p in places.tolist()])  # [place, dim]
        noise = border.trial.rng.standard_normal((self.draws, *now.shape)).astype(np.float32)
        noise *= self.reach / np.linalg.norm(noise, axis=2, keepdims=True)
        drawn = _nearest_options(border, places, now + noise)
        seen = yield from border.advance(_texts(border, text, places, drawn))
        worth = np.where(seen.sides > 0, seen.cosines - self.weight * _mean_length(border, places, drawn), 0.0)
        slope = np.tensordot((worth - worth.mean()).astype(np.float32), noise, 1)
        size = np.linalg.norm(slope, axis=1, keepdims=True)
        if size.max() > _ROUNDING:
            moved = _nearest_options(border, places, (now + self.reach * slope / np.maximum(size, _ROUNDING))[None])
            yield from border.advance(_texts(border, text, places, moved))


@dataclass(frozen=True, slots=True, kw_only=True)
class LeapStep:
    """Ye et al. 2022 (LeapAttack): exchanges one changed word, likelier the farther it is from the original one.

    `draws` of its options are queried; the side of the border on which each lies gives the slope of the border. Of the
    options that are nearer to the original word the `tries` that lie farthest up the slope are queried.
    """

    draws: int = 5
    tries: int = 3

    def __post_init__(self) -> None:
        if min(self.draws, self.tries) < 1:
            raise SettingError(f"LeapStep needs draws and tries of at least 1, got {self.draws} and {self.tries}")

    def take(self, border: Border) -> Steps[None]:
        place = _draw_place(border)
        options, now = border.vectors[place], border.chosen(place)
        drawn = _draw_options(border, place, self.draws)
        variants = border.put(place, drawn)
        nearer = np.flatnonzero(_apart(options, 0) < _apart(options, now)[0] - _ROUNDING)
        onward = border.put(place, nearer)
        seen = yield from border.advance(variants)
        slope = seen.sides.astype(np.float32) @ _unit(options[drawn] - options[now])
        order = ranked((options[nearer] - options[now]) @ slope, slack=_ROUNDING)[: self.tries]
        yield from border.advance(onward.keep(np.isin(np.arange(len(nearer)), order)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionStep:
    """Liu et al. 2023 (HQA-Attack): exchanges one changed word, likelier the farther it is from the original one.

    `draws` of its options are queried. Those that keep the label turned, weighed by their similarity, give a direction
    from the original word; the `tries` other options that lie nearest to this direction are queried.
    """

    draws: int = 5
    tries: int = 1

    def __post_init__(self) -> None:
        if min(self.draws, self.tries) < 1:
            raise SettingError(f"TransitionStep needs draws and tries of at least 1, got {self.draws} and {self.tries}")

    def take(self, border: Border) -> Steps[None]:
        place = _draw_place(border)
        options, text = border.vectors[place], border.text
        drawn = _draw_options(border, place, self.draws)
        seen = yield from border.advance(border.put(place, drawn))
        weights = np.where(seen.sides > 0, np.nan_to_num(seen.cosines), 0).astype(np.float32)
        if weights.any():
            direction = weights @ (options[drawn] - options[0])
            others = np.setdiff1d(np.arange(1, len(options)), drawn)
            order = ranked(_unit(options[others] - options[0]) @ direction, slack=_ROUNDING)[: self.tries]
            words = border.options(place)[others[np.sort(order)]]
            yield from border.advance(Variants.at(text, int(border.space.slots[place]), words))


@dataclass(frozen=True, slots=True, kw_only=True)
class BorderWalk:
    """Starts at a random text across the border, restores words, and then takes one step after the other.

    It ends when `patience` steps in a row found nothing nearer to the original, and restores words once more.
    """

    step: Step = field(default_factory=TransitionStep)
    start: RandomStart = field(default_factory=RandomStart)
    patience: int = 20

    def __post_init__(self) -> None:
        if self.patience < 0:
            raise SettingError(f"BorderWalk.patience must be at least 0, got {self.patience}")

    def steps(self, trial: Trial, start: Held, space: Space) -> Steps[Held]:
        border = yield from Border.find(trial, space, self.start)
        if border is None:
            return start
        still, first = 0, border.near
        while still < self.patience:
            near = border.near
            yield from self.step.take(border)
            still = 0 if border.near > near else still + 1
        if border.near > first:
            yield from border.restore_words()
        return border.held


def _draw_place(border: Border) -> int:
    """Draw a changed place, likelier the farther its word is from the original one."""
    places = border.changed
    far = np.round(border.distances(places), 5) + 0.01  # words without a vector have a chance too
    return int(border.trial.rng.choice(places, p=far / far.sum()))


def _draw_options(border: Border, place: int, many: int) -> Ints:
    """Draw at most `many` options of a place, neither the original word nor the present one."""
    others = np.setdiff1d(np.arange(1, len(border.options(place))), [border.chosen(place)])
    return np.sort(border.trial.rng.permutation(others)[:many])


def _nearest_options(border: Border, places: Ints, points: Floats) -> Ints:
    """Return the option [draw, place] nearest to each point [draw, place, dim]; the lower number if two are equal."""
    out = np.empty(points.shape[:2], np.int64)
    for column, place in enumerate(places.tolist()):
        options = border.vectors[place]
        fit = points[:, column] @ options.T - 0.5 * (options * options).sum(1)
        out[:, column] = (fit >= fit.max(1, keepdims=True) - _ROUNDING).argmax(1)
    return out


def _texts(border: Border, text: Text, places: Ints, choices: Ints) -> Variants:
    """Return the text with these options [draw, place] in its places, as variants."""
    words = np.stack([border.options(p)[choices[:, column]] for column, p in enumerate(places.tolist())], 1)
    rows = np.repeat(np.arange(len(choices)), len(places))
    return Variants(text, np.tile(border.space.slots[places], len(choices)), words.ravel(), rows, len(choices))


def _mean_length(border: Border, places: Ints, choices: Ints) -> NDArray[np.float64]:
    """Return the mean distance [draw] of the chosen options from the original words, over the places."""
    far = [_apart(border.vectors[p], 0)[choices[:, column]] for column, p in enumerate(places.tolist())]
    return np.asarray(np.mean(far, 0), np.float64)


def _apart(options: Floats, number: int) -> Floats:
    """Return the distance of each option from one of them."""
    return np.asarray(np.linalg.norm(options - options[number], axis=1), np.float32)


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _ROUNDING), np.float32)
