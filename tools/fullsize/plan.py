"""The lanes: which steps of `malaprop reproduce` run one after another, which side by side, and with how much of a GPU.

At full size commands are those of `reproduce`, and what `transfer` would train first is trained here in parts, so that
encoders and models can be made side by side. `tiny` cuts the numbers of every command, for a try on a CPU.
"""

from __future__ import annotations

import gzip
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from malaprop.papers.claims.claim import ClaimStep

TEXTS = "ag_news,mr-full,sst2,yelp,imdb-full"
ENCODERS = {  # steps, and settings: as many tokens as in some two minutes of a whole H200
    "elmo": (1100, "batch=512"),
    "roberta": (2200, "batch=256 rate=1e-3"),
    "albert": (2200, "batch=256 rate=3e-4"),
}
TINY = ("LSTM-W-Random-1", "LSTM-W-GloVe-1", "CNN-W-Random-1", "CNN-W-GloVe-1", "CNN-WC-ELMo-1", "BERT", "RoBERTa")
_FEW = {
    "--n": "3",
    "--draw": "2",
    "--vocabulary": "20",
    "--trials": "10",
    "--jobs": "1",
    "--top": "5",
    "--classifiers": "2",
    "--exact": "2",
    "--steps": "2",
}
_ENOUGH = {  # of texts that some attack breaks
    "transfer": {"--n": "20", "--draw": "10"},
    "detect": {"--n": "300", "--split": "train", "--attack": "pwws", "--least-accuracy": "0.1"},  # few are right
}
_SETS = {  # of commands by their first words, in place of those of full size
    "train wgan": "steps=6 inverter_steps=6 width=2 batch=8",
    "train arae": "steps=5",
    "train BERT": "epochs=1 limit=32",
    "train MPNet": "epochs=1 limit=32",
    "train nmt-lstm": "epochs=1 tokens=1024",
    "train nmt-transformer": "epochs=1 tokens=1024",
    "train": "epochs=1 batch=64",
    "harden": "epochs=1 limit=32",
    "study defences": "epochs=1",
    "study hotflip": "epochs=1 filters=10 hidden=8 depth=1",
    "study attention": "vocabulary=20",
    "study oneword": "limit=32 epochs=1 near=8",
    "natural compare": "samples=20",
    "pretrain elmo": "batch=2 dim=8 hidden=12",
    "pretrain": "batch=2 layers=1 width=16 heads=2 inner=16",
}
_ROWS = {"train": 400, "test": 60, "dev": 60, "mr_all": 400}  # of each file of texts at tiny size


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A step in a lane: the commands of `reproduce`, the first `upto` of them, or others with {root} and {jobs}.

    `needs` are steps, or patterns of files (with a star) below the folder of all steps; None stands for the needs that
    `reproduce` states. Models that the step makes are linked in the folder `models`. An `aid` is not a step of
    `reproduce`; its records are not kept. `together`: the commands do not depend on each other and run side by side,
    each with the lane's processes.
    """

    step: str
    upto: int = 0
    commands: tuple[str, ...] = ()
    needs: tuple[str, ...] | None = None
    models: str = ""
    aid: bool = False
    together: bool = False


@dataclass(frozen=True, kw_only=True)
class Lane:
    """Steps that run one after another with `jobs` processes; each may take 1/`parts` of the GPU's memory.

    Lanes that take longest have a `nice` of 0 and go first where processors or the GPU are short.
    """

    name: str
    turns: tuple[Turn, ...]
    jobs: int = 1
    parts: int = 24
    nice: int = 0

    @property
    def share(self) -> float:
        """The largest share of the GPU's memory that the lane's processes may take together."""
        return self.jobs / self.parts

    @property
    def processes(self) -> int:
        """The number of processes: the workers, and a driver if there are several."""
        return self.jobs + (self.jobs > 1)


def _turns(*steps: str) -> tuple[Turn, ...]:
    return tuple(Turn(step=step) for step in steps)


def as_options(told: str) -> str:
    return " ".join(f"--set {one}" for one in told.split())


@cache
def _steps() -> dict[str, ClaimStep]:
    from malaprop.papers.claims.study import choose_claims, steps_of

    return {step.name: step for step in steps_of(choose_claims(["all"]), "full")}


def find_needs(turn: Turn) -> tuple[str, ...]:
    return turn.needs if turn.needs is not None else _steps()[turn.step].needs if turn.step in _steps() else ()


def home_of(step: str) -> str:
    """Return the step in whose folder a step's records are written: for ensembles, their transfer study."""
    return step.replace("ensembles/", "transfer/", 1)


def find_mpnet() -> str:
    """Return the pattern of MPNet's weight file, which may arrive while other lanes work."""
    return f"{os.environ.get('MALAPROP_DATA', '')}/models/all-mpnet-base-v2/model*.safetensors"


def _list_mpnet() -> Iterator[Turn]:
    """Yield the turns of MPNet: the first commands for both datasets, then the rest."""
    model = find_mpnet()
    for upto in (2, 3, 0):
        for data in ("yelp", "imdb"):
            needs = (model, f"oneword/{data}/examined/BiLSTM-Attention*")
            yield Turn(step=f"oneword/{data}-mpnet", upto=upto, needs=needs)


def _list_universal(size: str) -> Iterator[Lane]:
    """Yield the lanes of encoders and, for both datasets, of models and their twins, transfer and what follows from it.

    AG News, whose studies take longest, comes before MR.
    """
    for kind, (steps, told) in ENCODERS.items():
        line = f"pretrain {kind} --data {TEXTS} --steps {steps} {as_options('every=1000000 ' + told)}"
        yield Lane(
            name=f"universal/{kind}", turns=(Turn(step=f"pretrain/{kind}", commands=(line,), aid=True),), parts=7
        )
    yield from _list_transfers("ag_news", size, nice=1)
    yield from _list_transfers("mr-full", size, nice=4)
    few = (f"{step}/{data}" for step in ("importance", "rules") for data in ("ag_news", "mr-full"))
    read = _turns(*(f"{step}/shown" if step.startswith("rules") else step for step in few))
    yield Lane(name="universal/read", turns=read, parts=40, nice=1)
    yield Lane(name="universal/varied", turns=(Turn(step="varied/elmo", needs=("pretrain/elmo",)),), parts=12, nice=4)


def _list_transfers(data: str, size: str, *, nice: int) -> Iterator[Lane]:
    """Yield the lanes of one dataset: models (some wait for encoders), transfer, ensembles, genetic attack, rules."""
    words = _steps()[f"rules/{data}/measured"].lines("full", Path("ROOT"), 1)[0]
    names = [Path(one).name for one in words[words.index("--victim") + 1].split(",")]
    names = [name for name in names if size != "tiny" or name in TINY]
    deep, tuned = [name for name in names if "ELMo" in name], [name for name in names if name in ("RoBERTa", "ALBERT")]
    plain = [name for name in names if name not in (*deep, *tuned, "BERT")]
    large = data == "ag_news"
    sets = "epochs=4 batch=512" if large else ""

    def train(part: str, some: list[str], told: str, *needs: str) -> Turn:
        step = f"trained/{data}/{part}"
        only = " ".join(f"--only {name} --only {name}#2" for name in some)
        line = f"train all63 --data {data} {as_options(f'{sets} {told}')} {only} --jobs {{jobs}} --out {{root}}/{step}"
        return Turn(step=step, commands=(line,), needs=needs, models=f"models/{data}", aid=True)

    def lane(name: str, *turns: Turn, jobs: int, parts: int = 20 if large else 28, nicer: int = 0) -> Lane:
        return Lane(name=f"universal/{data}/{name}", turns=turns, jobs=jobs, parts=parts, nice=nice + nicer)

    learnt = (
        train("plain", plain, "least=3"),
        train("bert", ["BERT"], ""),
        train("tuned", tuned, "", "pretrain/roberta", "pretrain/albert"),
        train("elmo", deep, "least=3 words=0", "pretrain/elmo"),
    )
    parts = tuple(turn.step for turn in learnt)
    yield lane("plain", learnt[0], jobs=7 if large else 6, parts=24 if large else 60)
    yield lane("tuned", *learnt[1:3], jobs=3 if large else 2, parts=14 if large else 24)
    yield lane("elmo", learnt[3], jobs=4, parts=12 if large else 30)
    yield lane("transfer", Turn(step=f"transfer/{data}", needs=parts), Turn(step=f"ensembles/{data}"), jobs=9)
    yield lane("genetic", Turn(step=f"genetic/{data}"), jobs=7 if large else 4, nicer=3)
    mined = Turn(step=f"rules/{data}", needs=(f"ensembles/{data}", *parts), together=True)
    yield lane("mined", mined, jobs=3, parts=28 if large else 40)
    yield lane("rules", Turn(step=f"rules/{data}/measured"), jobs=9)


def list_lanes(size: str) -> list[Lane]:
    shorter = ("attention", "oneword/yelp-500", "oneword/yelp-20000")
    words = ("50", "500")
    compare, probed = "sentences/compare", "varied/pairs"
    vectors = ("glove-0.7", "glove-0.9", "counter-fitted-0.8", "counter-fitted-0.9")
    typed = ("keyword", "typos", "typos-2", "typos-4")
    few = (
        *("zoo", "natural/synthetic", probed),
        *(f"{probed}/{name}" for name in ("words-20", "words-50", "premise")),
        *(f"varied/words-{least}" for least in (1, 3, 10)),
        *("varied/depth", "varied/nearest"),
    )
    return [
        Lane(name="reviews/yelp", turns=_turns("oneword/yelp", *shorter), jobs=2, parts=40, nice=2),
        Lane(name="reviews/imdb", turns=_turns("oneword/imdb"), jobs=2, parts=40, nice=3),
        Lane(name="reviews/short", turns=_turns("oneword/yelp-64"), parts=40, nice=3),
        Lane(
            name="entailment",
            turns=_turns("entailment", *(f"entailment/words-{many}" for many in words), "entailment/premise"),
            jobs=2,
            parts=40,
            nice=3,
        ),
        Lane(name="images/wgan", turns=_turns("natural/wgan")),
        Lane(name="images/regime", turns=_turns("natural/regime", "natural/compare"), jobs=4, parts=60),
        Lane(name="images/sweep", turns=_turns("natural/sweep"), jobs=4, parts=60),
        Lane(name="defences/mnli", turns=_turns("defences-mnli"), jobs=2, parts=40, nice=3),
        Lane(name="defences/snli", turns=_turns("defences-pairs"), jobs=2, parts=40, nice=3),
        Lane(name="defences/imdb", turns=_turns("defences", "varied/noise"), jobs=2, parts=40, nice=3),
        Lane(name="hotflip/characters", turns=_turns("hotflip", "varied/flips"), jobs=4, parts=40, nice=2),
        Lane(
            name="hotflip/words",
            turns=_turns("hotflip-word", *(f"hotflip-word/{name}" for name in vectors)),
            parts=60,
        ),
        Lane(name="varied", turns=_turns(*few), parts=60, nice=5),
        Lane(name="translation/lstm", turns=_turns("translation/lstm"), parts=40),
        Lane(
            name="translation/transformer",
            turns=_turns("translation/transformer", *(f"translation/{name}" for name in typed)),
            parts=40,
        ),
        Lane(name="sentences/victims", turns=_turns("sentences/victims")),
        Lane(
            name="sentences/ours",
            turns=_turns("sentences/arae-ours", f"{compare}/ours", f"{compare}/refined", "sentences/probes"),
            jobs=2,
            parts=40,
        ),
        Lane(name="sentences/plain", turns=_turns("sentences/arae-plain", f"{compare}/plain"), jobs=2, parts=40),
        Lane(name="mpnet", turns=tuple(_list_mpnet()), jobs=2, parts=12),
        *_list_universal(size),
    ]


def list_published() -> list[Lane]:
    """Return the lanes of what was run with the papers' settings later; they make the models again that they need."""

    def again(step: str) -> Turn:
        return Turn(step=step, upto=1, aid=True)

    def lane(name: str, *turns: Turn, jobs: int = 1, nice: int = 0, parts: int = 40) -> Lane:
        return Lane(name=f"published/{name}", turns=turns, jobs=jobs, parts=parts, nice=nice)

    return [
        lane("imdb", again("defences"), *_turns("defences/published"), jobs=4),
        lane(
            "mnli",
            again("defences-mnli"), *_turns("defences-mnli/published"),
            again("oneword/yelp"), *_turns("oneword/yelp-last"),
        ),
        lane("hotflip", *_turns("hotflip/published"), jobs=4, nice=1),
        lane("tuned", *_turns("hotflip/tuned"), jobs=6, nice=1, parts=16),  # Miyato's noise needs 6 GB
    ]  # fmt: skip


def choose_lanes(lanes: list[Lane], asked: str) -> list[Lane]:
    """Return the lanes named in a list with commas; `universal` names all lanes that begin with it."""
    names = asked.split(",") if asked else [lane.name for lane in lanes]
    for name in names:
        if not any(f"{lane.name}/".startswith(f"{name}/") for lane in lanes):
            raise SystemExit(f"no lane {name!r}; there are {', '.join(lane.name for lane in lanes)}")
    return [lane for lane in lanes if any(f"{lane.name}/".startswith(f"{name}/") for name in names)]


def list_lines(turn: Turn, size: str, root: Path, jobs: int) -> list[list[str]]:
    """Return the words of each command of a turn, as typed after `malaprop`."""
    from malaprop.papers.claims.study import drop_measures

    if turn.commands:
        lines = [shlex.split(line.format(root=root, jobs=jobs)) for line in turn.commands]
    else:
        lines = [drop_measures(words)[0] for words in _steps()[turn.step].lines("full", root, jobs)]
    lines = lines[: turn.upto] if turn.upto else lines
    return [shrink(words) if size == "tiny" else words for words in lines]


def shrink(words: list[str]) -> list[str]:
    """Return the same command with tiny numbers, and with a few of the 63 models."""
    pairs = list(zip(words, [*words[1:], ""], strict=True))
    made, skip, few = list[str](), False, _FEW | _ENOUGH.get(words[0], {})
    for word, value in pairs:
        if skip:
            skip = False
            continue
        if word in few:
            made += [word, few[word]]
        elif word == "--victim" and ("/models/ag_news" in value or "/models/mr-full" in value or value == "all63"):
            made += [word, ",".join(_list_few(value))]
        elif word == "--train-set":
            made += [word, "epochs=1" if value.startswith("epochs=") else value]
        elif word != "--set" or not _list_sets(words):
            made.append(word)
            continue
        skip = True
    return [*made, *(word for one in _list_sets(words) for word in ("--set", one))]


def _list_sets(words: list[str]) -> list[str]:
    told = _SETS.get(" ".join(words[:2]), _SETS.get(words[0], "")).split()
    kept = [value for word, value in pairwise(words) if word == "--set"]
    names = {one.partition("=")[0] for one in told}
    rest = ("least", "words", "frozen", "plain", "every", "depth", "vectors", "cosine", "cased", "layer")
    # these change what is made, not how long it takes
    return told + [one for one in kept if one.partition("=")[0] in rest and one.partition("=")[0] not in names]


def _list_few(value: str) -> list[str]:
    if value == "all63":
        return list(TINY)
    given = [Path(one) for one in value.split(",")]
    few = [one for one in given if one.name in TINY] if len(given) > 10 else []
    return [str(one) for one in few or [given[0].parent / name for name in TINY[:3] + TINY[5:6]]]


def cut_data(source: Path, to: Path) -> None:
    """Copy the data with a few rows of each file of texts, taken evenly; link all other files."""
    for path in sorted(source.rglob("*")):
        place = to / path.relative_to(source)
        if not path.is_file() or place.exists():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        many = next((rows for part, rows in _ROWS.items() if part in path.name), 0)
        if path.name.endswith(".jsonl.gz") and many:
            with gzip.open(path, "rt", encoding="utf-8") as file:
                lines = file.readlines()
            few = lines[:: (len(lines) // many) | 1][:many]  # an odd step: labels may take turns
            place.write_bytes(gzip.compress("".join(few).encode(), mtime=0))
        else:
            place.symlink_to(path.absolute())
