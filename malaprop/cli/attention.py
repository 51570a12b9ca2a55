"""The work of malaprop study attention: texts that all victims answer rightly, attacked and looked into."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from malaprop.analysis.attention import Pair, over_texts, sight
from malaprop.analysis.theorem import simulate, trained
from malaprop.attacks.attack import Attack
from malaprop.cli.options import say, slug, tell
from malaprop.core.capability import Capability, check
from malaprop.core.errors import DataError, SettingError
from malaprop.core.example import Example
from malaprop.core.score import winner
from malaprop.core.seeds import generator
from malaprop.core.text import Text, Words
from malaprop.core.victim import Victim
from malaprop.data.base import Dataset
from malaprop.data.matching import agree
from malaprop.records.attention import AttentionStudy, Bound, Model
from malaprop.records.codec import finite
from malaprop.records.outcome import Outcome
from malaprop.records.store import check_writable
from malaprop.runs.folder import run_to_folder
from malaprop.studies.selection import Selection

DIMS, WORDS, DELTAS = (16, 64, 256, 1024), (10, 40), (0.5, 2.0)
SHOWN = 1  # texts in figures, of each victim
_CHUNK = 256  # texts asked at a time
Attacked = tuple[Pair, tuple[str, str]]  # both texts, and what was said of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the command was told; `draws` are those of the simulation, 0 for none."""

    root: Path
    models: Sequence[str]
    texts: Selection
    recipe: Attack
    width: int
    device: str
    draws: int = 200
    quiet: bool = False

    def study(self) -> AttentionStudy:
        """Runs what is not there yet, and gives the record over all."""
        if not self.models:
            raise SettingError("--models names no model")
        check_writable(self.root)
        victims = [self._open(spec) for spec in self.models]
        for victim in victims:
            check("study attention", (Capability.STATES,), victim.name, victim.offers)
            check(self.recipe.name, self.recipe.needs, victim.name, victim.offers)
        data = self._right(victims)
        say(f"{len(data)} texts that all of {len(victims)} models answer rightly", self.quiet)
        shared = edited(data.examples, self.texts.seed)
        record = AttentionStudy(
            data=data.name,
            recipe=self.recipe.name,
            texts=len(data),
            bounds=tuple(simulated(self.draws, self.texts.seed)) if self.draws else (),
        )
        for spec, victim in zip(self.models, victims, strict=True):
            record = self._seen(record, victim, self._attacked(victim, data, spec), shared)
            record.write(self.root)  # what is known so far, if the rest is killed
        return record

    def _seen(
        self, record: AttentionStudy, victim: Victim, own: Sequence[Attacked], shared: list[Pair]
    ) -> AttentionStudy:
        """The record with one victim more."""
        fresh = (
            over_texts(victim, [pair for pair, _ in own], self.recipe.name),
            over_texts(victim, shared, "a random word"),
        )
        for model in fresh:
            say(_told(model), self.quiet)
        bound = trained(victim.name, victim.parts.get(Capability.STATES), shared)
        return replace(
            record,
            models=(*record.models, *fresh),
            sights=(*record.sights, *(sight(victim, *pair, said) for pair, said in own[:SHOWN])),
            bounds=record.bounds if bound is None else (*record.bounds, bound),
        )

    def _open(self, spec: str) -> Victim:
        from malaprop.runs.victims import victim

        return victim(spec, device=self.device, quiet=self.quiet)

    def _right(self, victims: Sequence[Victim]) -> Dataset:
        """The first texts, in the order of the seed, to which every victim gives the true label."""
        whole = replace(self.texts, n=0).held(self.models)
        tell(whole.notes, self.quiet)
        kept: list[Example] = []
        for at in range(0, len(whole), _CHUNK):
            part = whole.examples[at : at + _CHUNK]
            right = [True] * len(part)
            for victim in victims:
                turned = agree(replace(whole, examples=part), victim).examples
                answers = victim.predict([tuple(e.fields.values()) for e in part])
                right = [r and winner(a) == e.label for r, a, e in zip(right, answers, turned, strict=True)]
            kept += [example for example, fine in zip(part, right, strict=True) if fine]
            if len(kept) >= self.texts.n:
                break
        if not kept:
            raise DataError(f"no text of {whole.name} is answered rightly by all models; give better models")
        return replace(whole, examples=tuple(kept[: self.texts.n]))

    def _attacked(self, victim: Victim, data: Dataset, spec: str) -> list[Attacked]:
        """Successes that leave the number of words as it is, with what the victim said of both texts."""
        folder = self.root / slug(spec) / slug(self.recipe.name)
        turned = agree(data, victim)
        outcomes = run_to_folder(
            self.recipe, victim, turned, folder, seed=self.texts.seed, width=self.width, resume=folder.is_dir()
        )
        order = {example.id: place for place, example in enumerate(turned)}
        found = [o for o in sorted(outcomes, key=lambda o: order[o.id]) if o.status == "success"]
        both = [(_texts(o), _said(o, turned.labels)) for o in found]
        return [(pair, said) for pair, said in both if pair[0].slots == pair[1].slots]


def _texts(outcome: Outcome) -> Pair:
    table = Words()
    assert outcome.adversarial is not None, "asked of successes"
    return Text.of(outcome.original.fields, table), Text.of(outcome.adversarial.fields, table)


def _said(outcome: Outcome, labels: Sequence[str]) -> tuple[str, str]:
    sides = (outcome.original, outcome.adversarial)
    numbers = [side.prediction if side is not None else None for side in sides]
    before, after = (labels[n] if n is not None and n < len(labels) else str(n) for n in numbers)
    return before, after


def _told(model: Model) -> str:
    last = model.layers[-1].relative if model.layers else None
    return f"{model.name}, {model.edits}: R_e of the last layer {last}, of the vector read {model.pooled}"


def edited(examples: Sequence[Example], seed: int) -> list[Pair]:
    """Every text with one of its open words replaced by a word of another text, drawn by the seed."""
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


def simulated(draws: int, seed: int) -> list[Bound]:
    """Theorem 1 over dimensions, numbers of words and lengths of the change, and its tightest case."""
    rows = [simulate(dim, WORDS[1], DELTAS[0], draws=draws, seed=seed) for dim in DIMS]
    rows += [simulate(DIMS[2], WORDS[0], DELTAS[0], draws=draws, seed=seed)]
    rows += [simulate(DIMS[2], WORDS[1], DELTAS[1], draws=draws, seed=seed)]
    return [*rows, simulate(DIMS[2], WORDS[1], DELTAS[0], draws=draws, seed=seed, identity=True)]


def summary_of(record: AttentionStudy) -> dict[str, Any]:
    """The study in few values, for machines."""
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
