"""malaprop ensemble: search for the models that, attacked together, give the texts that transfer furthest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from malaprop.core.errors import RecordError, SettingError
from malaprop.frame.study.run_options import OutputOptions, RunOptions, width_option
from malaprop.frame.study.selection import Selection
from malaprop.frame.study.settings import opt
from malaprop.frame.study.study import FILE as STUDY
from malaprop.frame.study.study import View
from malaprop.papers.universal.study import Transfer
from malaprop.papers.universal.transfer_tasks import SourceGroup, judge, read_answers, read_drawn

if TYPE_CHECKING:
    from malaprop.frame.tasks.task import Task
    from malaprop.papers.universal.ensembles import EnsembleChoice
    from malaprop.papers.universal.ensembles_record import EnsemblesRecord
    from malaprop.papers.universal.record import TransferRecord
    from malaprop.papers.universal.study_models import StudyModel


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleSearch:
    """Choose ensembles from a transfer study, attack them, and try their adversarial texts on models outside them.

    An ensemble that was attacked before is not attacked again. Writes to the study's own folder.

    Examples:

      malaprop ensemble --from runs/all63 --size 2..7 --jobs 14

      malaprop ensemble --from runs/mine --size 2 --by genetic,greedy
    """

    command: ClassVar[str] = "ensemble"
    file: ClassVar[str] = "ensemble.toml"  # beside the study.toml of the transfer study

    source: Path = opt(help="The --out of a transfer study.", name="from", free=True)
    size: str = opt("2..7", "How many members: 3, 2..7 or 2,4,6.", free=True)
    by: tuple[str, ...] = opt(
        ("genetic", "expert", "greedy", "exact"),
        "How to choose: genetic, expert, greedy, exact. Separated by commas.",
        free=True,
    )
    hold_out: int = opt(
        0, "How many models only test the choice. Drawn by the seed and hidden from it.", min=0, free=True
    )
    population: int = opt(60, "genetic: ensembles in a generation.", min=2, free=True)
    generations: int = opt(60, "Genetic algorithm: generations.", min=0, free=True)
    seed: int | None = opt(None, "Seed of the choice; the study's own if not given.", min=0, free=True)
    width: int = width_option()
    where: RunOptions = RunOptions()
    json: bool = opt(False, free=True)
    quiet: bool = opt(False, free=True)

    @property
    def saving(self) -> OutputOptions:
        """Return the output options: everything is written to the transfer study's folder."""
        return OutputOptions(out=self.source, json=self.json, quiet=self.quiet)

    def check(self) -> None:
        self.choice(0)
        self.study_models()

    def choice(self, seed: int) -> EnsembleChoice:
        """Return how ensembles are chosen; `seed` is used where the user gave none."""
        from malaprop.papers.universal.choose_ensemble import GeneticChoice
        from malaprop.papers.universal.ensembles import EnsembleChoice

        return EnsembleChoice(
            sizes=_sizes(self.size),
            how=self.by,
            unseen=self.hold_out,
            genetic=GeneticChoice(population=self.population, generations=self.generations),
            seed=seed if self.seed is None else self.seed,
        )

    @property
    def matrix(self) -> TransferRecord:
        """Return the record of the transfer study."""
        from malaprop.papers.universal.record import TransferRecord

        record = TransferRecord.read(self.source)
        if record is None:
            raise RecordError(f"{self.source} holds no transfer study; run malaprop transfer --out {self.source} first")
        return record

    @property
    def transfer(self) -> Transfer:
        """Return the transfer study's settings, from its study.toml, or from its record where there is no such file."""
        from malaprop.frame.study.commands import read_study

        if (self.source / STUDY).is_file():
            found = read_study(self.source / STUDY)
            if not isinstance(found, Transfer):
                raise RecordError(f"{self.source} holds a study of malaprop {found.command}, not of malaprop transfer")
        else:
            found = _read_settings(self.matrix)
        return replace(found, base=False, width=self.width, where=self.where)

    def study_models(self) -> list[StudyModel]:
        """Return the models of the transfer study in its order, found again by the names that the user typed."""
        record = self.matrix
        by_name = {model.name: model for model in self.transfer.study_models()}
        for model in record.models:
            if model.name not in by_name:
                raise RecordError(
                    f"{model.name} of the study was {model.spec}, which cannot be found from the folder {Path.cwd()}; "
                    "run this where the study was run, put the model back, or run the study again"
                )
        return [by_name[model.name] for model in record.models]

    def source_groups(self, record: TransferRecord) -> list[SourceGroup]:
        """Return the chosen ensembles, each once; those that take longest to attack come first."""
        from malaprop.papers.universal.ensembles import key_of, pick
        from malaprop.papers.universal.study_models import weigh_traits

        names = [model.name for model in record.models]
        picks, _, _ = pick(record, self.choice(record.seed))
        found = {}
        for one in picks:
            members = tuple(names[i] for i in one.members)
            key = key_of(one.members, names)
            found[key] = SourceGroup(f"ensemble:{'+'.join(members)}", key, members)
        weights = {model.name: weigh_traits(model.traits) for model in record.models}
        return sorted(found.values(), key=lambda source_group: -sum(weights[name] for name in source_group.members))

    def plan(self) -> Iterator[Task]:
        record, study_models, study = self.matrix, self.study_models(), self.transfer
        tasks = study.make_tasks(study_models)
        source_groups = self.source_groups(record)
        drawn, answers = self._places(source_groups)
        yield from tasks.train_tasks(study_models)
        yield from (inspections := tasks.inspect_tasks(study_models))
        yield from (attacks := tasks.attack_tasks(source_groups, "ensembles", study_models, inspections))
        yield tasks.draw_task(
            drawn, {source_group.folder: source_group.folder for source_group in source_groups}, attacks, needed=False
        )
        yield from tasks.answer_tasks(answers, drawn, study_models, {})

    def _places(self, source_groups: list[SourceGroup]) -> tuple[str, str]:
        """Return the folders of the sampled texts of these ensembles, and of the models' answers to them."""
        key = blake2b(
            " ".join(sorted(source_group.folder for source_group in source_groups)).encode(), digest_size=5
        ).hexdigest()
        return f"ensembles/drawn/{key}", f"ensembles/answers/{key}"

    def gather(self, root: Path) -> EnsemblesRecord:
        from malaprop.papers.universal.ensembles import gather

        record, study_models = self.matrix, self.study_models()
        drawn, answers = self._places(self.source_groups(record))
        found = read_drawn(root / drawn)
        said = read_answers(root, answers, [model.name for model in study_models])
        verdicts = judge(root, said, found, self.transfer.make_tasks(study_models).data, {})
        return gather(record, self.choice(record.seed), found, verdicts)

    def view(self, record: EnsemblesRecord) -> View:
        from malaprop.papers.universal.ensembles_record import FILE

        chosen: list[dict[str, Any]] = [
            {
                "size": c.size,
                "how": c.how,
                "members": list(c.members),
                "fitness": c.fitness,
                "outside": None if c.outside is None else list(astuple(c.outside)),
                "unseen": None if c.unseen is None else list(astuple(c.unseen)),
                "drawn": c.drawn,
            }
            for c in record.chosen
        ]
        path = self.source / FILE
        return View(
            rows=chosen,
            summary={"record": str(path), "ensembles": chosen, "notes": list(record.notes)},
            last=f"record: {path}; report: {self.source / 'report.html'}",
        )


def _read_settings(record: TransferRecord) -> Transfer:
    """Rebuild the settings of a transfer study from its record."""
    columns = record.columns
    labels = columns.get("labels") or ""
    return Transfer(
        victims=tuple(model.spec for model in record.models),
        train_data=record.trained_on or None,
        recipe=record.recipe,
        settings=record.settings,
        draw=record.wanted,
        texts=Selection(
            data=record.data_spec, split=record.split, n=record.texts, seed=record.seed, text=columns.get("text"),
            label=columns.get("label"), fields=columns.get("fields"), labels=tuple(filter(None, labels.split(","))),
        ),
    )  # fmt: skip


def _sizes(text: str) -> tuple[int, ...]:
    sizes: set[int] = set()
    for part in text.split(","):
        low, dots, high = part.strip().partition("..")
        ends = (low, high if dots else low)
        if not all(end.isdecimal() and 0 < int(end) < 1000 for end in ends) or int(ends[0]) > int(ends[1]):
            raise SettingError(f"--size takes a number, a range such as 2..7, or several with commas, got {text!r}")
        sizes.update(range(int(ends[0]), int(ends[1]) + 1))
    return tuple(sorted(sizes))
