"""The lanes of the leaderboard: train a plain model, a hardened one and a detector for it, and attack all of them.

`python tools/fullsize/lanes.py --board ...` runs these in the place of the steps of `malaprop reproduce`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from plan import Lane, Turn, as_options, find_mpnet

ATTACKS = "textfooler,pwws"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One model on one dataset and how it is defended; a process of it may take one of `parts` of the GPU's memory.

    `least` is the accuracy without attack that the detector must keep, on validation texts. `helpers` is the number of
    processes that attack the training texts, for methods that use recipes. With a `limit` the hardened model is also
    tested behind a memory of queries, which answers that many similar texts. With `phrases` a model trained on the
    phrases of phrases.py labels them, and the hardened model learns from them too.
    """

    data: str
    model: str
    method: str  # of `malaprop harden`
    texts: int
    tag: str = ""  # where a model on a dataset is defended in several ways
    plain: str = "epochs=2"  # settings of the training without a defence
    hard: str = "epochs=2"
    detector: str = ""
    least: float = 0
    limit: int = 0
    parts: int = 12
    helpers: int = 1
    nice: int = 0
    fits: str = "1000"  # validation texts that the detector is fitted on
    after: str = ""  # a step that comes first
    phrases: bool = False  # of SST-2, beside the dataset's own texts in the hardened training

    @property
    def name(self) -> str:
        return f"{self.data}-{self.model}{self.tag}"


_SWAPS = "reject:tries=2:weight=2:cost=0.005"


def _attacked(every: int, budget: int, threshold: str) -> str:
    return f"reject:tries=2:recipes=textfooler:every={every}:budget={budget}:weight=2:{threshold}"


def _both(every: int, budget: int, threshold: str) -> str:
    return _attacked(every, budget, threshold).replace("textfooler", "textfooler+pwws")


ENTRIES = (
    Entry(data="ag_news", model="BERT", method=_attacked(2, 400, "cost=0.005"), texts=500, hard="epochs=2 rate=1e-4",
          detector="all:of=fgws+rde", least=0.917, parts=24, helpers=9),
    Entry(data="ag_news", model="MPNet", method=_attacked(4, 200, "least=0.92"), texts=500, plain="epochs=1",
          hard="epochs=1", parts=6, helpers=5, nice=2),
    Entry(data="mr-full", model="BERT", method=_both(2, 200, "least=0.835"), texts=500, hard="epochs=3 rate=1e-4",
          parts=16, helpers=4, nice=3, phrases=True),
    Entry(data="mr-full", model="MPNet", method=_SWAPS.replace("cost=0.005", "least=0.84"), texts=500, plain="epochs=2",
          hard="epochs=1", parts=6, nice=4, after="board/ag_news-MPNet/hard", phrases=True),
    Entry(data="imdb-full", model="BERT", method=_SWAPS, texts=100, nice=5, after="board/ag_news-BERT/test"),
    Entry(data="imdb-full", model="MPNet", method=_SWAPS, texts=100, plain="epochs=1", hard="epochs=1", parts=4,
          nice=5, after="board/ag_news-BERT/test"),
)  # fmt: skip
TEACHER = "board/teacher"


def list_board() -> list[Lane]:
    words = f"train BERT --data {find_phrases()} --set epochs=2 --out {{root}}/{TEACHER}/model"
    taught = Turn(step=TEACHER, commands=(words,), needs=(), aid=True)
    lanes = [Lane(name=TEACHER, turns=(taught,), parts=24)] if any(entry.phrases for entry in ENTRIES) else []
    return [*lanes, *(lane for entry in ENTRIES for lane in _list_entry(entry))]


def find_phrases() -> str:
    """Return the path of the file that phrases.py writes."""
    return f"{os.environ.get('MALAPROP_DATA', '')}/sst2/phrases.jsonl"


def _list_entry(entry: Entry) -> Iterator[Lane]:
    """Yield the lanes of an entry: both trainings side by side, the detector if it has one, then the test."""
    here = f"board/{entry.name}"
    plain, hard, guard = (f"{here}/{part}" for part in ("plain", "hard", "guard"))
    both, begins = f"--data {entry.data}", (find_mpnet(),) if entry.model == "MPNet" else ()
    begins += (entry.after,) if entry.after else ()
    words = f"train {entry.model} {both} {as_options(entry.plain)} --out {{root}}/{plain}/model"
    learnt = Turn(step=plain, commands=(words,), needs=begins, aid=True)
    words = (
        f"harden {entry.method} --model {entry.model} {both} {as_options(entry.hard)} --jobs {{jobs}} "
        f"--out {{root}}/{hard}/model"
    )
    if entry.phrases:
        words += f" --unlabelled {find_phrases()} --teacher {{root}}/{TEACHER}/model"
    wanted = (*begins, TEACHER) if entry.phrases else begins
    hardened = Turn(step=hard, commands=(words,), needs=wanted, aid=True)
    defences, needs = ["none", entry.method], (plain, hard)
    yield Lane(name=f"{here}/plain", turns=(learnt,), parts=entry.parts, nice=entry.nice + 1)
    yield Lane(name=f"{here}/hard", turns=(hardened,), jobs=entry.helpers, parts=entry.parts, nice=entry.nice)
    if entry.detector:
        words = (
            f"detect fit {entry.detector} --victim {{root}}/{hard}/model {both} --split validation --n {entry.fits} "
            f"--attack {ATTACKS} --least-accuracy {entry.least} --jobs {{jobs}} --out {{root}}/{guard}/model"
        )
        fitted = Turn(step=guard, commands=(words,), needs=(hard,), aid=True)
        defences.append(f"detect:{entry.detector}({entry.method})")
        needs = (plain, guard)
        yield Lane(name=f"{here}/guard", turns=(fitted,), jobs=12, parts=max(2 * entry.parts, 18), nice=entry.nice)
    if entry.limit:
        defences.append(f"stateful:limit={entry.limit}({entry.method})")
    words = (
        f"study defences --victim {{root}}/{plain}/model --hardened {entry.method}={{root}}/{hard}/model "
        f"--defence {','.join(defences)} --attack {ATTACKS} {both} --split test --n {entry.texts} --samples 0 "
        f"--pictures 0 --validity paper --jobs {{jobs}} --out {{root}}/{here}/test"
    )
    tested = Turn(step=f"{here}/test", commands=(words,), needs=needs)
    yield Lane(name=f"{here}/test", turns=(tested,), jobs=12, parts=max(3 * entry.parts, 30), nice=entry.nice)
