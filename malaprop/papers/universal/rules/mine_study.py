"""malaprop rules mine: find word swaps that lower a label's logit in the mean of several victims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import DataError, RecordError, SettingError
from malaprop.frame.study.run_options import OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt, type_command
from malaprop.frame.study.study import FILE, View
from malaprop.frame.study.vocabulary import SEVERAL, VICTIM

if TYPE_CHECKING:
    from malaprop.attacks.rule_files import Rule
    from malaprop.core.example import Example
    from malaprop.data.base import Dataset
    from malaprop.engine.service import Service
    from malaprop.frame.tasks.outputs import Output
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.papers.universal.rules.mine import Method, Mined, Miner
    from malaprop.papers.universal.rules.record import MinedRecord

FORMATS = ("csv", "json")
MANY = f"{VICTIM} A folder of models and all63 are many. {SEVERAL}"
_SHOWN = 10  # rules of each label that the record shows
_WARM = 32  # texts that warm up tables and kernels before the timing


@dataclass(frozen=True, slots=True, kw_only=True)
class MinedFrom:
    """The victims and texts that the sums in a folder depend on."""

    victims: tuple[str, ...]
    data: str
    labels: tuple[str, ...]
    fingerprints: tuple[str, ...]  # of each victim, and of the data


@dataclass(frozen=True, kw_only=True)
class Shards:
    """The texts in shards; the driver alone reads them, and pickling leaves them out."""

    selection: Selection

    def __getstate__(self) -> dict[str, Any]:
        return {"selection": self.selection}

    @cached_property
    def data(self) -> Dataset:
        from malaprop.data.base import need_two_labels

        return need_two_labels(self.selection.held())

    @cached_property
    def parts(self) -> list[list[Example]]:
        from malaprop.papers.universal.rules.mine import shards

        return list(shards(self.data))

    def read(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"data": self.data}

    def take(self, number: int, inputs: Inputs) -> Inputs:
        """Return the inputs of one shard's task: its texts, and the label names of the data."""
        del inputs
        return {"texts": self.parts[number], "labels": () if self.data.ordered else self.data.labels}

    def first(self, many: int, inputs: Inputs) -> Inputs:
        """Return the inputs of the comparison's task: the first `many` texts, and the label names."""
        return {**self.take(0, inputs), "data": self.data.first(many)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mine:
    """Find word swaps that lower a label's logit in the mean of several victims, over all training texts.

    The same --out resumes an interrupted run.

    Examples:

      malaprop rules mine --victim LSTM-W-GloVe-1,CNN-W-GloVe-1 --data mr --out runs/uawr

      malaprop rules mine --victim LSTM-W-GloVe-1,CNN-W-GloVe-1 --method gradient --check 500

      malaprop rules mine --victim my_model:predict --data reviews.csv --jobs 4 --out runs/mine
    """

    command: ClassVar[str] = "rules mine"

    victims: tuple[Any, ...] = opt(
        help=f"{MANY} Their logits are averaged.", name="victim", old=("victims",), repeat=True
    )
    train_data: str = opt("mr", "The data that victims given by a zoo name are trained on.")
    method: str = opt(
        "exact",
        "exact or gradient. exact scores every replaced text; gradient estimates it by one forward and backward pass "
        "for each text.",
    )
    swaps: Path | None = opt(
        None, "A CSV file of replacements of your own. With the columns from,to; WordNet's synonyms if not given."
    )
    compare: int = opt(
        0,
        "Texts that compare both methods first; 0: none. Prints how far they agree.",
        name="check",
        min=0,
        free=True,
    )
    shrink: Any = opt(
        "auto",
        "Shrinkage of rare rules: auto, or a number. With K, salience = mean x count / (count + K); 0 leaves "
        "rules of few counts as they are.",
    )
    every: bool = opt(False, "Also write rules that do not lower the true label.", name="all")
    best: bool = opt(False, "Write only the strongest rule of each word and label.")
    least: int = opt(1, "Leave out rules with fewer measurements.", min=0)
    format: str = opt("csv", "csv or json.")
    texts: Selection = Selection(n=0, split="train")
    width: int = width_option(128)
    where: RunOptions = RunOptions(precision="fp32")
    saving: OutputOptions = OutputOptions()

    # --- settings

    @property
    def strength(self) -> float | None:
        """How far rules with few counts are shrunk towards zero; None: estimate it from the sums."""
        given = str(self.shrink).strip().lower()
        try:
            found = None if given == "auto" else float(given)
        except ValueError:
            found = -1.0
        if found is not None and not 0 <= found < float("inf"):
            raise SettingError(f"--shrink takes auto or a number from 0, got {self.shrink!r}")
        return found

    @property
    def comparison(self) -> str:
        """The name of the task that measures the first texts by both methods."""
        return f"agreement-{self.compare}"

    @property
    def way(self) -> Method:
        return "exact" if self.method == "exact" else "gradient"

    def check(self) -> None:
        from malaprop.core.catalogue import unknown
        from malaprop.papers.universal.rules.mine import METHODS
        from malaprop.papers.universal.rules.swaps import read_swaps

        if not self.victims:
            raise SettingError("--victim names no victim; name at least one")
        if self.method not in METHODS:
            raise unknown("method of mining", self.method, METHODS)
        if self.format not in FORMATS:
            raise unknown("format", self.format, FORMATS)
        assert self.strength is None or self.strength >= 0
        if self.swaps is not None:
            read_swaps(self.swaps)
        out = self.saving.out
        if out is not None and not (out / FILE).is_file():
            for name in ("shards", *(f"rules.{one}" for one in FORMATS)):
                if (out / name).exists():
                    raise RecordError(f"{out / name} was not written by this study; choose another --out")

    # --- tasks

    def plan(self) -> Iterator[Task]:
        from malaprop.frame.tasks.file_outputs import NpzFile, TextFile
        from malaprop.frame.tasks.outputs import JsonFile, Several
        from malaprop.frame.tasks.task import Task
        from malaprop.papers.universal.cached_models import StudyVictims
        from malaprop.papers.universal.rules.agree import Agreement
        from malaprop.papers.universal.rules.record import WeighedRules

        shards = Shards(selection=self.texts)
        assert shards.parts is not None  # what is wrong with a file should not wait for a model
        study_victims = StudyVictims(self.victims, self.train_data)
        yield from study_victims.train_tasks()
        trained = study_victims.training_tasks(*study_victims.specs)
        given: dict[str, Any] = {"victims": study_victims.victims, "holds": tuple(study_victims.victims), "vital": True}
        yield Task(
            name="mined_from", work=self.look, output=JsonFile(MinedFrom, again=True, fixed=True), after=trained,
            reads=shards.read, **given,
        )  # fmt: skip
        before = (*trained, "mined_from")
        if self.compare:
            yield Task(
                name=self.comparison, work=self.agree, output=JsonFile(Agreement), after=before, alone=True,
                reads=partial(shards.first, self.compare), **given,
            )  # fmt: skip
            before = (*before, self.comparison)
        names = [f"shards/{number:06d}" for number in range(len(shards.parts))]
        for number, name in enumerate(names):
            yield Task(
                name=name, work=self.weigh, output=NpzFile(), after=before, reads=partial(shards.take, number), **given
            )
        parts: dict[str, Output] = {"rules": TextFile(self.format), "weighed": JsonFile(WeighedRules, again=True)}
        yield Task(
            name="rules", work=partial(self.choose, tuple(names)), output=Several(parts),
            after=(*before, *names), vital=True,
        )  # fmt: skip

    def open(self, context: WorkerContext, inputs: Inputs, labels: tuple[str, ...]) -> Miner:
        from malaprop.papers.universal.rules.mine import Miner
        from malaprop.papers.universal.rules.swaps import WordNetSwaps, read_swaps

        victims = tuple(context.victim(inputs[name]) for name in inputs if name.startswith("victim "))
        swaps = WordNetSwaps() if self.swaps is None else read_swaps(self.swaps)
        return Miner(victims=victims, method=self.way, swaps=swaps, width=self.width, labels=labels)

    def look(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Load the victims, and raise if they cannot be mined together or from these texts."""
        from malaprop.data.matching import agree
        from malaprop.frame.tasks.outputs import Note

        data: Dataset = inputs["data"]
        yield from map(Note, data.notes)
        labels = () if data.ordered else data.labels  # what the user ordered is in the victims' terms already
        miner = self.open(context, inputs, labels)
        for victim in miner.victims:
            agree(data, victim)
        for method in ("exact", "gradient") if self.compare else ():
            replace(miner, method=method)  # raises here if a victim lacks what the method needs
        lack = [victim.name for victim, slope in zip(miner.victims, miner.slopes, strict=True) if not slope]
        if self.way == "gradient" and lack:
            yield Note(f"{', '.join(lack)}: no gradients, so every replaced text is scored")
        yield MinedFrom(
            victims=tuple(victim.name for victim in miner.victims),
            data=data.name,
            labels=data.labels,
            fingerprints=(*(victim.fingerprint for victim in miner.victims), data.fingerprint),
        )

    def agree(self, context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Measure the same texts by both methods and compare the rules."""
        from malaprop.frame.tasks.outputs import Note
        from malaprop.papers.universal.rules.agree import agreement, plain_seconds
        from malaprop.papers.universal.rules.mine import mine

        miner, some = self.open(context, inputs, inputs["labels"]), inputs["data"]
        found: dict[str, Mined] = {}
        for method in ("exact", "gradient"):
            made = replace(miner, method=method)
            mine(made, some.first(min(_WARM, len(some))))
            found[method] = mine(made, some)
        plain = plain_seconds(miner, some) * found["exact"].swaps
        agreed = agreement(found["exact"], found["gradient"], plain=plain)
        yield Note(agreed.describe())
        yield agreed

    def weigh(self, context: WorkerContext, inputs: Inputs) -> Iterator[Mapping[str, Any]]:
        """Yield the sums of one shard as arrays."""

        def open_all() -> tuple[Miner, dict[str, Service]]:
            made = self.open(context, inputs, inputs["labels"])
            return made, made.services()

        miner, services = context.keep("miner and its services", open_all)
        yield miner.gather(inputs["texts"], services).to_arrays()

    def choose(self, names: tuple[str, ...], context: WorkerContext, inputs: Inputs) -> Iterator[Any]:
        """Add up all shards and yield the file of rules and its figures."""
        from malaprop.attacks.rule_files import rules_csv, rules_json
        from malaprop.papers.universal.rules.diagnose import strongest
        from malaprop.papers.universal.rules.mine import Mined, add_up, need_some
        from malaprop.papers.universal.rules.record import ShrinkageFigures, WeighedRules
        from malaprop.papers.universal.rules.tally import Shrinkage

        del context
        mined = need_some(add_up(Mined.read(inputs[name]) for name in names))
        shrinkage = Shrinkage.fit(mined.sums) if self.strength is None else Shrinkage(self.strength)
        rules = self._pick(mined, shrinkage.strength, inputs["mined_from"])
        yield "rules", (rules_json if self.format == "json" else rules_csv)(rules)
        yield (
            "weighed",
            WeighedRules(
                texts=mined.texts,
                left_out=sum(mined.faults.values()),
                reasons=dict(Counter(mined.faults).most_common(3)),
                replacements=mined.swaps,
                weighed=len(mined.sums.keys),
                rules=len(rules),
                by_label=dict(Counter(rule.label for rule in rules)),
                shrinkage=ShrinkageFigures(
                    strength=shrinkage.strength, within=shrinkage.within, between=shrinkage.between
                ),
                seconds={"finding": round(mined.finding, 2), "asking": round(mined.asking, 2)},
                processor_seconds=round(mined.processor, 2),
                strongest=tuple(rule for lines in strongest(rules).values() for rule in lines[:_SHOWN]),
            ),
        )

    def _pick(self, mined: Mined, strength: float, of: MinedFrom) -> list[Rule]:
        from malaprop.papers.universal.rules.diagnose import strongest

        rules = [rule for rule in mined.rules(of.labels, strength, every=self.every) if rule.count >= self.least]
        if self.best:
            rules = sorted((r for lines in strongest(rules).values() for r in lines), key=lambda r: r.number or 0)
        if not rules:
            raise DataError(
                f"no replacement in {of.data} lowers its label (weighed {self.least} times or more); give more texts, "
                "a smaller --least, or other victims"
            )
        return rules

    # --- what it adds up to

    def gather(self, root: Path) -> MinedRecord:
        from malaprop.frame.tasks.outputs import read_json, value_file
        from malaprop.papers.universal.rules.agree import Agreement
        from malaprop.papers.universal.rules.record import MinedRecord, WeighedRules

        weighed = read_json(value_file(root / "weighed"), WeighedRules)
        of = read_json(value_file(root / "mined_from"), MinedFrom)
        agreed = read_json(value_file(root / self.comparison), Agreement).to_dict() if self.compare else None
        return MinedRecord(
            **{one.name: getattr(weighed, one.name) for one in fields(weighed)},
            method=self.way, victims=of.victims, data=of.data, labels=of.labels, seed=self.texts.seed, agreement=agreed,
        )  # fmt: skip

    def view(self, record: MinedRecord) -> View:
        out = self.saving.out
        said, last = {name: value for name, value in record.to_dict().items() if name != "strongest"}, ""
        next = ""
        if out is not None:
            path = out / f"rules.{self.format}"
            said |= {"out": str(path)}
            last, next = f"rules: {path}", type_command("rules show", str(path), data=self.texts.data)
        return View(
            rows=[{"label": label, "rules": many} for label, many in record.by_label.items()],
            summary={"command": self.command, **said},
            notes=[
                f"{many} of {record.texts} texts were left out: {reason}" for reason, many in record.reasons.items()
            ],
            last=last,
            next=next,
        )
