"""The work of malaprop transfer and ensemble: victims, data and processes are put together, the record is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from malaprop.cli.options import say, selection, tell
from malaprop.cli.progress import Seen, outcomes_bar
from malaprop.core.catalogue import unknown
from malaprop.core.errors import RecordError, SettingError
from malaprop.data.base import Dataset
from malaprop.records.store import check_writable
from malaprop.records.transfer import TransferRecord
from malaprop.runs.folder import ENGINES
from malaprop.runs.victims import device_of
from malaprop.runs.zoo import ensure
from malaprop.studies.selection import Selection
from malaprop.transfer.campaign import Campaign
from malaprop.transfer.ensembles import Choice, ensembles
from malaprop.transfer.entrants import Entrant, enter, spread
from malaprop.transfer.hands import Hands, Here, Processes
from malaprop.transfer.recipes import study_recipe
from malaprop.transfer.shelf import Place, Ref
from malaprop.transfer.study import Said, transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What both commands need to know."""

    texts: Selection
    train_data: str
    recipe: str
    settings: Mapping[str, Any]
    width: int
    device: str = "auto"
    precision: str = "auto"
    jobs: int = 1
    engine: str = "local"
    address: str | None = None
    workers: int | None = None
    quiet: bool = False

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise unknown("engine", self.engine, ENGINES)
        if self.engine == "local" and (self.address is not None or self.workers is not None):
            raise SettingError("--address and --workers are for --engine ray")
        if self.engine == "ray" and self.jobs > 1:
            raise SettingError("--jobs is for --engine local; with --engine ray give --workers")

    def dataset(self, specs: Sequence[str], trained: bool) -> Dataset:
        """The texts to attack. Of a file that a model is, or was, trained on, only rows that it did not see."""
        found = self.texts.held(spread(specs), trains=trained and self.texts.data == self.train_data)
        tell(found.notes, self.quiet)
        return found

    def entrants(self, specs: Sequence[str], *, base: bool) -> tuple[list[Entrant], bool]:
        """The models, and whether zoo names are among them."""
        trained: list[str] = []

        def make(names: Sequence[str]) -> dict[str, Path]:
            trained.extend(names)
            return ensure(
                names,
                self.train_data,
                jobs=self.jobs,
                device=self.place_device,
                say=partial(say, quiet=self.quiet),
                **self.texts.columns,
            )

        return enter(specs, make, base=base), bool(trained)

    @property
    def place_device(self) -> str:
        return device_of(self.device)

    @contextmanager
    def hands(self) -> Iterator[Hands]:
        if self.engine == "ray":
            from malaprop.runs.cluster import join
            from malaprop.transfer.onray import OnRay

            place = Place(device=self.device, precision=self.precision)
            with join(self.address, workers=self.workers) as session:
                yield OnRay(session, place, workers=self.workers)
            return
        place = Place(device=self.place_device, precision=self.precision)
        with Here(place) if self.jobs == 1 else Processes(self.jobs, place) as found:
            yield found

    def campaign(self, hands: Hands, data: Dataset, seen: Seen) -> Campaign:
        return Campaign(
            hands=hands,
            data=data,
            attack=study_recipe(self.recipe, **self.settings),
            seed=self.texts.seed,
            width=self.width,
            say=partial(say, quiet=self.quiet),
            seen=seen,
        )


def run_transfer(settings: Settings, specs: Sequence[str], folder: Path, *, wanted: int, base: bool) -> dict[str, Any]:
    """The study, its record and its report; gives the summary."""
    from malaprop.reports.page import write_report
    from malaprop.reports.transfer import terminal, write_matrix

    check_writable(folder)
    study_recipe(settings.recipe, **settings.settings)  # a wrong name should not wait for models
    entrants, trained = settings.entrants(specs, base=base)
    data = settings.dataset(specs, trained)
    said = Said(
        data=settings.texts.data,
        trained_on=settings.train_data if trained else "",
        split=settings.texts.split,
        columns={
            **settings.texts.columns,
            "fields": settings.texts.fields,
            "labels": ",".join(settings.texts.labels) or None,
        },
        settings=dict(settings.settings),
        device=settings.device,
    )
    with settings.hands() as hands:
        total = len(entrants) * len(data)
        with outcomes_bar(f"{settings.recipe} on {len(entrants)} models", total, settings.quiet) as seen:
            record = transfer(entrants, settings.campaign(hands, data, seen), folder, wanted=wanted, said=said)
    if not record.speed.wall and (before := _before(folder)) is not None:
        record = replace(record, speed=before.speed)  # all was attacked then
    path = record.write(folder)
    write_matrix(record, folder / "matrix.csv")
    report = write_report([folder], folder / "report.html")
    if not settings.quiet:
        print(terminal(record))
    say(f"record: {path}; report: {report}", settings.quiet)
    return {"out": str(folder), "record": str(path), "report": str(report), **summary_of(record)}


def _before(folder: Path) -> TransferRecord | None:
    """The record that is about to be replaced, where it can be read."""
    try:
        return TransferRecord.read(folder)
    except RecordError:
        return None


def summary_of(record: TransferRecord) -> dict[str, Any]:
    """The study in few values, for machines."""
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


def run_ensembles(
    folder: Path,
    choice: Choice,
    *,
    seed: int | None = None,
    width: int,
    device: str,
    precision: str,
    jobs: int,
    quiet: bool,
) -> dict[str, Any]:
    """Ensembles of a study that lies on disk."""
    from malaprop.reports.ensembles import terminal
    from malaprop.reports.page import write_report

    record = TransferRecord.read(folder)
    if record is None:
        raise RecordError(f"{folder} holds no transfer study; run malaprop transfer --out {folder} first")
    columns = {name: record.columns.get(name) for name in ("text", "label", "fields", "labels")}
    settings = Settings(
        texts=selection(record.data_spec, record.split, record.texts, record.seed, **columns),
        train_data=record.trained_on or record.data_spec, recipe=record.recipe, settings=record.settings,
        width=width, device=device, precision=precision, jobs=jobs, quiet=quiet,
    )  # fmt: skip
    choice = replace(choice, seed=record.seed if seed is None else seed)
    refs = _refs(record, settings)
    data = settings.dataset([model.spec for model in record.models], bool(record.trained_on))
    most = len(choice.sizes) * len(choice.how) * len(data)
    with settings.hands() as hands, outcomes_bar(f"{record.recipe} on ensembles", most, quiet) as seen:
        found = ensembles(record, refs, settings.campaign(hands, data, seen), folder, choice)
    path = found.write(folder)
    report = write_report([folder], folder / "report.html")
    if not quiet:
        print(terminal(found))
    say(f"record: {path}; report: {report}", quiet)
    chosen = [
        {
            "size": c.size,
            "how": c.how,
            "members": list(c.members),
            "fitness": c.fitness,
            "outside": None if c.outside is None else list(astuple(c.outside)),
            "unseen": None if c.unseen is None else list(astuple(c.unseen)),
            "drawn": c.drawn,
        }
        for c in found.chosen
    ]
    return {
        "out": str(folder),
        "record": str(path),
        "report": str(report),
        "ensembles": chosen,
        "notes": list(found.notes),
    }


def _refs(record: TransferRecord, settings: Settings) -> dict[str, Ref]:
    """The study's models, loaded again by what was typed."""
    found, _ = settings.entrants([model.spec for model in record.models], base=False)
    refs = {entrant.name: entrant.ref for entrant in found}
    for model in record.models:
        if model.name not in refs:
            raise RecordError(
                f"{model.name} of the study was {model.spec}, and no such model is there now, as seen from here "
                f"({Path.cwd()}); run this where the study was run, put the model back, or run the study again"
            )
    return refs
