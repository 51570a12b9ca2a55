"""Compare plain and hardened models on texts that neither was trained on: other data, and words that people misspelt.

MALAPROP_DATA=DATA python -m malaprop_bench.unseen docs/measured/unseen.json --plain models/plain \
    --hard swaps=models/swaps --texts mr-full,misspelt:mr-full,yelp,pairs.jsonl

The plain model is a folder that `malaprop train` wrote, a hardened one is whatever `--victim` takes. `misspelt:NAME`
has a fifth of the words that people are known to misspell in one of their spellings (DATA/misspellings). A path is a
file of labelled texts. The rows are added to the file, which holds counts alone; `malaprop bench --fill
docs/appendix/defences.md` puts the table on the page.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from malaprop.core.errors import DataError, MalapropError
from malaprop.core.example import Example
from malaprop.core.score import winners
from malaprop.core.seeds import generator
from malaprop.core.text import split_parts
from malaprop.core.victim import REJECTED, Victim
from malaprop.data.base import Dataset, load
from malaprop.data.matching import agree
from malaprop.frame.records.intervals import Gain
from malaprop.frame.records.paired_texts import sign_test
from malaprop.frame.records.summary import Rate

HEAD = ("model", "trained on", "hardened with", "texts", "plain", "hardened", "rejected", "difference", "p of worse")
MISSPELT = "misspelt:"
SHARE = 0.2  # of the words that have a known misspelling


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenRow:
    """Counts over the same texts: `won` are right with the hardened model alone, `lost` with the plain one alone.

    `rejected` counts texts that the hardened model rejects; None if they were not counted.
    """

    model: str
    data: str
    hardened: str
    texts: str
    total: int
    plain: int
    won: int
    lost: int
    rejected: int | None = None

    @property
    def gain(self) -> Gain:
        same = self.total - self.won - self.lost
        before = [False] * self.won + [True] * (self.lost + same)
        after = [True] * self.won + [False] * self.lost + [True] * same
        return Gain.of(before, after)


def read_misspellings(folder: Path) -> dict[str, list[str]]:
    """Read the misspellings of each word from charNMT's lists (`word typo ...`) and Birkbeck's (`$word`)."""
    found: dict[str, dict[str, None]] = {}
    word = ""
    try:
        with gzip.open(folder / "charnmt_noise/en.natural.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                first, *others = line.split()
                found.setdefault(first.lower(), {}).update(dict.fromkeys(others))
        with gzip.open(folder / "birkbeck_missp.dat.gz", "rt", encoding="utf-8") as lines:
            for line in map(str.strip, lines):
                if line.startswith("$"):
                    word = line[1:].lower()
                elif line:
                    found.setdefault(word, {})[line] = None
    except FileNotFoundError as error:
        raise DataError(f"{error.filename} is missing; point MALAPROP_DATA at a folder with misspellings/") from None
    return {word: [one for one in others if one.lower() != word] for word, others in found.items()}


def misspell(example: Example, known: Mapping[str, Sequence[str]], seed: int = 0) -> Example:
    """Return the example with some words as people misspelt them; the text between words stays."""
    rng = generator(seed, example.id)

    def write(part: str) -> str:
        others = known.get(part.lower())
        return others[int(rng.integers(len(others)))] if others and rng.random() < SHARE else part

    fields = {name: "".join(map(write, split_parts(value))) for name, value in example.fields.items()}
    return replace(example, fields=fields)


def read_texts(name: str, n: int) -> Dataset:
    """Load the test texts of a dataset or a file, and draw `n` of them."""
    plain = name.removeprefix(MISSPELT)
    path = Path(plain)
    data: Dataset = (load(str(path)) if path.is_file() else load(plain, split="test")).sample(n, 0)
    if plain == name:
        return data
    known = read_misspellings(Path(os.environ.get("MALAPROP_DATA", ".")) / "misspellings")
    return replace(data, examples=tuple(misspell(one, known) for one in data))


def answer(model: Victim, data: Dataset) -> tuple[list[bool], int]:
    """Return which texts a model has right, and how many it rejects."""
    examples = list(agree(data, model))
    given = winners(model.predict([tuple(one.fields.values()) for one in examples])).tolist()
    right = [one.label == label for one, label in zip(examples, given, strict=True)]
    last = len(model.label_names) - 1
    return right, given.count(last) if model.label_names[-1:] == (REJECTED,) else 0


def measure(plain: Path, hard: Mapping[str, str], texts: Sequence[str], n: int) -> Iterator[UnseenRow]:
    """Measure each hardened model on each kind of text; return a row for each."""
    from malaprop.frame.runs.victims import victim
    from malaprop.training.card import read_card

    card, models = read_card(plain), {name: victim(spec) for name, spec in hard.items()}
    own = victim(str(plain))
    for said in texts:
        data = read_texts(said, n)
        before, _ = answer(own, data)
        name = said if not Path(said).is_file() else Path(said).name.partition(".")[0]
        for method, model in models.items():
            after, rejected = answer(model, data)
            pairs = list(zip(before, after, strict=True))
            yield UnseenRow(
                model=card.name, data=card.data, hardened=method, texts=name, total=len(pairs), plain=sum(before),
                won=sum(b and not a for a, b in pairs), lost=sum(a and not b for a, b in pairs),
                rejected=rejected,
            )  # fmt: skip


def rows(held: Mapping[str, Any]) -> list[list[str]]:
    """Return the table; p is the chance of at least as many losses if gains and losses were equally likely."""
    found = [UnseenRow(**row) for row in held["rows"]]
    return [
        [
            one.model, one.data, f"`{one.hardened}`", one.texts, str(Rate(one.plain, one.total)),
            str(Rate(one.plain + one.won - one.lost, one.total)),
            "-" if one.rejected is None else str(one.rejected), str(one.gain), f"{sign_test(one.lost, one.won):.3f}",
        ]
        for one in found
    ]  # fmt: skip


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m malaprop_bench.unseen", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--plain", type=Path, required=True)
    parser.add_argument("--hard", action="append", default=[], help="METHOD=VICTIM; may be repeated")
    parser.add_argument("--texts", default="mr-full,misspelt:mr-full,yelp")
    parser.add_argument("--n", type=int, default=1000)
    given = parser.parse_args(words)
    hard = {name: spec for name, _, spec in (pair.partition("=") for pair in given.hard)}
    held = json.loads(given.file.read_text(encoding="utf-8"))["rows"] if given.file.exists() else []
    kept = {(row["model"], row["data"], row["hardened"], row["texts"]): row for row in held}
    try:
        for one in measure(given.plain, hard, given.texts.split(","), given.n):
            kept[one.model, one.data, one.hardened, one.texts] = asdict(one)
            given.file.write_text(json.dumps({"rows": list(kept.values())}, indent=1) + "\n", encoding="utf-8")
            print(rows({"rows": [asdict(one)]})[0], flush=True)
    except MalapropError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


if __name__ == "__main__":
    main()
