"""malaprop transfer: does an attack on one model carry over to another?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import RecordError
from malaprop.frame.study.attack_tasks import check_judge, validity_option
from malaprop.frame.study.run_options import BudgetOptions, OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import build, opt
from malaprop.frame.study.study import Result, View, conduct
from malaprop.frame.study.vocabulary import SEVERAL, VICTIM
from malaprop.papers.universal.cached_models import find_homes
from malaprop.papers.universal.transfer_tasks import (
    SourceGroup,
    TransferTasks,
    judge,
    make_attack,
    measure_speed,
    name_folders,
    read_answers,
    read_drawn,
)

if TYPE_CHECKING:
    from malaprop.frame.tasks.task import Task
    from malaprop.papers.universal.record import Speed, TransferRecord
    from malaprop.papers.universal.study_models import StudyModel

VICTIMS = (
    "LSTM-W-Random-1",
    "LSTM-W-GloVe-1",
    "CNN-W-Random-1",
    "CNN-W-GloVe-1",
    "CNN-C-Random-1",
    "CNN-W-Random-2",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Attack every victim and try the adversarial texts on all the others: matrix, base rates, factors.

    The same --out resumes an interrupted run; a source that is finished is never attacked again.

    Examples:

      malaprop transfer --n 100 --jobs 2

      malaprop transfer --victim LSTM-W-GloVe-1,CNN-W-GloVe-1,./mine,my_model:predict --data reviews.csv --no-base

      malaprop transfer --victim all63 --data mr --jobs 14 --out runs/all63
    """

    command: ClassVar[str] = "transfer"

    victims: tuple[Any, ...] = opt(
        VICTIMS,
        f"Two or more. {VICTIM} A folder of models and all63 are many. {SEVERAL}",
        name="victim",
        old=("victims",),
        repeat=True,
    )
    train_data: str | None = opt(None, "What zoo names are trained on; --data, its training part, if not given.")
    training: Mapping[str, Any] = opt(
        {}, "A setting of the training of zoo names or their networks, as name=value; may be repeated.",
        name="train_set",
    )  # fmt: skip
    zoo: Path | None = opt(None, "Folder to which zoo names are trained, and where they are found; if not, the cache.")
    recipe: Any = opt(
        "pwws",
            "The recipe, such as pwws. pwws and genetic:wordnet take WordNet synonyms of the same part of speech.",
        name="attack", old=("recipe",), repeat=True,
    )  # fmt: skip
    settings: Mapping[str, Any] = opt({}, name="set")
    validity: str = validity_option()
    draw: int = opt(500, "Successes of each source that are tried.", min=1)
    base: bool = opt(True, "Base rates from a second model of each. Trained from another seed.")
    texts: Selection = Selection(n=1000)
    width: int = width_option()
    where: RunOptions = RunOptions()
    spending: BudgetOptions = BudgetOptions()
    saving: OutputOptions = OutputOptions()

    def check(self) -> None:
        make_attack(self.recipe, self.settings)  # raise on a wrong recipe name before models are looked up
        study_models = self.study_models()
        if self.training:
            from malaprop.zoo.names import parse
            from malaprop.zoo.train import check_settings

            check_settings(self.training, [parse(one.spec)[0] for one in study_models if one.trains])
        check_judge(self.validity)

    def study_models(self) -> list[StudyModel]:
        """Return the models of the study, each with its second."""
        from malaprop.papers.universal.study_models import choose_models
        from malaprop.zoo.names import name_with_seed, parse

        def find(names: Sequence[str]) -> dict[str, Path]:
            if self.zoo is not None:
                return {name: self.zoo / name_with_seed(*parse(name)) for name in names}
            data = self.train_data or self.texts.data
            return find_homes(names, data, training=self.training, **self.texts.columns)

        return choose_models(self.victims, find, base=self.base)

    def make_tasks(self, study_models: Sequence[StudyModel]) -> TransferTasks:
        from malaprop.papers.universal.study_models import expand_names

        return TransferTasks(
            texts=self.texts,
            specs=tuple(spec for spec in expand_names(self.victims) if isinstance(spec, str)),
            trains=any(model.trains for model in study_models),
            train_data=self.train_data or self.texts.data,
            training=self.training,
            recipe=self.recipe,
            settings=self.settings,
            wanted=self.draw,
            width=self.width,
            many=self.where.many,
            validity=self.validity,
        )

    def plan(self) -> Iterator[Task]:
        from malaprop.papers.universal.study_models import weight

        study_models = self.study_models()
        tasks = self.make_tasks(study_models)
        heavy = sorted(study_models, key=weight, reverse=True)
        seconds = {e.second.name: e.name for e in study_models if e.second is not None}
        models = [*heavy, *(e.second for e in heavy if e.second is not None)]
        places = name_folders(e.name for e in study_models)
        source_groups = [SourceGroup(e.name, places[e.name], (e.name,)) for e in heavy]
        yield from tasks.train_tasks(sorted(models, key=weight, reverse=True))
        yield from (inspections := tasks.inspect_tasks(models))
        yield from (attacks := tasks.attack_tasks(source_groups, "sources", models, inspections))
        yield tasks.draw_task("drawn", {p: name for name, p in places.items()}, attacks, needed=True)
        yield from tasks.answer_tasks("answers", "drawn", models, seconds)

    def gather(self, root: Path) -> TransferRecord:
        from malaprop.papers.universal.summary import TransferFigures, gather

        study_models = self.study_models()
        tasks = self.make_tasks(study_models)
        seconds = {e.second.name: e.name for e in study_models if e.second is not None}
        found = read_drawn(root / "drawn")
        answers = read_answers(root, "answers", [*(e.name for e in study_models), *seconds])
        verdicts = judge(root, answers, found, tasks.data, seconds)
        texts = self.texts
        said = TransferFigures(
            recipe=tasks.attack.name,
            data=tasks.data,
            data_spec=texts.data if isinstance(texts.data, str) else tasks.data.name,
            trained_on=tasks.train_data if tasks.trains else "",
            wanted=self.draw,
            seed=texts.seed,
            split=texts.split,
            columns={**texts.columns, "fields": texts.fields, "labels": ",".join(texts.labels) or None},
            settings={**self.settings, **({} if self.validity == "paper" else {"validity": self.validity})},
        )
        speed = measure_speed(root, answers, many=self.where.many, device=self.where.device)
        return gather(study_models, found, verdicts, said, speed if speed.wall else _speed_before(root) or speed)

    def view(self, record: TransferRecord) -> View:
        from malaprop.papers.universal.record import FILE, matrix_csv

        names = [model.name for model in record.models]
        rows = [
            {"source": source, "target": target, "hits": rate.hits, "total": rate.total, "rate": rate.value}
            for s, source in enumerate(names)
            for t, target in enumerate(names)
            if (rate := record.rate(s, t)) is not None
        ]
        summary, out = _summary(record), self.saving.out
        last = ""
        if out is not None:
            summary = {"record": str(out / FILE), **summary}
            last = f"record: {out / FILE}; report: {out / 'report.html'}"
        files, next = {"matrix.csv": matrix_csv(record)}, f"choose an ensemble: malaprop ensemble {out}"
        return View(rows=rows, summary=summary, files=files, last=last, next=next)


def _speed_before(root: Path) -> Speed | None:
    """Return the speed from the record of an earlier gather, for studies whose tasks.jsonl has no times."""
    from malaprop.papers.universal.record import TransferRecord

    try:
        found = TransferRecord.read(root)
    except RecordError:
        return None
    return None if found is None else found.speed


def _summary(record: TransferRecord) -> dict[str, Any]:
    """Return the main figures of the study as plain values, for `--json`."""
    speed = record.speed
    return {
        "recipe": record.recipe,
        "data": record.data,
        "texts": record.texts,
        "models": [
            {"name": m.name, "clean": m.clean.to_dict(), "success": m.success.to_dict(), "drawn": m.drawn}
            for m in record.models
        ],
        "factors": {f.name: [f.mean.value, f.mean.low, f.mean.high] for f in record.factors},
        "order": list(record.order),
        "order_share": record.order_share,
        "base": None if record.base is None else record.base.value,
        "pairs": None if record.pairs is None else record.pairs.value,
        "queries_a_second": round(speed.asked / speed.wall, 1) if speed.wall else None,
        "share_of_floor": round(speed.floor / speed.busy, 3) if speed.busy else None,
        "notes": list(record.notes),
    }


def transfer(  # noqa: PLR0913 - users set them by name
    victims: Sequence[Any] | None = None, *, data: Any = "mr", recipe: Any = None, n: int = 1000, draw: int = 500,
    base: bool = True, seed: int = 0, out: str | Path | None = None, jobs: int | None = None, device: str = "auto",
    **more: Any,
) -> Result:  # fmt: skip
    """Attack every victim and try the adversarial texts on all the others.

    `victims` are names of the zoo, which are trained, folders, or whatever `mp.victim` takes; `attack` is a recipe's
    name or an attack (`recipe` is its old name); `data` is a name, a file, (text, label) pairs or a frame. Of each
    source `draw` successes are tried on the others. `base`: a second model of each, trained from another seed, gives
    base rates. The other settings of `malaprop transfer` may be given by their names.

    The result's `record` is a `TransferRecord`: `record.rate(source, target)` is how often the target is wrong about
    the adversarial texts of the source. `to_frame()` has a row a pair, `report()` writes the page. Without `out` all is
    in a temporary folder, which goes with the result; the same `out` resumes what was interrupted.

        found = mp.transfer(["LSTM-W-GloVe-1", "CNN-W-GloVe-1"], data="mr", n=100, jobs=2)
        print(found.record.rate(0, 1))
    """
    given = {
        "data": data, "n": n, "draw": draw, "base": base, "seed": seed, "jobs": jobs, "device": device, "quiet": True,
        **more,
    }  # fmt: skip
    named = {"victims": victims, "recipe": recipe, "out": out}
    given |= {name: value for name, value in named.items() if value is not None}
    return conduct(build(Transfer, given))
