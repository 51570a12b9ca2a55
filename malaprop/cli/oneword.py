"""The work of malaprop study oneword: models are trained, put to the test texts, attacked; what is done is kept."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from malaprop.analysis.oneword import Plan, Texts, common, done, run_folder
from malaprop.analysis.oneword import gather as added_up
from malaprop.cli.options import finish, out_folder, say, slug, tell
from malaprop.core.capability import Capability
from malaprop.core.errors import DataError, RecordError, SettingError
from malaprop.core.score import winners
from malaprop.data.matching import agree
from malaprop.records.oneword import Study

if TYPE_CHECKING:
    from malaprop.core.victim import Victim
    from malaprop.data.base import Dataset
    from malaprop.studies.selection import Selection

EXAMINED = 2000  # test texts that models are put to, if there are so many
_BLOCK = 512
_OF_RECIPES = ("layer", "direction", "probe")
T = TypeVar("T")


def named(specs: Sequence[str]) -> dict[str, str]:
    """A name for each model, distinct, and what was asked for by it."""
    out: dict[str, str] = {}
    for spec in specs:
        name = slug(Path(spec).name if Path(spec).is_dir() else spec)
        if name in out:
            raise SettingError(f"--models names {name} twice; each model is attacked once")
        out[name] = spec
    if not out:
        raise SettingError("--models names no model; as BiLSTM-Attention,BERT,Transformer-3")
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """All that a process needs to know to do its part. `specs` holds what each model was asked for by."""

    root: Path
    plan: Plan
    specs: Mapping[str, str]
    selection: Selection
    width: int
    device: str
    precision: str
    settings: Mapping[str, Any]  # of the training and the networks
    measures: tuple[str, ...]
    jobs: int
    quiet: bool

    def study(self, *, rest: bool = True) -> Study:
        """Everything that is not there yet, unless the `rest` is to be left, and the record over all."""
        self._check()
        if not rest:
            if (chosen := Texts.read(self.root)) is None:
                raise RecordError(f"{self.root} holds no study of one-word attacks; leave out --gather to begin one")
            return self.gathered(chosen)
        with self._helpers() as helpers:
            for line in self._all(helpers, self.train, [name for name in self.specs if self._untrained(name)]):
                say(line, self.quiet)
            texts = self._texts(helpers)
            missing = [cell for cell in self.plan.cells() if not done(run_folder(self.root, *cell))]
            left = dict.fromkeys(model for model, recipe in missing if not self._lacks(texts, model, recipe))
            for lines in self._all(helpers, partial(self.attack, texts), left):
                for line in lines:
                    say(line, self.quiet)
        return self.gathered(texts)

    def gathered(self, texts: Texts) -> Study:
        """The record of what is on disk."""
        from malaprop.analysis.quality import quality
        from malaprop.data.base import choose, editable

        lacking = {cell: why for cell in self.plan.cells() if (why := self._lacks(texts, *cell))}
        opened = (
            choose(texts.data, texts.fields, self.selection.fields) if self.selection.fields else editable(texts.fields)
        )
        measure = partial(quality, names=self.measures, fields=opened) if self.measures else None
        kin = {name: _kin(spec) for name, spec in self.specs.items()}
        return added_up(self.root, self.plan, texts, kin=kin, lacking=lacking, quality=measure)

    def _check(self) -> None:
        """A wrong name should not wait for a model."""
        from malaprop.analysis.quality import check
        from malaprop.models.train import check_settings
        from malaprop.models.zoo import parse
        from malaprop.runs.api import recipe

        check(self.measures)
        check_settings(self.settings, [parse(self.specs[name])[0] for name in self.specs if self._trains(name)])
        for name in self.plan.recipes:
            recipe(name, **self.plan.settings(name))

    # --- models

    def _folder(self, name: str) -> Path:
        return self.root / "models" / name

    def _trains(self, name: str) -> bool:
        from malaprop.models.zoo import is_name

        return is_name(self.specs[name]) and not Path(self.specs[name]).is_dir()

    def _untrained(self, name: str) -> bool:
        there = Texts.read(self.root) is not None or (self._folder(name) / "model.json").is_file()
        return self._trains(name) and not there

    def train(self, name: str) -> str:
        from malaprop.models.train import Given
        from malaprop.runs.zoo import train

        figures = train(
            self.specs[name],
            self.selection.data,
            self._folder(name),
            seed=self.selection.seed,
            device=self.device,
            given=Given(settings=self._own(name)),
            quiet=self.quiet,
            **self.selection.columns,
        )
        return f"{name}: right on {figures['test_accuracy']:.1%} of the test texts"

    def _own(self, name: str) -> dict[str, Any]:
        """The settings that this model has."""
        from malaprop.models.train import check_settings
        from malaprop.models.zoo import parse

        def has(setting: str, value: object) -> bool:
            try:
                check_settings({setting: value}, [parse(self.specs[name])[0]])
            except SettingError:
                return False
            return True

        return {setting: value for setting, value in self.settings.items() if has(setting, value)}

    def _victim(self, name: str) -> Victim:
        from malaprop.runs.victims import victim

        spec = str(self._folder(name)) if self._trains(name) else self.specs[name]
        return victim(spec, device=self.device, precision=self.precision, quiet=self.quiet)

    # --- texts

    def _test(self) -> Dataset:
        """The test part, in the order of the seed."""
        trains = any(map(self._trains, self.specs))
        return replace(self.selection, n=EXAMINED).held(tuple(self.specs.values()), trains=trains)

    def _texts(self, helpers: Executor | None) -> Texts:
        """Those chosen before, or chosen now: the first that every model answers correctly."""
        found = Texts.read(self.root)
        if found is not None:
            if missing := [name for name in self.specs if name not in found.right]:
                raise SettingError(f"the study in {self.root} has no {missing[0]}; give another --out")
            return found
        test = self._test()
        tell(test.notes, self.quiet)
        answers = dict(zip(self.specs, self._all(helpers, self.answers, self.specs), strict=True))
        right = {name: flags for name, (flags, _) in answers.items()}
        ids, many = common(right, [e.id for e in test], self.selection.n)
        said = ", ".join(f"{name} {sum(flags) / len(test):.1%}" for name, flags in right.items())
        say(f"of {len(test):,} test texts all models answer {many:,} correctly ({said})", self.quiet)
        if not ids:
            raise DataError(f"no text of {test.name} is answered correctly by all of {', '.join(self.specs)}")
        made = Texts(
            data=test.name,
            fields=test.fields,
            seed=self.selection.seed,
            examined=len(test),
            common=many,
            ids=ids,
            right={name: sum(flags) for name, flags in right.items()},
            offers={name: offers for name, (_, offers) in answers.items()},
        )
        made.write(self.root)
        return made

    def answers(self, name: str) -> tuple[list[bool], list[str]]:
        """Which test texts a model answers correctly, and what it offers."""
        target = self._victim(name)
        test = agree(self._test(), target)
        flags: list[bool] = []
        for at in range(0, len(test), _BLOCK):
            part = test.examples[at : at + _BLOCK]
            given = winners(target.predict([tuple(e.fields.values()) for e in part]))
            flags += [e.label == label for e, label in zip(part, given.tolist(), strict=True)]
        return flags, sorted(target.offers)

    # --- attacks

    def _lacks(self, texts: Texts, model: str, recipe: str) -> str:
        """Why a recipe cannot run on a model; nothing where it can."""
        from malaprop.runs.api import recipe as make

        missing = make(recipe, **self.plan.settings(recipe)).needs - {Capability(o) for o in texts.offers[model]}
        return f"shows no {' and no '.join(sorted(missing))}" if missing else ""

    def attack(self, texts: Texts, model: str) -> list[str]:
        """All that is left to do on one model."""
        from malaprop.records.summary import Summary
        from malaprop.runs.api import recipe as make
        from malaprop.runs.folder import run_to_folder

        target = self._victim(model)
        chosen = set(texts.ids)
        test = agree(self._test(), target)
        data = replace(test, examples=tuple(e for e in test if e.id in chosen))
        measures = ("distance",) if Capability.EMBEDDINGS in target.offers else ()
        lines = []
        for recipe in self.plan.recipes:
            folder = run_folder(self.root, model, recipe)
            if done(folder) or self._lacks(texts, model, recipe):
                continue
            made = make(recipe, **self.plan.settings(recipe)).but(measures=measures)
            outcomes = run_to_folder(
                made, target, data, folder, seed=self.selection.seed, width=self.width, resume=folder.is_dir()
            )
            lines.append(f"{model}, {recipe}: broke {Summary.of(outcomes).success}")
            if self.jobs == 1:
                say(lines.pop(), self.quiet)
        return lines

    @contextmanager
    def _helpers(self) -> Iterator[Executor | None]:
        """Processes that each take a model; None where there is but one at a time."""
        if self.jobs == 1 or len(self.specs) < 2:
            yield None
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(self.jobs, len(self.specs)), context, _one_thread) as pool:
            yield pool

    @staticmethod
    def _all(helpers: Executor | None, task: Callable[[str], T], names: Iterable[str]) -> Iterator[T]:
        """As they are done, in the order of the names."""
        return map(task, names) if helpers is None else helpers.map(task, names)


def conduct(
    models: Sequence[str],
    given: list[str],
    *,
    recipes: tuple[str, ...],
    vocabulary: int,
    words: int,
    trials: int,
    gather: bool,
    device: str,
    out: Path | None,
    json: bool,
    **how: Any,
) -> None:
    """The whole study: records, tables and report in its folder."""
    from malaprop.core.settings import overrides
    from malaprop.records.store import check_writable
    from malaprop.reports.oneword import markdown
    from malaprop.reports.page import write_report
    from malaprop.runs.victims import device_of

    specs, settings = named(models), overrides(given)
    more = {name: settings.pop(name) for name in _OF_RECIPES if name in settings}
    plan = Plan(models=tuple(specs), recipes=recipes, vocabulary=vocabulary, words=words, trials=trials, more=more)
    folder = out_folder(out, False, "study", "oneword", how["selection"].data)
    check_writable(folder)
    folder.mkdir(parents=True, exist_ok=True)
    work = Work(root=folder, plan=plan, specs=specs, device=device_of(device), settings=settings, **how)
    found = work.study(rest=not gather)
    found.write(folder)
    (folder / "oneword.md").write_text(markdown(found), encoding="utf-8")
    report = write_report([folder], folder / "report.html")
    if not how["quiet"]:
        print(markdown(found))
    say(f"figures in {folder}; report: {report}", how["quiet"])
    rates = {m.name: {"accuracy": m.accuracy.to_dict(), "success": _rates(found, m.name)} for m in found.models}
    finish({"command": "study", "kind": "oneword", "out": str(folder), "report": str(report), "models": rates}, json)


def _rates(found: Study, model: str) -> dict[str, Any]:
    return {c.recipe: c.success.to_dict() for c in found.cells if c.model == model and not c.reason}


def _one_thread() -> None:
    """Several processes on one machine: each keeps to one core."""
    import torch

    torch.set_num_threads(max(1, int(os.environ.get("OMP_NUM_THREADS", "1"))))


def _kin(spec: str) -> str:
    """What the paper calls a model of this kind."""
    name = spec.lower()
    if "lstm-attention" in name:
        return "LSTM"
    if "transformer-3" in name or "pair-transformer" in name:
        return "BERT without pre-training"
    return "BERT" if Path(name).name.startswith("bert") else ""
