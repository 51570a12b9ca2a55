"""Measure the throughput of one recipe on one victim: texts asked and forwarded a second, and forward passes alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median_low
from time import perf_counter
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import DataError
from malaprop.core.example import Example
from malaprop.core.victim import Victim
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate, Summary
from malaprop_bench import shapes
from malaprop_bench.floor import GPU_SIZES, SIZES, Floor, floor
from malaprop_bench.lowered import lowered
from malaprop_bench.machine import describe
from malaprop_bench.recording import Recording

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack

HEAD = (
    "victim",
    "recipe",
    "machine",
    "precision",
    "width x lanes",
    "texts",
    "seconds",
    "asked/s",
    "forwarded/s",
    "forward-only/s",
    "share",
    "host s",
    "victim s",
    "attack success",
)
_WARM = {"cpu": 4}  # texts, not among those attacked, that fill caches and compile kernels before the clock starts
_CHOICE = 8  # times as many texts that those are chosen from
_MOST = 65_536  # texts that the forward-only rate is measured on; an even sample by length of what was forwarded


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The settings of one measurement."""

    victim: str
    data: str = "mr"
    n: int = 1000
    recipe: str = "pwws"
    device: str = "auto"
    precision: str = "auto"
    width: int = 1024
    lanes: int | None = None  # None: what suits the victim
    seed: int = 0
    repeats: int = 1
    train_seconds: float = 0.0
    predicted: bool = (
        False  # whether the victim's own answers are taken for the labels, so that it gets all texts right
    )
    floor_seconds: float = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """A measurement. `share` is the rate of texts that reached the model over the rate of forward passes alone on them.

    `walls` are the seconds of each run; the rates are of the middle run. `host` of its seconds went to keys, cache and
    merging, `model` to the victim, the rest to the search.
    """

    setting: Setting
    about: dict[str, Any]
    texts: int
    walls: tuple[float, ...]
    asked: int
    unique: int
    forwarded: int
    host: float
    model: float
    rounds: int
    success: Rate
    changed_share: float | None
    floor: Floor
    errors: dict[str, int] = field(default_factory=dict)
    memory: float | None = None  # GB at most on the device

    @property
    def wall(self) -> float:
        return median_low(self.walls)

    @property
    def forward_only(self) -> float:
        """Return the texts a second of forward passes alone."""
        return self.floor.texts / self.floor.seconds if self.floor.seconds else float("nan")

    @property
    def share(self) -> float:
        return self.forwarded / self.wall / self.forward_only

    def to_dict(self) -> dict[str, Any]:
        return {
            "setting": asdict(self.setting),
            **self.about,
            "texts": self.texts,
            "walls_s": [round(w, 4) for w in self.walls],
            "asked": self.asked,
            "unique": self.unique,
            "forwarded": self.forwarded,
            "asked_per_s": round(self.asked / self.wall, 1),
            "forwarded_per_s": round(self.forwarded / self.wall, 1),
            "forward_only_per_s": round(self.forward_only, 1),
            "share": round(self.share, 4),
            "asked_share": round(self.asked / self.wall / self.forward_only, 4),
            "host_s": round(self.host, 4),
            "victim_s": round(self.model, 4),
            "rounds": self.rounds,
            "success": self.success.to_dict(),
            "changed_share": None if self.changed_share is None else round(self.changed_share, 4),
            "floor": asdict(self.floor),
            "errors": self.errors,
            "device_memory_gb": self.memory,
        }


def named(victims: str) -> list[str]:
    """Split victims at commas; shape:transformers stands for all shapes of transformers, shape:all for all shapes."""
    groups = {"transformers": shapes.TRANSFORMERS, "all": (*shapes.SHAPES,)}
    every = {shapes.PREFIX + group: [shapes.PREFIX + one for one in names] for group, names in groups.items()}
    names = [name.strip() for name in victims.split(",") if name.strip()]
    return [one for name in names for one in every.get(name, [name])]


def row(held: Mapping[str, Any]) -> list[str]:
    """Return the row under HEAD for a record of `to_dict`."""
    setting = held["setting"]
    rates = (f"{held[key]:,.0f}" for key in ("asked_per_s", "forwarded_per_s", "forward_only_per_s"))
    return [
        setting["victim"],
        setting["recipe"],
        held["machine"],
        held["precision"],
        f"{setting['width']} x {held['lanes']}",
        str(held["texts"]),
        f"{median_low(held['walls_s']):.3g}",
        *rates,
        f"{held['share']:.2f}",
        f"{held['host_s']:.3g}",
        f"{held['victim_s']:.3g}",
        str(Rate(held["success"]["hits"], held["success"]["total"])),
    ]


def measure(setting: Setting) -> Throughput:
    """Attack `n` texts that the victim gets right; then pass the texts that it read through the model alone."""
    from malaprop.frame.runs.victims import device_of

    device = device_of(setting.device)
    with tempfile.TemporaryDirectory(prefix="malaprop-shape-") as folder:
        victim = _victim(setting, device, Path(folder) / "victim")
    spare = _WARM.get(device, 64)
    rows = list(_correct(victim, setting.data, setting.n + _CHOICE * spare, setting.predicted))
    warm, rows = _of_all_lengths(rows[setting.n :] or rows, spare), rows[: setting.n]
    if not rows:
        raise DataError(f"{setting.victim} gets no text of {setting.data} right; train it (--train-seconds 20)")
    attack = recipe(setting.recipe)
    _attack(attack, victim, warm, setting)
    _reset_memory(device)
    runs = [_attack(attack, victim, rows, setting) for _ in range(setting.repeats - 1)]
    seen = Recording(victim)
    runs.append(_attack(attack, seen.victim, rows, setting))
    memory = _peak_memory(device)
    least = _floor(victim, seen.texts(), setting, device)
    used = {
        "precision": victim.precision,
        "road": _scoring_path(victim),
        "lanes": setting.lanes or victim.lanes,
    }
    return _settled(setting, {**about(device), **used}, runs, memory, least)


@dataclass(frozen=True, slots=True)
class _Run:
    wall: float
    host: float
    model: float
    rounds: int
    outcomes: list[Outcome]


def _settled(
    setting: Setting, where: dict[str, Any], runs: Sequence[_Run], memory: float | None, least: Floor
) -> Throughput:
    middle = sorted(runs, key=lambda r: r.wall)[(len(runs) - 1) // 2]
    summary = Summary.of(middle.outcomes)
    counts = [o.queries for o in middle.outcomes]
    return Throughput(
        setting=setting,
        about=where,
        texts=len(middle.outcomes),
        walls=tuple(r.wall for r in runs),
        asked=sum(q.asked for q in counts),
        unique=sum(q.unique for q in counts),
        forwarded=sum(q.forwarded for q in counts),
        host=middle.host,
        model=middle.model,
        rounds=middle.rounds,
        success=summary.success,
        changed_share=summary.changed_share.mean,
        floor=least,
        errors=summary.reasons,
        memory=memory,
    )


def recipe(name: str) -> Attack:
    """Build a recipe, in the peer's variant if the comparison has one: that needs no tagger, so it runs without one."""
    from malaprop.frame.runs.make_attack import recipe as of_library
    from malaprop_bench import own
    from malaprop_bench.peer_textattack import RECIPES

    return own.build(name) if name in RECIPES else of_library(name)


def about(device: str) -> dict[str, Any]:
    """Return the machine and the number of threads."""
    import torch

    return {**describe(device), "threads": torch.get_num_threads()}


def _scoring_path(victim: Victim) -> str:
    """Return the name of the victim's scorer, with its path if it has several; "plain" without a scorer."""
    from malaprop.models.victims.tokens import TokenVictim

    scorer = victim.scorer if isinstance(victim, TokenVictim) else None
    if scorer is None:
        return "plain"
    road = getattr(scorer, "road", "")
    return f"{type(scorer).__name__}: {road}" if road else type(scorer).__name__


def _victim(setting: Setting, device: str, folder: Path) -> Victim:
    from malaprop.data.base import load
    from malaprop.frame.runs.victims import victim
    from malaprop.training.splits import splits

    spec = setting.victim
    if shapes.is_shape(spec):
        data = splits(load, setting.data)
        made = shapes.make(spec, data, folder, seconds=setting.train_seconds, device=device, seed=setting.seed)
        spec = str(made)
    return victim(spec, device=device, precision=setting.precision)


def _test(data: str) -> Sequence[Example]:
    """Return the test examples of a dataset; of a file the part that no model was trained on."""
    from malaprop.data.base import load
    from malaprop.training.splits import splits

    return splits(load, data).test if Path(data).is_file() else load(data).sample(None).examples


def _correct(victim: Victim, data: str, n: int, predicted: bool = False) -> Iterator[Example]:
    """Yield the first `n` test examples that the victim gets right; with `predicted` any, labelled by the victim."""
    test = _test(data)
    for at in range(0, len(test), 512):
        part = test[at : at + 512]
        labels = victim.predict([tuple(e.fields.values()) for e in part]).argmax(1).tolist()
        for example, label in zip(part, labels, strict=True):
            if (predicted or example.label == label) and n > 0:
                n -= 1
                yield replace(example, label=label)
        if n <= 0:
            return


def _of_all_lengths(examples: Sequence[Example], many: int) -> list[Example]:
    """Choose examples evenly from the shortest to the longest, so that the warm-up records kernels of each length."""
    by_length = sorted(examples, key=lambda e: sum(map(len, e.fields.values())))
    places = {round(i * (len(by_length) - 1) / max(1, many - 1)) for i in range(many)} if by_length else set()
    return [by_length[i] for i in sorted(places)]


def _attack(attack: Attack, victim: Victim, examples: Sequence[Example], setting: Setting) -> _Run:
    """Run the attack with fresh services; only caches of the whole process remain from an earlier run."""
    from malaprop.engine.service import Scoring
    from malaprop.frame.runs.local import run
    from malaprop.frame.runs.services import services

    known = services(victim)
    began = perf_counter()
    outcomes = list(
        run(attack, victim, examples, seed=setting.seed, width=setting.width, lanes=setting.lanes, services=known)
    )
    wall = perf_counter() - began
    scoring = known["victim"]
    assert isinstance(scoring, Scoring)
    clock = scoring.clock
    return _Run(wall, clock.host, clock.victim, clock.rounds, outcomes)


def _floor(victim: Victim, texts: Sequence[str], setting: Setting, device: str) -> Floor:
    distinct = sorted(set(texts), key=lambda text: (len(text), text))
    kept = distinct[:: max(1, -(-len(distinct) // _MOST))]
    sizes = GPU_SIZES if device.startswith("cuda") else SIZES
    return floor(victim, kept, sizes=sizes, seconds=setting.floor_seconds, forward=lowered(victim))


def _reset_memory(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        torch.cuda.reset_peak_memory_stats()


def _peak_memory(device: str) -> float | None:
    import torch

    return round(torch.cuda.max_memory_allocated() / 1e9, 3) if device.startswith("cuda") else None
