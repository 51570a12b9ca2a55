"""The protocol of a detector, which learns from texts and scores how suspicious a text is, and how it asks a victim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import groupby
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import AssetError
from malaprop.core.pool import Pool
from malaprop.core.text import Text
from malaprop.core.variants import Variants
from malaprop.core.victim import Fields, Victim, Wrapper
from malaprop.models.victims.ensemble import log_probabilities


@dataclass(frozen=True, slots=True, eq=False)
class Answered(Wrapper):
    """A victim whose answers for some unedited texts are known, so that detectors need not ask for them again.

    `known` holds log-probabilities [label]; `exact` says whether `predict` gave them. It lives as long as one answer
    of a defence. The victim inside answers direct questions; `ask` below looks at `known` first.
    """

    victim: Victim
    known: Mapping[Text, NDArray[Any]]
    exact: bool

    @property
    def inside(self) -> Victim:
        return self.victim

    def knows(self, group: Variants, *, exact: bool) -> bool:
        """Return whether the first variant is an unedited text whose answer is known from the same path."""
        itself = group.rows is not None and group.count > 0 and 0 not in group.rows
        return itself and exact == self.exact and group.base in self.known


Numbers = NDArray[np.float64]
_AT_ONCE = 1 << 14  # variants of one question to the victim
_GROUPS = 256  # texts whose variants are asked about together


@dataclass(frozen=True, slots=True, eq=False)
class Learnt:
    """The parameters that a detector has learnt, as stored: arrays and lists of words by name."""

    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lessons:
    """The texts of a fit: clean ones, adversarial ones, and a `corpus` in which words are counted."""

    clean: Sequence[Text]
    attacked: Sequence[Text]
    corpus: Sequence[Fields]

    @property
    def texts(self) -> list[Text]:
        """Return the clean texts followed by the adversarial ones."""
        return [*self.clean, *self.attacked]

    @property
    def labels(self) -> NDArray[np.int64]:
        """Return the classes of `texts`: 0 for each clean text, then 1 for each adversarial one."""
        return np.repeat([0, 1], [len(self.clean), len(self.attacked)])


class DetectionMethod(Protocol):
    """A way to score how suspicious a text is. Its fields are settings; what it learnt is handed to `score`."""

    needs_attacked: ClassVar[bool]  # whether it cannot be fitted without adversarial texts
    counts_words: ClassVar[bool]  # whether it learns word counts, from texts other than those it scores

    def check(self, victim: Victim) -> None:
        """Raise CapabilityError for a victim that lacks what this method needs."""

    def learn(self, victim: Victim, lessons: Lessons) -> Learnt: ...

    def score(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        """Return a score for each text, the larger the more suspicious. `exact` asks the victim with `predict`."""

    def count_passes(self, victim: Victim, learnt: Learnt, text: Text) -> int:
        """Return the victim's forward passes for the score of a text, not counting the answer for the text itself."""


@runtime_checkable
class Describing(DetectionMethod, Protocol):
    """A method that scores by a small classifier over features of a text; `all` learns from these features too."""

    def study(self, victim: Victim, lessons: Lessons) -> tuple[Learnt, Numbers]:
        """Return what `describe` needs, and the features of the lessons as an unseen text would have them."""

    def describe(self, victim: Victim, learnt: Learnt, texts: Sequence[Text], *, exact: bool) -> Numbers:
        """Return the features of each text, [text, feature]."""


def ask(victim: Victim, groups: Sequence[Variants], *, exact: bool) -> Numbers:
    """Return log-probabilities [variant, label] of all groups in turn; an `Answered` victim gives those it knows."""
    if not isinstance(victim, Answered):
        return _ask_all(victim, groups, exact=exact)
    served = np.asarray([victim.knows(group, exact=exact) for group in groups], np.bool_)
    counts = np.asarray([group.count for group in groups], np.int64)
    ends = np.cumsum(counts)
    wanted = np.ones(counts.sum(), np.bool_)
    wanted[(ends - counts)[served]] = False
    rest = [group.keep(flags) for group, flags in zip(groups, np.split(wanted, ends)[:-1], strict=True)]
    asked = _ask_all(victim.inside, rest, exact=exact)
    known = [victim.known[group.base] for group, here in zip(groups, served, strict=True) if here]
    if not known:
        return asked
    out = np.empty((len(wanted), len(known[0])))
    out[~wanted] = known
    if len(asked):  # an empty answer may lack the axis of labels
        out[wanted] = asked
    return out


def _ask_all(victim: Victim, groups: Sequence[Variants], *, exact: bool) -> Numbers:
    """Return log-probabilities [variant, label] from the victim, which is asked about one table of words at a time."""
    found = []
    for part in split_by_table([group for group in groups if group.count]):
        if exact:
            scores = victim.predict([text.values() for group in part for text in group.texts()])
        else:
            pool = Pool(part)
            wanted = np.arange(pool.size)
            scores = np.concatenate(
                [victim.finish(victim.begin(pool, wanted[a : a + _AT_ONCE])) for a in range(0, pool.size, _AT_ONCE)]
            )
        found.append(log_probabilities(scores))
    return np.concatenate(found) if found else np.empty((0, victim.labels or 0))


def split_by_table(groups: Sequence[Variants]) -> Iterator[list[Variants]]:
    """Yield batches of groups for one question to a victim: in order, of one table of words, `_GROUPS` at most."""
    for _, same in groupby(groups, key=lambda group: id(group.base.table)):
        whole = list(same)
        yield from (whole[begin : begin + _GROUPS] for begin in range(0, len(whole), _GROUPS))


def need_sklearn(what: str) -> None:
    """Raise AssetError where scikit-learn, which fits a part of this detector, is not installed."""
    if find_spec("sklearn") is None:
        raise AssetError(f"{what} is fitted with scikit-learn; install malaprop[sklearn]")


_MOST = 12.0  # log-odds at which leads are clipped


def find_leads(answers: Numbers, groups: Sequence[Variants]) -> Iterator[Numbers]:
    """Return the leads [variant] of each group: how far the label of its first variant is ahead of the next."""
    counts = np.asarray([group.count for group in groups], np.int64)
    ends, every = np.cumsum(counts), np.arange(len(answers))
    label = np.repeat(answers[ends - counts].argmax(1), counts)
    rest = answers.copy()
    rest[every, label] = -np.inf
    return iter(np.split(np.clip(answers[every, label] - rest.max(1), -_MOST, _MOST), ends[:-1]))
