"""The peer's side: its resources made ready, and its run in its own Python."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from malaprop.bench import child, export_vectors, nltk_data
from malaprop.bench.measured import Measured, Row, write_rows

SCRIPT = Path(__file__).with_name("peer_textattack.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """TextAttack in the environment of `python`, with everything it reads under `folder`."""

    python: Path
    folder: Path

    def prepare(self, recipes: Iterable[str]) -> Peer:
        """Hands over our WordNet and stop words and, for recipes that draw from them, our word vectors."""
        from malaprop.assets import lexicon, store, vectors

        sources = [Path(part) for part in os.environ.get("NLTK_DATA", "").split(os.pathsep) if part]
        if (data := store.data_root()) is not None:
            sources.insert(0, data / "nltk_data")
        sources.append(store.locate("wordnet"))
        stop = lexicon.stop_words()
        nltk_data.gather(self.folder / "nltk_data", sources, stop)
        (self.folder / "stop.txt").write_text("\n".join(sorted(stop)) + "\n", encoding="utf-8")
        if any(not recipe.startswith("pwws") for recipe in recipes):
            near = vectors.open_neighbours("counter-fitted")
            export_vectors.export(near.vectors.words, near.vectors.matrix, near.table, self.folder / "cache")
        export_vectors.mark_installed(self.folder / "cache")
        child.import_folder(self.folder / "import")
        return self

    def run(
        self, victim: str, rows: Sequence[Row], recipe: str, *, threads: int, seconds: float, seed: int, stock: bool
    ) -> Measured:
        """Attacks the rows in order until the seconds are over."""
        from malaprop.assets import store

        nltk_data.check(self.folder / "nltk_data", recipe)
        out = self.folder / "peer.json"
        out.unlink(missing_ok=True)
        command: list[str | os.PathLike[str]] = [self.python, SCRIPT, victim]
        command += [write_rows(rows, self.folder / "rows.jsonl"), recipe, out, "--stop-words", self.folder / "stop.txt"]
        command += ["--threads", str(threads), "--seconds", str(seconds), "--seed", str(seed)]
        command += ["--stock"] if stock else []
        places = {
            "NLTK_DATA": str(self.folder / "nltk_data"),
            "TA_CACHE_DIR": str(self.folder / "cache"),
            "PYTHONPATH": str(self.folder / "import"),
            "MALAPROP_CACHE": str(store.cache_root()),  # the peer moves XDG_CACHE_HOME
            "HF_HUB_OFFLINE": "1",
        }
        what = f"TextAttack's {recipe} on {Path(victim).name}"
        child.run(command, child.environment(threads, places), seconds=seconds, what=what)
        return Measured.read(out)
