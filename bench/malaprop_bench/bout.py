"""Measure all cells of one victim, each side run right after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from malaprop.core.catalogue import unknown
from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.core.victim import Victim
from malaprop.models.precision import ROUNDING
from malaprop_bench import own
from malaprop_bench.cell import Cell, Duel
from malaprop_bench.floor import Floor, floor, in_threads
from malaprop_bench.lowered import lowered
from malaprop_bench.measured import Measured, Row
from malaprop_bench.peer import Peer
from malaprop_bench.quality import check_measures
from malaprop_bench.roster import OPENATTACK, TEXTATTACK, find

STOCK = " (stock wrapper)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Settings that all sides of every cell share, and the precisions of our side for victims that have them."""

    n: int = 100
    threads: int = 1
    seconds: float = 30.0
    data: str = "mr"
    seed: int = 0
    width: int = 256
    repeats: int = 1
    precisions: tuple[str, ...] = ("fp32",)
    together: bool = False  # whether each tool is started once for all recipes of a victim: see `roll`
    measures: tuple[str, ...] = ()  # of successes, with `together`: see `quality`

    def __post_init__(self) -> None:
        if min(self.n, self.threads, self.repeats) < 1 or self.seconds <= 0:
            raise SettingError(
                f"bench expects n, threads and repeats of at least 1 and seconds above 0, "
                f"got {self.n}, {self.threads}, {self.repeats} and {self.seconds:g}"
            )
        check_measures(self.measures)
        for precision in self.precisions:
            if precision not in ROUNDING:
                raise unknown("precision", precision, tuple(ROUNDING))


Walk = tuple[str, int]  # of ours: the recipe as a peer walks it, and how many rows that peer had finished


@dataclass(frozen=True, slots=True)
class Round:
    """One run of every side: each peer's by its name, ours by precision and by the walk that it has to follow."""

    theirs: dict[str, Measured]
    ours: dict[str, dict[Walk, Measured]]
    reasons: dict[str, list[str]]  # by precision
    walks: dict[str, Walk]  # by the peer's name

    def pair(self, precision: str, tool: str) -> tuple[Measured, Measured]:
        return self.ours[precision][self.walks[tool]], self.theirs[tool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bout:
    """All cells of one victim. `spec` names it to every process, `rows` are texts that it gets right."""

    name: str
    spec: str
    victim: Victim
    rows: tuple[Row, ...]
    peers: Sequence[Peer]
    folder: Path
    terms: Terms

    @classmethod
    def of(cls, name: str, peers: Sequence[Peer], folder: Path, terms: Terms) -> Bout:
        spec = own.folder(name, terms.data)
        victim = own.victim(spec)
        rows = correct_rows(victim, terms.data, terms.n)
        called = Path(name).name
        return cls(name=called, spec=spec, victim=victim, rows=rows, peers=peers, folder=folder, terms=terms)

    def cells(self, recipe: str) -> Iterator[Cell]:
        """Yield a cell for each precision; the peers run once for all precisions."""
        if recipe.endswith(STOCK) and not own.has_stock(self.spec):
            return
        if not self.rows:
            yield Cell(recipe=recipe, victim=self.name, rows=(), reasons=("the victim gets no text right",))
            return
        rounds = [self._round(recipe) for _ in range(self.terms.repeats)]
        for precision in self._precisions(recipe):
            yield self._cell(recipe, precision, rounds)

    def _cell(self, recipe: str, precision: str, rounds: Sequence[Round]) -> Cell:
        reasons = tuple(dict.fromkeys(reason for r in rounds for reason in r.reasons[precision]))
        cell = Cell(recipe=recipe, victim=self.name, rows=self.rows, precision=precision, reasons=reasons)
        whole = [r for r in rounds if precision in r.ours]
        if not whole:
            return cell
        tools = dict.fromkeys(tool for r in whole for tool in r.theirs)
        duels = tuple((t, Duel.of([r.pair(precision, t) for r in whole if t in r.theirs])) for t in tools)
        ours = duels[0][1].ours if duels else next(iter(whole[0].ours[precision].values()))
        whose, texts = (duels[0][0], duels[0][1].theirs.texts) if duels else ("ours", ours.texts)
        done = self.rows[: len(ours.outcomes)]
        least = self._floor(texts, precision)
        return replace(cell, rows=done, ours=ours, duels=duels, floor=least, floor_of=whose)

    def _precisions(self, recipe: str) -> Sequence[str]:
        low = own.lower_precision(self.spec) and not recipe.endswith(STOCK)
        return [p for p in self.terms.precisions if p == "fp32" or low]

    def _round(self, recipe: str) -> Round:
        """Run the peers, then our side on as many rows as each of them finished."""
        theirs, missing = self._peers(recipe)
        walks = {tool: (walk_beside(recipe, tool), len(held.outcomes)) for tool, held in theirs.items()}
        needed = dict.fromkeys(walks.values()) or {(recipe, len(self.rows)): None}
        ours: dict[str, dict[Walk, Measured]] = {}
        reasons = {}
        for precision in self._precisions(recipe):
            reasons[precision] = list(missing)
            try:
                ours[precision] = {walk: self._ours(walk[0], self.rows[: walk[1]], precision) for walk in needed}
            except MalapropError as error:
                reasons[precision].append(plain(error))
        return Round(theirs, ours, reasons, walks)

    def _peers(self, recipe: str) -> tuple[dict[str, Measured], list[str]]:
        """Run every peer on no more rows than the one before finished; return the runs and why any is missing."""
        runs: dict[str, Measured] = {}
        reasons = []
        rows = self.rows
        for other in self.peers:
            if not other.tool.has(peers_name(recipe), stock=recipe.endswith(STOCK)):
                continue
            try:
                held = runs[other.tool.name] = self._theirs(other, recipe, rows)
                rows = rows[: len(held.outcomes)]
            except MalapropError as error:
                reasons.append(plain(error))
        return runs, reasons

    def _theirs(self, other: Peer, recipe: str, rows: Sequence[Row]) -> Measured:
        t, stock = self.terms, recipe.endswith(STOCK)
        name = peers_name(recipe)
        return other.run(self.spec, rows, name, threads=t.threads, seconds=t.seconds, seed=t.seed, stock=stock)

    def _ours(self, recipe: str, rows: Sequence[Row], precision: str) -> Measured:
        t, name = self.terms, recipe.removesuffix(STOCK)
        same = {"threads": t.threads, "seed": t.seed, "width": t.width}
        return own.run(self.spec, rows, name, self.folder, **same, precision=precision)

    def _floor(self, texts: Sequence[str], precision: str) -> Floor:
        """Time plain forward passes over the texts, in the precision of our side."""
        restore = in_threads(self.terms.threads)
        try:
            victim = self.victim if precision == "fp32" else own.victim(self.spec, precision)
            return floor(victim, texts, seconds=1.0, forward=lowered(victim))
        finally:
            restore()


def peers_name(recipe: str) -> str:
    """Return the peers' name of a recipe, without the suffixes for the wrapper and for our defaults."""
    return recipe.removesuffix(STOCK).removesuffix(own.DEFAULTS)


def walk_beside(recipe: str, tool: str) -> str:
    """Return our recipe's name; beside OpenAttack with the suffix for its variant, unless it names our defaults."""
    name = peers_name(recipe)
    if own.DEFAULTS in recipe or tool != OPENATTACK or find(TEXTATTACK, name) is None:
        return recipe
    return f"{recipe}{own.AS_OPENATTACK}"


def correct_rows(victim: Victim, data: str, n: int) -> tuple[Row, ...]:
    """Return the first `n` texts of the test split, in the order of a sample, that the victim gets right."""
    from malaprop.data import load

    def found() -> Iterator[Row]:
        examples = load(data).sample(None).examples
        for at in range(0, len(examples), 64):
            part = examples[at : at + 64]
            labels = victim.predict([tuple(e.fields.values()) for e in part]).argmax(1).tolist()
            yield from ((e.fields["text"], e.label) for e, label in zip(part, labels, strict=True) if e.label == label)

    return tuple(islice(found(), n))
