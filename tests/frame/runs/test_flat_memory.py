"""A long run does not grow: examples are read, outcomes written, words and answers forgotten as it goes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

CHEAP = """
GOOD, BAD = {"good", "great", "fine", "moving"}, {"bad", "awful", "poor", "dull"}

def predict(texts):
    leans = [sum((w in GOOD) - (w in BAD) for w in t.split()) - 0.2 for t in texts]
    return [[0.5 - 0.1 * x, 0.5 + 0.1 * x] for x in leans]
"""


def write_texts(path: Path, count: int) -> None:
    """Short texts of 20,000 made-up words, each with one word that decides."""
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    plain = ["".join(rng.choice(letters, rng.integers(3, 9))) for _ in range(20_000)]
    telling = (("bad", "awful", "poor", "dull"), ("good", "great", "fine", "moving"))
    with path.open("w") as file:
        file.write("text,label\n")
        for label in rng.integers(0, 2, count).tolist():
            words = [plain[i] for i in rng.integers(0, len(plain), int(rng.integers(4, 7)))]
            words[int(rng.integers(len(words)))] = telling[label][int(rng.integers(4))]
            file.write(f"{' '.join(words)},{label}\n")


def megabytes(process: int, name: str) -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"no {name}")


def lines_of(path: Path, at: int) -> tuple[int, int]:
    """How many lines there are beyond the byte `at`, and the byte after the last."""
    if not path.exists():
        return 0, at
    with path.open("rb") as file:
        file.seek(at)
        block = file.read()
    return block.count(b"\n"), at + len(block)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_two_hundred_thousand_texts_without_growth(tmp_path):
    count = int(os.environ.get("MALAPROP_FLAT", "200000"))
    (tmp_path / "cheap.py").write_text(CHEAP)
    write_texts(tmp_path / "texts.csv", count)
    words = ["attack", "keyboard", "--victim", "cheap:predict", "--data", "texts.csv", "--n", "all", "--out", "run"]
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "malaprop", *words, "--budget", "200", "--quiet"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    table, done, at = [], 0, 0
    while process.poll() is None:
        more, at = lines_of(tmp_path / "run" / "outcomes.jsonl", at)
        done += more
        if done >= (len(table) + 1) * count // 10:
            table.append((done, megabytes(process.pid, "VmRSS"), megabytes(process.pid, "VmHWM")))
            shown = f"{done:>8,} {table[-1][1]:7.0f} {table[-1][2]:7.0f} MB {time.monotonic() - began:6.0f} s"
            print(shown, flush=True)
        time.sleep(0.2)
    done += lines_of(tmp_path / "run" / "outcomes.jsonl", at)[0]
    assert process.returncode == 0
    assert done == count
    assert len(table) >= 9
    assert table[-1][2] < 1.05 * table[1][2] + 10, table
