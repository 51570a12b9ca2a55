"""The lanes of defences under attacks that keep the meaning: models, hardened twins, their tests, profiles, successes.

`python tools/fullsize/lanes.py --board --lanes valid ...` runs these. All settings were fixed before the run, and what
counts of the profiles: whether the score of `misspelt` is above that of its plain twin (MiniLM, LSTM, CNN), with a
paired interval over the texts that leaves out 0; and Kendall's tau of all nine scores between the two seeds, and
between the even and the odd texts of one, with 0.8 aimed at. `attacked` and `swaps` are shown beside them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from plan import Lane, Turn, as_options

ROOT, PLAIN = "valid", "plain"
ATTACKS, SPELT = "textfooler,pwws", "textfooler,deepwordbug"
ATTACKED = "reject:tries=2:recipes=textfooler+pwws:validity=valid:every={every}:budget=200:weight=2:cost=0.005"
SWAPPED = "reject:tries=2:weight=2:cost=0.005"
MISSPELT = "augment:recipe=deepwordbug:share={share}:budget=60"


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model on a dataset, trained plainly, and `hard`: its methods of `malaprop harden`, by short names."""

    data: str
    model: str
    hard: dict[str, str]
    plain_sets: str = ""
    hard_sets: str = ""
    helpers: int = 1  # processes that attack the training texts, for methods with recipes
    parts: int = 24  # of the GPU's memory: what a process that trains it may take
    nice: int = 2  # of hardened trainings; plain ones come first

    @property
    def name(self) -> str:
        return f"{self.data}-{self.model}"

    def step(self, part: str) -> str:
        return f"{ROOT}/{self.name}/{part}"

    def folder(self, part: str) -> str:
        """Return the folder of a trained model, whose last part names it."""
        return f"{{root}}/{self.step(part)}/{self.model}" + ("" if part == PLAIN else f"-{part}")


@dataclass(frozen=True, kw_only=True)
class Test:
    """A test of defences of one model: `hard` names those trained, `around` wraps models or takes the plain one.

    In `around` a short name in brackets stands for that hardened model: five([fact]).
    """

    of: str
    name: str
    texts: int
    attacks: str = ATTACKS
    hard: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    detector: str = ""  # fitted for the first of `hard`
    least: float = 0  # accuracy without attack that the detector must keep, on validation texts
    jobs: int = 4
    nice: int = 3


_WORDS = {"swaps": "swaps", "misspelt": MISSPELT.format(share=1)}
MODELS = (
    Model(data="ag_news", model="BERT", plain_sets="epochs=2", hard_sets="epochs=2 rate=1e-4", helpers=5, nice=1,
          hard={"attacked": ATTACKED.format(every=8), "swapped": SWAPPED, "misspelt": MISSPELT.format(share=0.1)}),
    Model(data="mr-full", model="BERT", plain_sets="epochs=2", hard_sets="epochs=3 rate=1e-4", helpers=3,
          hard={"attacked": ATTACKED.format(every=2), "misspelt": MISSPELT.format(share=0.5), "fact": "fact"}),
    Model(data="sst2", model="BERT", plain_sets="epochs=2", hard_sets="epochs=3 rate=1e-4", helpers=2,
          hard={"attacked": ATTACKED.format(every=2)}),
    Model(data="imdb-full", model="BERT", plain_sets="epochs=2", hard_sets="epochs=2 rate=1e-4", parts=12,
          hard={"swapped": SWAPPED}),
    Model(data="ag_news", model="LSTM-W-GloVe-1", hard={}),
    Model(data="mr-full", model="LSTM-W-GloVe-1", hard=_WORDS),
    Model(data="mr-full", model="CNN-W-GloVe-1", hard=_WORDS),
)  # fmt: skip
TESTS = (
    Test(of="ag_news-BERT", name="swapped", texts=500, hard=("swapped",)),
    Test(of="ag_news-BERT", name="attacked", texts=500, hard=("attacked",), detector="all:of=fgws+rde", least=0.917,
         jobs=6, nice=1),
    Test(of="mr-full-BERT", name="attacked", texts=500, hard=("attacked", "misspelt")),
    Test(of="mr-full-BERT", name="misspelt", texts=500, attacks=SPELT, hard=("misspelt",), jobs=3, nice=1),
    Test(of="ag_news-BERT", name="misspelt", texts=500, attacks=SPELT, hard=("misspelt",), jobs=3, nice=1),
    Test(of="mr-full-BERT", name="votes", texts=500, hard=("fact",), around=("five", "fuse([fact])"), nice=4),
    Test(of="sst2-BERT", name="attacked", texts=500, hard=("attacked",), jobs=3, nice=3),
    Test(of="imdb-full-BERT", name="swapped", texts=100, hard=("swapped",), jobs=5),
    Test(of="mr-full-LSTM-W-GloVe-1", name="swaps", texts=500, hard=("swaps", "misspelt"),
         around=("fuse:words=5:samples=5([swaps])",), jobs=2, nice=4),
    Test(of="mr-full-CNN-W-GloVe-1", name="swaps", texts=500, hard=("swaps", "misspelt"), jobs=2, nice=4),
)  # fmt: skip
PROFILED = {
    "mr-full-BERT": ("plain", "misspelt", "attacked"),
    "mr-full-LSTM-W-GloVe-1": ("plain", "misspelt", "swaps"),
    "mr-full-CNN-W-GloVe-1": ("plain", "misspelt", "swaps"),
}
PROFILE_TEXTS, SEEDS = 1000, (0, 1)
READ = {"mr-full-BERT": (("test", "all"), ("validation", "all")), "ag_news-BERT": (("test", "3000"),)}
PARAPHRASED = ("mr-full-BERT", "mr-full-LSTM-W-GloVe-1", "ag_news-BERT", "ag_news-LSTM-W-GloVe-1")
_PARTS = 30  # of the GPU's memory, for a process that attacks


def list_valid() -> Iterator[Lane]:
    """Yield the lanes: trainings, tests, profiles, and attacks whose successes are read."""
    models = {model.name: model for model in MODELS}
    for model in MODELS:
        yield from _list_trainings(model)
    for test in TESTS:
        yield from _list_test(models[test.of], test)
    yield from _list_profiles(models)
    for name, parts in READ.items():
        for split, many in parts:
            yield _read(models[name], split, many)
    for name in PARAPHRASED:
        yield _paraphrase(models[name])


def _list_trainings(model: Model) -> Iterator[Lane]:
    words = f"train {model.model} --data {model.data} {as_options(model.plain_sets)} --out {model.folder(PLAIN)}"
    plain = Turn(step=model.step(PLAIN), commands=(words,), needs=(), aid=True)
    yield Lane(name=plain.step, turns=(plain,), parts=model.parts)
    for short, method in model.hard.items():
        step = model.step(short)
        words = (
            f"harden {method} --model {model.model} --data {model.data} {as_options(model.hard_sets)} --jobs {{jobs}} "
            f"--out {model.folder(short)}"
        )
        hardened = Turn(step=step, commands=(words,), needs=(), aid=True)
        jobs = model.helpers if "recipe" in method else 1
        yield Lane(name=step, turns=(hardened,), jobs=jobs, parts=model.parts, nice=model.nice)


def _list_test(model: Model, test: Test) -> Iterator[Lane]:
    """Yield the lane of a test, and that of its detector if it has one."""
    step = model.step(f"test-{test.name}")
    methods = {short: model.hard[short] for short in test.hard}
    around = [_name_inside(one, methods) for one in test.around]
    needs = [model.step(part) for part in (PLAIN, *test.hard)]
    if test.detector:
        first, guard = test.hard[0], model.step(f"guard-{test.name}")
        words = (
            f"detect fit {test.detector} --victim {model.folder(first)} --data {model.data} "
            f"--split validation --n 1000 --attack {ATTACKS} --least-accuracy {test.least} --jobs {{jobs}} "
            f"--out {{root}}/{guard}/model"
        )
        fitted = Turn(step=guard, commands=(words,), needs=(model.step(first),), aid=True)
        yield Lane(name=guard, turns=(fitted,), jobs=test.jobs, parts=_PARTS, nice=test.nice)
        around.append(f"detect:{test.detector}({methods[first]})")
        needs.append(guard)
    hardened = " ".join(f"--hardened {method}={model.folder(short)}" for short, method in methods.items())
    listed = ",".join(["none", *methods.values(), *around])
    words = (
        f"study defences --victim {model.folder(PLAIN)} {hardened} --defence {listed} --attack {ATTACKS} "
        f"--validity valid --data {model.data} --split test --n {test.texts} --samples 0 --pictures 0 "
        f"--jobs {{jobs}} --out {{root}}/{step}"
    )
    turn = Turn(step=step, commands=(words,), needs=tuple(needs))
    yield Lane(name=step, turns=(turn,), jobs=test.jobs, parts=_PARTS, nice=test.nice)


def _name_inside(defence: str, methods: dict[str, str]) -> str:
    for short, method in methods.items():
        defence = defence.replace(f"([{short}])", f"({method})")
    return defence


def _list_profiles(models: dict[str, Model]) -> Iterator[Lane]:
    steps = [models[name].step(part) for name, parts in PROFILED.items() for part in parts]
    named = " ".join(f"--victim {models[name].folder(part)}" for name, parts in PROFILED.items() for part in parts)
    for seed in SEEDS:
        step = f"{ROOT}/profile/seed-{seed}"
        words = (
            f"profile {named} --data mr-full --split test --n {PROFILE_TEXTS} --seed {seed} --jobs {{jobs}} "
            f"--out {{root}}/{step}"
        )
        turn = Turn(step=step, commands=(words,), needs=tuple(steps))
        yield Lane(name=step, turns=(turn,), jobs=6, parts=_PARTS, nice=3 + seed)


def _read(model: Model, split: str, many: str) -> Lane:
    """Return a lane of attacks on the plain model, one after another, whose outcomes a person reads."""
    step = f"{ROOT}/read/{model.name}-{split}"
    words = tuple(
        f"attack {recipe} --victim {model.folder(PLAIN)} --data {model.data} --split {split} --n {many} "
        f"--validity valid --jobs {{jobs}} --out {{root}}/{step}/{recipe}"
        for recipe in ATTACKS.split(",")
    )
    turn = Turn(step=step, commands=words, needs=(model.step(PLAIN),))
    return Lane(name=step, turns=(turn,), jobs=3, parts=_PARTS, nice=5)


def _paraphrase(model: Model) -> Lane:
    """Return a lane that attacks the plain model with rewrites of the packaged language model."""
    step = f"{ROOT}/paraphrase/{model.name}"
    words = tuple(
        f"audit --attack paraphrase --victim {model.folder(PLAIN)} --data {model.data} --n 100 --seed 0 "
        f"--validity {validity} --out {{root}}/{step}/{validity}"
        for validity in ("paper", "valid")
    )
    turn = Turn(step=step, commands=words, needs=(model.step(PLAIN),))
    return Lane(name=step, turns=(turn,), parts=_PARTS, nice=2)
