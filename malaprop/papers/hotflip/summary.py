"""The HotFlip study: which attacks it runs on which models, and its figures (Figure 1, Table 2, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.store import read_outcomes
from malaprop.frame.records.summary import Rate, Spread, Summary
from malaprop.models.tokens.vocab import SPECIAL
from malaprop.papers.hotflip.record import (
    GREEDY_FLIPS,
    Curve,
    HotFlipChange,
    HotFlipRecord,
    ModelResult,
    NearestWords,
    SpeedComparison,
)
from malaprop.training.card import read_card, spec_name

if TYPE_CHECKING:
    from torch import Tensor


NEAREST = 5


def find_edited_words(outcomes: Iterable[Outcome], *, cased: bool = False) -> list[tuple[str, str]]:
    """Return the edited words of successes before and after, each pair once, most frequent first.

    They are in lower case unless the model reads capitals.
    """
    pairs = ((edit.before, edit.after) for o in outcomes if o.status == "success" for edit in o.edits)
    counts = Counter((a, b) if cased else (a.lower(), b.lower()) for a, b in pairs)
    return [pair for pair, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if all(pair)]


def neighbours(
    folder: Path, pairs: Sequence[tuple[str, str]], *, device: str = "cpu"
) -> tuple[list[NearestWords], Rate]:
    """Return the words nearest to each word and to its edited form, and how many edited forms moved away.

    Nearness is the cosine at the output of the highway layers. A word has moved if the original is not among the five
    words nearest to its edited form; the list has only moved words. Before the edit, a word is not its own neighbour.
    """
    import torch
    from torch.nn.functional import normalize

    from malaprop.zoo import checkpoint
    from malaprop.zoo.gradients.characters import embedding_of

    words = embedding_of(checkpoint.load(folder)[1].to(device))
    vocab = words.vocab
    assert vocab is not None
    known = vocab.size
    pairs = [(a, b) for a, b in pairs if vocab.index.get(a, known) < known]
    if not pairs:
        return [], Rate(0, 0)
    with torch.no_grad():
        table = normalize(words.table()[:known].float(), dim=1)
        after = normalize(words(words.extend([b for _, b in pairs])).float(), dim=1)
        own = words.extend([a for a, _ in pairs])
        far = _closest(after @ table.T)
        near = _closest((table[own] @ table.T).scatter(1, own[:, None], -2))
    named = vocab.words
    found, moved = [], 0
    for (word, edited), own_number, a, b in zip(pairs, own.tolist(), near, far, strict=True):
        if own_number in b:
            continue
        moved += 1
        found.append(
            NearestWords(word=word, edited=edited, before=tuple(named[i] for i in a), after=tuple(named[i] for i in b))
        )
    return found, Rate(moved, len(pairs))


def _closest(cosines: Tensor) -> list[list[int]]:
    """Return the numbers of the nearest words, special words left out."""
    cosines[:, : len(SPECIAL)] = -2
    found: list[list[int]] = cosines.topk(min(NEAREST, cosines.shape[1]), dim=1).indices.tolist()
    return found


def confidence(outcome: Outcome) -> float:
    """Return the victim's probability of its wrong label for the adversarial text; 0 if the label is right."""
    side = outcome.adversarial
    if side is None or side.prediction is None or side.prediction == outcome.label:
        return 0.0
    return float(side.scores[side.prediction])


def success_at(outcomes: Sequence[Outcome], least: float) -> Rate:
    """Return the attack success rate; a success has a wrong label with at least this probability."""
    attacked = [o for o in outcomes if o.status in ("success", "failed")]
    return Rate(sum(confidence(o) >= least and confidence(o) > 0 for o in attacked), len(attacked))


def curve(attack: str, runs: Mapping[float, Sequence[Outcome]], points: Sequence[float]) -> Curve:
    """Return one attack's success rate at each confidence in `points`.

    Each run in `runs` had to reach one confidence. A point is computed from the run that had to reach this confidence,
    or the next higher one: the path of a search does not depend on where it stops, so a text found for a higher
    confidence also counts for a lower one. Points above the highest run are left out.
    """
    found = []
    for point in sorted(points):
        high_enough = [floor for floor in runs if floor >= point]
        if high_enough:
            found.append((point, success_at(runs[min(high_enough)], point)))
    return Curve(attack=attack, points=tuple(found))


OPERATIONS = ("flip", "insert", "delete")


def operations(before: str, after: str) -> Counter[str]:
    """Count the fewest flips, insertions and deletions from one word to the other; of equally few, most flips."""
    # rows[j]: (edits, -flips, flips, inserts, deletes) that turn what was read of `before` into after[:j]
    row = [(j, 0, 0, j, 0) for j in range(len(after) + 1)]
    for i, old in enumerate(before, 1):
        last, row = row, [(i, 0, 0, 0, i)]
        for j, new in enumerate(after, 1):
            edits, less, flips, inserts, deletes = last[j - 1]
            same = last[j - 1] if old == new else (edits + 1, less - 1, flips + 1, inserts, deletes)
            row.append(min(same, _plus(row[j - 1], insert=1), _plus(last[j], delete=1)))
    _, _, flips, inserts, deletes = row[-1]
    return Counter({"flip": flips, "insert": inserts, "delete": deletes})


def _plus(cell: tuple[int, int, int, int, int], insert: int = 0, delete: int = 0) -> tuple[int, int, int, int, int]:
    edits, less, flips, inserts, deletes = cell
    return edits + 1, less, flips, inserts + insert, deletes + delete


def of_outcome(outcome: Outcome) -> Counter[str]:
    """Count all operations of one outcome's edits."""
    total: Counter[str] = Counter()
    for edit in outcome.edits:
        total += operations(edit.before, edit.after)
    return total


def changed_characters(outcome: Outcome) -> float:
    """Return the operations as a share of the original's characters without white space."""
    many = sum(not char.isspace() for value in outcome.original.fields.values() for char in value)
    return of_outcome(outcome).total() / max(1, many)


PLAIN = "plain"
SEARCHES = {"beam": "hotflip-char", "greedy": "hotflip-char-greedy", "key-star": "key*"}
POINTS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
# Greedy search with all three operations on the first --exact texts: edits chosen by the exact loss (True) or by the
# gradient's estimate (False).
EXACT_OR_ESTIMATED = {"few-edits-exact": True, "few-edits": False}
SHOWN = 8  # words of the table of neighbours
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {  # search and settings of variants of an attack
    GREEDY_FLIPS: ("greedy", {"operations": "flip"}),
    "beam-flip-delete": ("beam", {"operations": "flip,delete"}),
    "beam-flip-insert": ("beam", {"operations": "flip,insert"}),
    "beam-neighbours": ("beam", {"closes": "neighbours"}),
    "beam-two-a-word": ("beam", {"per_word": 2}),
    "beam-flips-two-a-word": ("beam", {"operations": "flip", "per_word": 2}),
    "beam-one-a-word": ("beam", {"closes": "word"}),
    "beam-anchored": ("beam", {"anchored": True}),
    "beam-wide": ("beam", {"width": 30}),
}
# variants that bound the edits of one word; if an edit locks the whole word, they are the plain searches
PER_WORD = ("beam-two-a-word", "beam-flips-two-a-word", "beam-one-a-word")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One attack on one of the models; with `few` on the first `--exact` texts alone."""

    model: str
    name: str
    recipe: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    few: bool = False

    def folder(self, root: Path) -> Path:
        return root / "runs" / self.model / self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFlipDesign:
    """The design of a study: its models (the plain one and one for each training method) and their attacks.

    `confidences` are the probabilities of a wrong label that attacks must reach. `vary` names variants of the attacks
    on the plain model.
    """

    methods: tuple[str, ...]
    vary: tuple[str, ...] = ()
    confidences: tuple[float, ...] = (0.0, 0.5, 0.9)
    width: int = 10
    exact: int = 0  # how many texts are also attacked with exact losses
    closes: str = "word"  # what may not be edited again after an edit: the word or the character

    @property
    def models(self) -> tuple[str, ...]:
        return PLAIN, *self.methods

    def cells(self) -> Iterator[Cell]:
        """Yield the attacks, the longest first, so that workers finish at about the same time."""
        if self.exact:
            for name, exact in (("few-exact", True), ("few", False)):
                settings: dict[str, Any] = {"exact": exact, "operations": "flip"}
                yield Cell(model=PLAIN, name=name, recipe=SEARCHES["greedy"], settings=settings, few=True)
            for name, exact in EXACT_OR_ESTIMATED.items():
                settings = {"exact": exact}  # whatever --closes says, these two edit a word once
                yield Cell(model=PLAIN, name=name, recipe=SEARCHES["greedy"], settings=settings, few=True)
        for model in self.models:
            settings = {"width": self.width, "operations": "flip", **self._closing}
            yield Cell(model=model, name="flips", recipe=SEARCHES["beam"], settings=settings)
        for search in SEARCHES:
            for floor in sorted(self.confidences, reverse=True):
                yield self.search(search, floor)
        yield from map(self.variant, self.variants)

    @property
    def variants(self) -> tuple[str, ...]:
        """The names of the variants: greedy flips always, then those of `vary`."""
        return tuple(dict.fromkeys((GREEDY_FLIPS, *self.vary)))

    def variant(self, name: str) -> Cell:
        """Return a variant of an attack on the plain model; any wrong label is a success."""
        search, varied = VARIANTS[name]
        plain = self.search(search, 0.0)
        return Cell(model=PLAIN, name=name, recipe=plain.recipe, settings={**plain.settings, **varied})

    @property
    def _closing(self) -> dict[str, Any]:
        return {} if self.closes == "word" else {"closes": self.closes}

    def search(self, search: str, floor: float) -> Cell:
        """Return the attack by one of the three searches on the plain model."""
        settings: dict[str, Any] = {"confidence": floor} if floor else {}
        if search == "beam":
            settings["width"] = self.width
        if search != "key-star":
            settings |= self._closing
        return Cell(model=PLAIN, name=f"{search}-{floor:g}", recipe=SEARCHES[search], settings=settings)


def gather(root: Path, plan: HotFlipDesign, *, data: str, device: str = "cpu") -> HotFlipRecord:
    """Build the record from the runs and models on disk."""
    runs = {
        search: {floor: read_outcomes(plan.search(search, floor).folder(root)) for floor in plan.confidences}
        for search in SEARCHES
    }
    beam = runs["beam"]
    card = read_card(root / "models" / PLAIN)
    pairs = find_edited_words(
        (o for outcomes in beam.values() for o in outcomes), cased=bool(card.shape.get("cased", False))
    )
    table, moved = neighbours(root / "models" / PLAIN, pairs, device=device)
    return HotFlipRecord(
        model=spec_name(**card.spec),
        data=data,
        texts=max(map(len, beam.values())),
        curves=tuple(curve(_show(search), found, POINTS) for search, found in runs.items()),
        changes=tuple(
            _change(_show(search), floor, outcomes)
            for search, found in runs.items()
            for floor, outcomes in sorted(found.items())
        ),
        hardened=tuple(_read_model_result(root, model) for model in plan.models),
        neighbours=tuple(_take_distinct(table)),
        moved=moved,
        economy=_compare_speed(root) if plan.exact else None,
        ranked=tuple(_change(name, 0.0, _read_few(root, name)) for name in EXACT_OR_ESTIMATED) if plan.exact else (),
        varied=tuple(_change(name, 0.0, read_outcomes(plan.variant(name).folder(root))) for name in plan.variants),
    )


def _show(search: str) -> str:
    return search.replace("-star", "*")


def _change(attack: str, floor: float, outcomes: Sequence[Outcome]) -> HotFlipChange:
    won = [o for o in outcomes if o.status == "success"]
    total: Counter[str] = Counter()
    for outcome in won:
        total += of_outcome(outcome)
    return HotFlipChange(
        attack=attack,
        confidence=floor,
        success=Summary.of(outcomes).success,
        share=Spread.of(changed_characters(o) for o in won),
        operations={name: total[name] for name in OPERATIONS},
        picked=_count_picked(outcomes),
        most_in_a_word=Spread.of(o.measures[_MOST] for o in outcomes if _MOST in o.measures).mean,
    )


_MOST = "most_in_a_word"


def _count_picked(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Add up the operations that the search made in successes and failures; empty if it did not count them."""
    counted = [o.measures for o in outcomes if f"picked_{OPERATIONS[0]}" in o.measures]
    return {name: round(sum(one[f"picked_{name}"] for one in counted)) for name in OPERATIONS if counted}


def _read_model_result(root: Path, model: str) -> ModelResult:
    card = read_card(root / "models" / model)
    tested, epochs = int(card.figures["test_rows"]), int(card.figures["epochs"])
    outcomes = read_outcomes(Cell(model=model, name="flips", recipe="").folder(root))
    return ModelResult(
        name=model,
        about=card.about,
        error=Rate(round((1 - card.figures["test_accuracy"]) * tested), tested),
        success=success_at(outcomes, 0.0),
        epochs=epochs,
        epoch_seconds=card.figures["seconds"] / max(1, epochs),
        validation=card.figures.get("validation_accuracy"),
    )


def _take_distinct(found: Sequence[NearestWords]) -> Iterator[NearestWords]:
    """Yield the first SHOWN lines, at most one for each word; words of one or two letters are left out."""
    seen: set[str] = set()
    for line in found:
        if line.word not in seen and len(line.word) > 2 and len(seen) < SHOWN:
            seen.add(line.word)
            yield line


def _compare_speed(root: Path) -> SpeedComparison:
    quick, exact = (_read_few(root, name) for name in ("few", "few-exact"))
    return SpeedComparison(
        success=Summary.of(quick).success,
        exact_success=Summary.of(exact).success,
        seconds=_wall(quick),
        exact_seconds=_wall(exact),
    )


def _read_few(root: Path, name: str) -> list[Outcome]:
    return read_outcomes(Cell(model=PLAIN, name=name, recipe="").folder(root))


def _wall(outcomes: Sequence[Outcome]) -> float:
    """Return the wall time of a run in which all texts start together: the time of the slowest."""
    return max((o.seconds for o in outcomes), default=0.0)
