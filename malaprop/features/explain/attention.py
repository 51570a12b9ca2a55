"""Compares attention and states of a victim before and after a change, for one text and as means over many.

`variation` measures how far one changed word moves the states, by word and layer and as a whole (R_e).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malaprop.attacks.attack import Attack
from malaprop.core.capability import Capability, check
from malaprop.core.codec import finite
from malaprop.core.errors import CapabilityError, DataError, SettingError, VictimError
from malaprop.core.example import Example
from malaprop.core.pool import Pool
from malaprop.core.score import Flags, Floats, winner
from malaprop.core.seeds import generator
from malaprop.core.text import Ints, Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.data.base import Dataset
from malaprop.features.explain.record import (
    AttentionExample,
    AttentionLayer,
    AttentionMean,
    AttentionModel,
    AttentionRecord,
    Row,
)
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.runs.local import run
from malaprop.models.embeddings import L1
from malaprop.models.inside import Maps, WordAttention, WordStates

Z95 = 1.959964  # the normal's 97.5% point


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Movement:
    """The change of one layer's states: `by_word` is the L2 norm of the change of each word's state.

    `relative` is R_e = |z - z'| / |z| with the states of all words as one vector z. `elsewhere` and `reach` say how far
    the change is spread, see `malaprop.features.explain.record.AttentionLayer`; they are nan where no state moved.
    """

    by_word: Floats
    relative: float
    elsewhere: float
    reach: float


def variation(states: WordStates, origin: Text, final: Text) -> list[Movement]:
    """Measure the change of each layer, beginning with the input of the first."""
    slots = final.changed(origin)
    both = zip(states.words(origin), states.words(final), strict=True)
    return [measure_movement(before, after, slots) for before, after in both]


def measure_movement(before: Floats, after: Floats, changed: Ints) -> Movement:
    """Measure the change of one layer's states; words that the victim does not read on both sides are left out."""
    read: Flags = np.asarray(np.isfinite(before).all(1) & np.isfinite(after).all(1), np.bool_)
    by_word = np.where(read, np.linalg.norm(np.where(read[:, None], after - before, 0), axis=1), 0).astype(np.float32)
    whole = float(np.linalg.norm(before[read]))
    total = float(by_word.sum())
    mine = float(by_word[changed].sum())
    return Movement(
        by_word=by_word,
        relative=float(np.linalg.norm(by_word)) / whole if whole else math.nan,
        elsewhere=1 - mine / total if total else math.nan,
        reach=spread(by_word) / max(1, int(read.sum())) if total else math.nan,
    )


def spread(values: Floats) -> float:
    """Return over how many values their sum is spread: the exponential of the entropy of the shares."""
    shares = values.astype(np.float64) / values.sum(dtype=np.float64)
    kept = shares[shares > 0]
    return float(np.exp(-(kept * np.log(kept)).sum()))


def pooled_variation(embeddings: L1, origin: Text, final: Text) -> float:
    """Return R_e of the vector that the classifier reads, for a victim that offers embeddings."""
    pool = Pool([Variants.itself(origin), Variants.itself(final)])
    before, after = embeddings.vectors(pool, np.arange(2)).double().cpu().numpy()
    return float(np.linalg.norm(after - before) / np.linalg.norm(before))


def mean(values: Iterable[float]) -> AttentionMean:
    """Return the mean with a 95% interval by the normal distribution; nan values are left out."""
    kept: NDArray[np.float64] = np.asarray([v for v in values if not math.isnan(v)], np.float64)
    if not len(kept):
        return AttentionMean(math.nan, math.nan, math.nan, 0)
    value = float(kept.mean())
    half = Z95 * float(kept.std(ddof=1)) / math.sqrt(len(kept)) if len(kept) > 1 else math.inf
    return AttentionMean(value, value - half, value + half, len(kept))


def column(rows: Sequence[Sequence[Movement]], layer: int, name: str) -> AttentionMean:
    """Return the mean over all texts of one measure of one layer."""
    return mean(getattr(row[layer], name) for row in rows)


Pair = tuple[Text, Text]
_SHOWN = (Capability.STATES, Capability.ATTENTION, Capability.EMBEDDINGS)


def same_slots(origin: Text, final: Text) -> Pair:
    """Return both texts; raise unless they differ in some words and have the same number of words."""
    if origin.slots != final.slots or origin.names != final.names:
        raise DataError(
            f"the texts have {origin.slots} and {final.slots} words; positions are compared only where the second is "
            "the first with some words replaced"
        )
    if not len(final.changed(origin)):
        raise DataError("the two texts have the same words; change at least one")
    return origin, final


def measure_received(maps: Maps) -> Floats:
    """Return [layer, slot]: the share of all words' attention that each word receives, mean over heads and queries."""
    got = maps.mean((1, 2))
    return np.asarray(got / np.maximum(got.sum(1, keepdims=True), 1e-12), np.float32)


def shift(attention: WordAttention, origin: Text, final: Text) -> Floats:
    """Return [layer]: how much attention moved from some words to others, from 0 to 1 (half the L1 distance)."""
    before, after = (measure_received(attention.words(text)) for text in (origin, final))
    return np.asarray(np.abs(after - before).sum(1) / 2, np.float32)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairMeasures:
    """The measures of one pair of texts in one victim; empty for parts that the victim does not offer."""

    moved: list[Movement]
    shift: Floats
    pooled: float | None


def measure_pair(victim: Victim, origin: Text, final: Text) -> PairMeasures:
    """Measure the change of states, attention and the pooled vector between two texts."""
    states, attention, embeddings = map(victim.parts.get, _SHOWN)
    return PairMeasures(
        moved=[] if states is None else variation(states, origin, final),
        shift=np.empty(0, np.float32) if attention is None else shift(attention, origin, final),
        pooled=None if embeddings is None else pooled_variation(embeddings, origin, final),
    )


def average_over_texts(victim: Victim, pairs: Sequence[Pair], edits: str) -> AttentionModel:
    """Return the means over all pairs of texts.

    A layer's attention is the one that computes it, so layer 0 has none. An LSTM with attention attends once, over its
    last layer, which gets its shift.
    """
    looks = [measure_pair(victim, origin, final) for origin, final in pairs]
    rows = [one.moved for one in looks]
    many = min((len(row) for row in rows), default=0)
    attending = min((len(one.shift) for one in looks), default=0)
    layers = []
    for number in range(many):
        at = number - (many - attending)
        layers.append(
            AttentionLayer(
                number=number,
                relative=column(rows, number, "relative"),
                elsewhere=column(rows, number, "elsewhere"),
                reach=column(rows, number, "reach"),
                shift=mean(float(one.shift[at]) for one in looks) if at >= 0 else None,
            )
        )
    pooled = [one.pooled for one in looks if one.pooled is not None]
    return AttentionModel(
        name=victim.name,
        edits=edits,
        texts=len(pairs),
        pooled=mean(pooled) if pooled else None,
        layered=mean(fmean(one.relative for one in row[1:]) for row in rows) if many > 1 else None,
        layers=tuple(layers),
    )


def compare_texts(
    victim: Victim, origin: Text, final: Text, said: tuple[str, str], layers: Sequence[int] = (0, -1)
) -> AttentionExample:
    """Return one pair of texts for figures, with the attention of the given layers."""
    states = variation(victim.parts[Capability.STATES], origin, final) if Capability.STATES in victim.parts else []
    maps = []
    if (attention := victim.parts.get(Capability.ATTENTION)) is not None:
        before, after = (attention.words(text).mean(1) for text in (origin, final))
        chosen = sorted({layer % len(before) for layer in layers})
        maps = [(layer + 1, _table(before[layer]), _table(after[layer])) for layer in chosen]
    return AttentionExample(
        model=victim.name,
        before=tuple(origin.strings),
        after=tuple(final.strings),
        changed=tuple(final.changed(origin).tolist()),
        said=said,
        maps=tuple(maps),
        variation=tuple(_line(one.by_word) for one in states),
    )


def _table(rows: Floats) -> tuple[Row, ...]:
    return tuple(map(_line, rows))


def _line(row: Floats) -> Row:
    return tuple(round(float(value), 5) for value in row)


def edit_one_word(examples: Sequence[Example], seed: int) -> list[Pair]:
    """Replace one open word of each text by a word of another text, both chosen at random by the seed."""
    table = Words()
    texts = [Text.of(example.fields, table, owner) for owner, example in enumerate(examples)]
    slots = [text.slots_of(example.open) for text, example in zip(texts, examples, strict=True)]
    words = sorted({text.strings[s].lower() for text, open_ in zip(texts, slots, strict=True) for s in open_.tolist()})
    out = []
    for example, text, open_ in zip(examples, texts, slots, strict=True):
        rng = generator(seed, f"edit {example.id}")
        if not len(open_):
            continue
        slot = int(rng.choice(open_))
        others = [word for word in words if word != text.strings[slot].lower()]
        if others:
            out.append((text, text.put(slot, others[int(rng.integers(len(others)))])))
    return out


def pairs_of(outcomes: Sequence[Outcome], data: Dataset) -> list[tuple[Pair, tuple[str, str]]]:
    """Return successes with an unchanged number of words, in the order of the data, with the answers to both texts."""
    order = {example.id: place for place, example in enumerate(data)}
    found = [o for o in sorted(outcomes, key=lambda o: order[o.id]) if o.status == "success"]
    both = [(_texts(o), _answers(o, data.labels)) for o in found]
    return [(pair, said) for pair, said in both if pair[0].slots == pair[1].slots]


def _texts(outcome: Outcome) -> Pair:
    table = Words()
    assert outcome.adversarial is not None, "only successes are passed here"
    return Text.of(outcome.original.fields, table), Text.of(outcome.adversarial.fields, table)


def _answers(outcome: Outcome, labels: Sequence[str]) -> tuple[str, str]:
    sides = (outcome.original, outcome.adversarial)
    numbers = [side.prediction if side is not None else None for side in sides]
    before, after = (labels[n] if n is not None and n < len(labels) else str(n) for n in numbers)
    return before, after


def summarize_change(record: AttentionRecord) -> dict[str, Any]:
    """Return the study's main figures as plain values for --json."""
    summary = {
        "data": record.data,
        "recipe": record.recipe,
        "texts": record.texts,
        "models": [
            {
                "name": model.name,
                "edits": model.edits,
                "texts": model.texts,
                "pooled": None if model.pooled is None else [model.pooled.value, model.pooled.low, model.pooled.high],
                "layered": None
                if model.layered is None
                else [model.layered.value, model.layered.low, model.layered.high],
                "layers": [[x.relative.value, x.relative.low, x.relative.high] for x in model.layers],
            }
            for model in record.models
        ],
        "bounds": [{"where": b.where, "bound": b.bound, "mean": b.mean, "over": b.over} for b in record.bounds],
    }
    found: dict[str, Any] = finite(summary)
    return found


def compare_inside(
    victim: Victim,
    source: str | Mapping[str, str],
    *,
    against: str | None,
    attack: Attack | None,
    seed: int = 0,
    label: int | None = None,
    attention: bool = False,
) -> AttentionExample | None:
    """Compare the victim's attention and states on a text and a second one, given as `against` or found by `attack`.

    Without a second text it shows the first alone. None where the attack finds no adversarial text.
    """
    if attention:
        if Capability.ATTENTION not in victim.offers:
            raise CapabilityError(
                f"{victim.name} offers no attention, only {', '.join(sorted(victim.offers))}; use BiLSTM-Attention, "
                "Transformer-3, their versions for pairs, BERT or another transformer"
            )
    elif not {Capability.ATTENTION, Capability.STATES} & victim.offers:
        raise CapabilityError(
            f"{victim.name} offers neither attention nor states, only {', '.join(sorted(victim.offers))}; use a model "
            "of the zoo or a transformer"
        )
    table = Words()
    origin = Text.of(source, table)
    final = origin
    if against is not None:
        final = Text.of(against if isinstance(source, str) else {**source, origin.names[-1]: against}, table)
        same_slots(origin, final)
    elif attack is not None:
        found = _attack(victim, origin, attack, seed, label)
        if found is None:
            return None
        final = Text.of(found, table)
        same_slots(origin, final)
    return compare_texts(victim, origin, final, _answer(victim, origin, final))


def _answer(victim: Victim, *texts: Text) -> tuple[str, str]:
    names = victim.label_names
    answers = [winner(answer) for answer in victim.predict([text.values() for text in texts])]
    before, after = (names[n] if n < len(names) else str(n) for n in answers)
    return before, after


def _attack(victim: Victim, origin: Text, attack: Attack, seed: int, label: int | None) -> Mapping[str, str] | None:
    """Return the adversarial text's fields, or None; `label` must be the victim's answer if it is given."""
    check(attack.name, attack.needs, victim.name, victim.offers)
    (answer,) = victim.predict([origin.values()])
    says = winner(answer)
    if label is not None and label != says:
        raise SettingError(f"{victim.name} answers {says} and not label {label}, so there is nothing to attack")
    example = Example("explained", origin.fields, says, origin.names[-1:])
    (outcome,) = run(attack, victim, [example], seed=seed)
    if outcome.status == "error":
        raise VictimError(f"{attack.name} on {victim.name}: {outcome.reason}")
    return outcome.adversarial.fields if outcome.status == "success" and outcome.adversarial else None
