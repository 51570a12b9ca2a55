"""Writes phrases of SST-2 that a model of MR may learn from: `python tools/fullsize/phrases.py OUT.jsonl`.

Reads MALAPROP_DATA. SST-2 is made of MR's sentences, so phrases that stand in one of MR's validation or test
sentences are left out, and those that share five words in a row with one. So are phrases of one or two words.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEAST, SHARED = 3, 5  # words of a phrase; words in a row that no phrase shares with a sentence held out


def cut_words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def list_runs(words: list[str], sizes: Iterable[int]) -> Iterator[str]:
    """Yield all sequences of consecutive words of the given sizes."""
    return (" ".join(words[at : at + size]) for size in sizes for at in range(len(words) - size + 1))


def choose_phrases(phrases: Iterable[str], held_out: Iterable[str]) -> list[bool]:
    """Return for each phrase whether it may be learnt from: long enough, and not part of a held-out text."""
    runs: set[str] = set()
    for text in held_out:
        words = cut_words(text)
        runs.update(list_runs(words, range(LEAST, len(words) + 1)))
    chosen = []
    for phrase in phrases:
        words = cut_words(phrase)
        known = " ".join(words) in runs or any(run in runs for run in list_runs(words, [SHARED]))
        chosen.append(len(words) >= LEAST and not known)
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT")
    asked = parser.parse_args()
    place = Path(os.environ.get("MALAPROP_DATA", "")) / "sst2/train_phrases.jsonl.gz"
    if not place.is_file():
        parser.error(f"{place} is missing; point MALAPROP_DATA at a folder with sst2 and mr")
    if not asked.out.parent.is_dir():
        parser.error(f"{asked.out.parent} is no folder")
    sys.path.insert(0, str(ROOT))
    from malaprop.data.base import load
    from malaprop.training.splits import splits

    parts = splits(load, "mr-full")
    rows = [json.loads(line) for line in gzip.decompress(place.read_bytes()).decode("utf-8").splitlines()]
    held_out = [text for one in (*parts.held_out, *parts.test) for text in one.fields.values()]
    chosen = choose_phrases((row["text"] for row in rows), held_out)
    with asked.out.open("w", encoding="utf-8") as file:
        for row, good in zip(rows, chosen, strict=True):
            if good:
                file.write(json.dumps({"text": row["text"], "label": parts.labels[row["label"]]}) + "\n")
    print(f"{sum(chosen):,} of {len(rows):,} phrases")


if __name__ == "__main__":
    main()
