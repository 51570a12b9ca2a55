"""malaprop train all63: train every model of the zoo as a task of its own, and write a table of their accuracies.

    python -m malaprop.features.training.zoo_study zoo/mr/all63.json zoo/ag/all63.json

writes one table from several files of the command.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.frame.records.trained import TrainedModel, TrainedRecord
from malaprop.frame.study.settings import type_command
from malaprop.frame.study.study import View
from malaprop.frame.study.training_methods import ALL, TEXTS

if TYPE_CHECKING:
    from malaprop.features.training.study import Train
    from malaprop.frame.tasks.task import Inputs, Task
    from malaprop.frame.tasks.worker_context import WorkerContext
    from malaprop.training.card import Card
    from malaprop.training.splits import Splits
    from malaprop.zoo.names import ZooSpec
    from malaprop.zoo.train import WordRows

SPECIAL = 64  # the number of every model that is not in the paper's table


def default_jobs(device: str) -> int:
    """Return the number of processes: up to 14 on a GPU, one for each core; on a CPU one for every two cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(14, cores - 1) if device.startswith("cuda") else cores // 2)


class ZooMember(NamedTuple):
    """One model to train, with its seed and its folder `at`, below the study's or in the cache."""

    spec: ZooSpec
    seed: int
    at: str

    @property
    def name(self) -> str:
        from malaprop.zoo.names import name_with_seed

        return name_with_seed(self.spec, self.seed)

    @property
    def weight(self) -> int:
        """Return a rough training time; the longest start first, so that none runs alone at the end."""
        if self.spec.fine_tuned:
            return 60
        kind = {"BiLSTM": 5, "LSTM": 3, "CNN": 1}.get(self.spec.encoder, 4) * self.spec.depth
        return kind + {"both": 12, "character": 6}.get(self.spec.units, 0)


@dataclass(frozen=True)
class Zoo:
    """Trains the chosen models; finished ones stay as they are, and one that fails does not stop the others."""

    study: Train

    @cached_property
    def texts(self) -> Splits:
        """Return the dataset's training, validation and test parts."""
        return self.study.texts.splits()

    @cached_property
    def words(self) -> WordRows:
        """Return the texts as word numbers, computed once for all models that read words."""
        from malaprop.zoo.train import WordRows

        return WordRows.of(self.texts, int(self.study.beginning.settings.get("least", 1)))

    @property
    def seeds(self) -> dict[ZooSpec, list[int]]:
        """Return the chosen models with their seeds: `--seeds` for a one-layer model, else one; NAME#2 has its own."""
        from malaprop.zoo import names as zoo

        found: dict[ZooSpec, list[int]] = {}
        for spec, seed in map(zoo.parse, self.study.only or (spec.name for spec in zoo.grid())):
            count = (self.study.seeds or 1) if spec.depth == 1 and not spec.fine_tuned else 1
            found.setdefault(spec, []).extend([seed] if seed else range(count))
        return {spec: sorted(set(seeds)) for spec, seeds in found.items()}

    @cached_property
    def members(self) -> tuple[ZooMember, ...]:
        """Return the models to train, each with its folder in --out or in the cache."""
        from malaprop.zoo import names as zoo
        from malaprop.zoo.cache import home

        given = self.study.beginning.given
        own = given.plain() if given.vectors or given.start or given.settings else None
        found = []
        for spec, seeds in self.seeds.items():
            for seed in seeds:
                cached = home(spec, self.texts, seed, own) if self.study.cache else None
                found.append(ZooMember(spec, seed, str(cached or zoo.name_with_seed(spec, seed))))
        return tuple(found)

    def check(self) -> None:
        from malaprop.zoo.train import check_settings

        check_settings(self.study.beginning.settings, list(self.seeds))
        for member in self.members:
            self._card(member, self.study.saving.out)

    def _card(self, member: ZooMember, root: Path | None) -> Card | None:
        """Return the card of a finished model; None if there is no model or it is damaged."""
        from malaprop.training.card import read_card
        from malaprop.zoo import checkpoint
        from malaprop.zoo.names import ZooSpec

        folder = (root or Path()) / member.at
        if (root is None and not self.study.cache) or not checkpoint.is_checkpoint(folder):
            return None
        try:
            card = read_card(folder)
        except MalapropError:
            return None
        found = (ZooSpec.from_card(card), card.seed, card.data_fingerprint)
        if found != (member.spec, member.seed, self.texts.fingerprint):
            raise SettingError(f"{folder} holds {card.name} trained on {card.data}; name another --out")
        return card

    def plan(self) -> Iterator[Task]:
        """Yield a task for each table of word vectors that models start from, then one for each model."""
        from malaprop.frame.tasks.outputs import Handover, OwnFolder
        from malaprop.frame.tasks.task import Task

        left = {member for member in self.members if self._card(member, self.study.saving.out) is None}
        own = self.study.beginning.vectors is not None
        vectors = {member.spec.embedding for member in left if member.spec.vectors and not own}
        for kind in sorted(vectors):
            work = partial(prepare_vectors, kind)
            yield Task(name=f"vectors/{kind}", work=work, output=Handover(), reads=self.read_texts, optional=True)
        for member in sorted(self.members, key=lambda member: -member.weight):
            stands_on = member.spec.embedding if member.spec.vectors else ""
            yield Task(
                name=member.name, work=partial(train_member, self.study, member), at=member.at,
                output=OwnFolder(TEXTS.mark, checks=member in left), optional=True, reads=self.read,
                after=(f"vectors/{stands_on}",) if stands_on in vectors else (),
            )  # fmt: skip

    def read_texts(self, inputs: Inputs) -> Inputs:
        del inputs
        return {"texts": self.texts}

    def read(self, inputs: Inputs) -> Inputs:
        return {**self.read_texts(inputs), "words": self.words}

    def gather(self, root: Path) -> tuple[TrainedModel, ...]:
        """Read the trained models, in the order of the paper's table."""
        found = (self._describe(member, root) for member in self.members)
        return tuple(sorted(found, key=lambda model: (model.number, model.name)))

    def _describe(self, member: ZooMember, root: Path) -> TrainedModel:
        from malaprop.frame.tasks.outputs import read_skipped
        from malaprop.zoo import names as zoo

        number = zoo.number(member.spec.name) if member.spec in set(zoo.grid()) else SPECIAL
        if (card := self._card(member, root)) is not None:
            return replace(TEXTS.describe(card), number=number, folder=member.at)
        why = read_skipped(root / member.at)
        return TrainedModel(
            name=member.name, data=self.texts.name, seed=member.seed, number=number, folder=member.at,
            reason="it was not trained" if why is None else why.reason,
        )  # fmt: skip

    def view(self, record: TrainedRecord) -> View:
        rows = table_rows(record, Path(self.study.texts.name).name)
        text, failed = markdown(rows), record.failed
        accuracies = {row["name"]: row["accuracy"] for row in rows}
        out = self.study.saving.out or Path()
        trained = f"{len(record.models) - len(failed)} models trained, {len(failed)} failed"
        who = ", ".join(model.name for model in failed[:5])
        return View(
            rows=rows,
            summary={"spec": ALL, "table": str(out / f"{ALL}.json"), "accuracy": accuracies},
            files={f"{ALL}.json": json.dumps(rows, indent=1, ensure_ascii=False) + "\n", f"{ALL}.md": text},
            text=text.rstrip,
            last=f"{trained}; table in {out / ALL}.md",
            next=type_command("transfer", victim="NAME,NAME", zoo=out),
            failed=f"{len(failed)} of {len(record.models)} models failed: {who}" if failed else "",
            report=False,
        )


def prepare_vectors(kind: str, worker: WorkerContext, inputs: Inputs) -> Iterator[bool]:
    """Find or train the word vectors that several models start from."""
    from malaprop.assets import store
    from malaprop.zoo.start_vectors import TRAINED, find_or_train_vectors

    del worker
    if kind in TRAINED:
        find_or_train_vectors(kind, inputs["texts"])
    else:
        store.locate("glove")
    yield True


def train_member(study: Train, member: ZooMember, worker: WorkerContext, inputs: Inputs) -> Iterator[Any]:
    """Train one model in its own folder."""
    from malaprop.frame.tasks.outputs import Note
    from malaprop.zoo.train import train

    card = train(
        member.spec,
        inputs["texts"],
        worker.folder,
        seed=member.seed,
        device=worker.device,
        given=replace(study.beginning.given, words=inputs["words"]),
        quiet=True,
    )
    yield Note(f"test accuracy {card.figures['test_accuracy']:.1%}")


def table_rows(record: TrainedRecord, data: str) -> list[dict[str, Any]]:
    """Return a row for each model, as all63.json has it."""
    return [
        {
            "number": model.number,
            "name": model.name,
            "data": data,
            "accuracy": model.figures.get("test_accuracy"),
            **{name: model.figures.get(name) for name in ("test_rows", "parameters", "epochs", "seconds")},
            "about": model.about,
            "reason": model.reason,
        }
        for model in record.models
    ]


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """Return a Markdown table with a line for each model and its accuracies by dataset and seed."""
    sets = list(dict.fromkeys(row["data"] for row in rows))
    cells: dict[tuple[int, str], dict[str, list[str]]] = {}
    for row in rows:
        name = row["name"].partition("#")[0]
        shown = f"{row['accuracy']:.1%}" if row["accuracy"] is not None else "failed"
        cells.setdefault((row["number"], name), {}).setdefault(row["data"], []).append(shown)
    lines = [f"| no. | model | {' | '.join(sets)} |", f"| --- | --- |{' --- |' * len(sets)}"]
    for (number, name), found in sorted(cells.items()):
        lines.append(f"| {number} | {name} | {' | '.join(', '.join(found.get(s, ['-'])) for s in sets)} |")
    return "\n".join(lines) + "\n"


def main(paths: Sequence[str]) -> str:
    """Return one table from several all63.json files."""
    rows = []
    for path in paths:
        try:
            rows += json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SettingError(f"cannot read {path}: {plain(error)}; give an all63.json of train all63") from None
    return markdown(rows)


if __name__ == "__main__":
    print(main(sys.argv[1:]), end="")
