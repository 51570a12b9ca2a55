"""Run the peers: prepare their resources, and run each one in its own Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from malaprop_bench import child, export_vectors, nltk_data, peer_openattack, peer_textattack
from malaprop_bench.measured import Measured, Row, write_rows
from malaprop_bench.metered import PATIENCE
from malaprop_bench.roster import ROSTER

MASKED = ("bae", "bert-attack", "clare")  # recipes that use a masked language model
MASKED_LM = "masked-lm"
WORDNETS = {"fr": "fra", "es": "spa", "zh": "cmn"}  # our code of a language, and that of Open Multilingual WordNet
_LANGUAGES: Mapping[str, str] = {one.name: one.language for one in ROSTER if one.language in WORDNETS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One peer: its recipes, and the folder where `make bench-peers` puts its environment.

    `stock` says that it has a wrapper of its own for Hugging Face folders.
    """

    name: str
    recipes: tuple[str, ...]
    environment: str
    stock: bool = False

    @property
    def script(self) -> Path:
        return Path(__file__).with_name(f"peer_{self.name.lower()}.py")

    @property
    def requirements(self) -> Path:
        return Path(__file__).with_name(f"peer-{self.name.lower()}.txt")

    def has(self, recipe: str, *, stock: bool) -> bool:
        return recipe in self.recipes and (self.stock or not stock)


_ALL = (
    Tool(name="TextAttack", recipes=peer_textattack.RECIPES, environment=".venv-peers", stock=True),
    Tool(name="OpenAttack", recipes=peer_openattack.RECIPES, environment=".venv-openattack"),
)
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}


def prepare(folder: Path, recipes: Iterable[str]) -> Path:
    """Write our WordNet and stop words for the peers; if a recipe needs them, vectors and a masked language model."""
    from malaprop.assets import lexicon, store, vectors

    sources = [Path(part) for part in os.environ.get("NLTK_DATA", "").split(os.pathsep) if part]
    if (data := store.data_root()) is not None:
        sources.insert(0, data / "nltk_data")
    recipes = tuple(recipes)
    spoken = {_LANGUAGES[recipe]: WORDNETS[_LANGUAGES[recipe]] for recipe in recipes if recipe in _LANGUAGES}
    sources.append(store.locate("wordnet"))
    if nltk_data.lacks(sources, *nltk_data.TAGGERS):
        sources.append(store.locate("perceptron-tagger"))
    stop = lexicon.stop_words()
    nltk_data.gather(folder / "nltk_data", sources, stop)
    (folder / "stop.txt").write_text("\n".join(sorted(stop)) + "\n", encoding="utf-8")
    if spoken:
        nltk_data.check_senses(folder / "nltk_data", store.locate("omw"), spoken)
        nltk_data.write_wordnets(folder / "nltk_data", store.locate("omw"), spoken)
        for code in spoken:
            words = sorted(lexicon.foreign_stop_words(code))
            (folder / f"stop-{code}.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    if any(not recipe.startswith("pwws") and recipe not in _LANGUAGES for recipe in recipes):
        near = vectors.open_neighbours("counter-fitted")
        export_vectors.export(near.vectors.words, near.vectors.matrix, near.table, folder / "cache")
    if any(recipe.startswith(MASKED) for recipe in recipes) and not (folder / MASKED_LM).exists():
        (folder / MASKED_LM).symlink_to(store.locate("masked-lm"), target_is_directory=True)
    export_vectors.mark_installed(folder / "cache")
    child.import_folder(folder / "import")
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A tool in the environment of `python`, with everything it reads under `folder`, which `prepare` has filled."""

    tool: Tool
    python: Path
    folder: Path

    def run(
        self,
        victim: str,
        rows: Sequence[Row],
        recipe: str,
        *,
        threads: int,
        seconds: float,
        seed: int,
        stock: bool = False,
    ) -> Measured:
        """Attack the rows in order until the seconds are over."""
        nltk_data.check(self.folder / "nltk_data", self.tool.name, recipe)
        out = self.folder / "peer.json"
        out.unlink(missing_ok=True)
        given: list[str | os.PathLike[str]] = [victim, write_rows(rows, self.folder / "rows.jsonl"), recipe, out]
        command = self._command(given, threads=threads, seconds=seconds, seed=seed)
        command += ["--stock"] if stock else []
        what = f"{self.tool.name}'s {recipe} on {Path(victim).name}"
        child.run(command, child.environment(threads, self._places()), seconds=seconds, what=what)
        return Measured.read(out)

    def run_each(
        self, victim: str, rows: Path, recipes: Sequence[str], out: Path, *, threads: int, seconds: float, seed: int
    ) -> None:
        """Attack the rows with each of the recipes, from one start; `out` gets a file for each."""
        command = self._command([victim, rows, ",".join(recipes), out], threads=threads, seconds=seconds, seed=seed)
        limit = len(recipes) * (seconds + PATIENCE)
        child.run(
            command, child.environment(threads, self._places()), seconds=limit, what=f"{self.tool.name}'s recipes"
        )

    def _command(
        self, given: Sequence[str | os.PathLike[str]], *, threads: int, seconds: float, seed: int
    ) -> list[str | os.PathLike[str]]:
        command: list[str | os.PathLike[str]] = [self.python, self.tool.script, *given]
        code = _LANGUAGES.get(str(given[2]).partition(",")[0])
        command += ["--stop-words", self.folder / (f"stop-{code}.txt" if code else "stop.txt")]
        command += ["--threads", str(threads), "--seconds", str(seconds), "--seed", str(seed)]
        if (masked := self.folder / MASKED_LM).exists():
            command += ["--masked-lm", masked]
        if (vectors := self.folder / "cache" / export_vectors.FOLDER).exists():
            command += ["--vectors", vectors]
        return command

    def _places(self) -> dict[str, str]:
        from malaprop.assets import store

        return {
            "NLTK_DATA": str(self.folder / "nltk_data"),
            "TA_CACHE_DIR": str(self.folder / "cache"),
            "PYTHONPATH": str(self.folder / "import"),
            "MALAPROP_CACHE": str(store.cache_root()),  # TextAttack moves XDG_CACHE_HOME
            "HF_HUB_OFFLINE": "1",
        }
