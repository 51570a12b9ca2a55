"""Measure many recipes on one victim with one start of each tool; a recipe whose file is on disk is not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from malaprop.core.errors import MalapropError, plain
from malaprop_bench import own
from malaprop_bench.bout import Terms, correct_rows, walk_beside
from malaprop_bench.cell import Cell, Duel
from malaprop_bench.forked import REASON
from malaprop_bench.measured import Measured, Row, read_rows, write_rows
from malaprop_bench.peer import Peer
from malaprop_bench.quality import measure_files

OURS = "malaprop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """Many recipes on one victim. `spec` names it to every process; `held` is the folder of its measurements."""

    name: str
    spec: str
    held: Path
    peers: Sequence[Peer]
    terms: Terms

    @classmethod
    def of(cls, name: str, peers: Sequence[Peer], held: Path, terms: Terms) -> Roll:
        spec = own.folder(name, terms.data)
        folder = held / Path(name).name
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "rows.jsonl").exists():
            write_rows(correct_rows(own.victim(spec), terms.data, terms.n), folder / "rows.jsonl")
        return cls(name=Path(name).name, spec=spec, held=folder, peers=peers, terms=terms)

    @property
    def rows(self) -> list[Row]:
        return read_rows(self.held / "rows.jsonl")

    def cells(self, recipes: Sequence[str]) -> Iterator[Cell]:
        """Run the recipes that are not on disk yet, and yield a cell for each recipe."""
        broken: list[str] = []
        for other in self.peers:
            broken += self._run_peer(other, [recipe for recipe in recipes if other.tool.has(recipe, stock=False)])
        walks = [walk for recipe in recipes for walk in self._walks(recipe)]
        missing = self._missing(OURS, walks)
        if missing:
            t = self.terms
            broken += _try(
                lambda: own.run_each(
                    self.spec, self._rows_file, missing, self.held / OURS, threads=t.threads, seed=t.seed, width=t.width
                )
            )
        files = [file for tool in (OURS, *(p.tool.name for p in self.peers)) for file in self._files(tool)]
        measure_files(files, self.rows, self.terms.measures)
        for recipe in recipes:
            yield self._cell(recipe, broken)

    def _files(self, tool: str) -> list[Path]:
        return sorted((self.held / tool).glob("*.json"))

    @property
    def _rows_file(self) -> Path:
        return self.held / "rows.jsonl"

    def _run_peer(self, other: Peer, recipes: Sequence[str]) -> list[str]:
        missing = self._missing(other.tool.name, recipes)
        if not missing:
            return []
        t, out = self.terms, self.held / other.tool.name
        settings = {"threads": t.threads, "seed": t.seed}
        return _try(lambda: other.run_each(self.spec, self._rows_file, missing, out, seconds=t.seconds, **settings))

    def _missing(self, tool: str, names: Iterable[str]) -> list[str]:
        return [name for name in dict.fromkeys(names) if not (self.held / tool / f"{name}.json").exists()]

    def _theirs(self, recipe: str) -> dict[str, Measured]:
        files = {other.tool.name: self.held / other.tool.name / f"{recipe}.json" for other in self.peers}
        return {tool: Measured.read(file) for tool, file in files.items() if file.exists()}

    def _walks(self, recipe: str) -> list[str]:
        """Return our runs for a recipe: the variant of each peer, then our defaults."""
        counts = {tool: len(held.outcomes) for tool, held in self._theirs(recipe).items()}
        walks = [f"{walk_beside(recipe, tool)}:{count}" for tool, count in counts.items()]
        first = next(iter(counts.values()), len(self.rows))
        return [*(walks or [f"{recipe}:{first}"]), f"{recipe}{own.DEFAULTS}:{first}"]

    def _cell(self, recipe: str, broken: Sequence[str]) -> Cell:
        theirs = self._theirs(recipe)
        *walks, defaults = self._walks(recipe)
        ours = [self._ours(walk) for walk in walks]
        duels = [
            (tool, Duel.of([(mine, held)])) for (tool, held), mine in zip(theirs.items(), ours, strict=False) if mine
        ]
        return Cell(
            recipe=recipe,
            victim=self.name,
            rows=tuple(self.rows[: int(defaults.rpartition(":")[2])]),
            ours=ours[0],
            defaults=self._ours(defaults),
            duels=tuple(duels),
            reasons=tuple(self._reasons(recipe, walks, broken)),
        )

    def _ours(self, walk: str) -> Measured | None:
        file = self.held / OURS / f"{walk}.json"
        return Measured.read(file) if file.exists() else None

    def _reasons(self, recipe: str, walks: Sequence[str], broken: Sequence[str]) -> Iterator[str]:
        """Yield why a side is missing: the reason that its process wrote, or the failure of the whole tool."""
        wanted = [(other.tool.name, recipe) for other in self.peers if other.tool.has(recipe, stock=False)]
        for tool, name in [*wanted, *((OURS, walk) for walk in walks)]:
            if (self.held / tool / f"{name}.json").exists():
                continue
            file = self.held / tool / f"{name}{REASON}"
            said = file.read_text(encoding="utf-8") if file.exists() else "; ".join(broken) or "it was not run"
            yield f"{tool}: {said}"


def _try(run: Callable[[], None]) -> list[str]:
    try:
        run()
    except MalapropError as error:
        return [plain(error)]
    return []
