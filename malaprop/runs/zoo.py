"""Training by name with the datasets at hand: one model, or all 63 of them, several at a time."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from malaprop.core.errors import MalapropError, SettingError, plain
from malaprop.data.base import load as read

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

    from malaprop.models.splits import Splits
    from malaprop.models.tokens.wordrows import WordRows
    from malaprop.models.train import Given
    from malaprop.models.zoo import ZooSpec


_PRELOAD = (  # what every process would import for seconds: torch's optimisers bring in the first of them
    "torch._dynamo",
    "safetensors.torch",
    "malaprop.models.train",
    "malaprop.models.finetune",
    "malaprop.models.pretrain.elmo",
    "malaprop.models.blocks.elmowords",
    "malaprop.models.victims.hf",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.roberta.modeling_roberta",
    "transformers.models.albert.modeling_albert",
)


class Task(NamedTuple):
    """One model to be trained."""

    spec: ZooSpec
    seed: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one model: its figures, or why there are none."""

    name: str
    number: int
    folder: str
    seconds: float
    figures: dict[str, float]
    about: str = ""
    reason: str = ""
    there: bool = False  # trained before

    @property
    def line(self) -> str:
        if self.reason:
            return f"{self.name}: failed, {self.reason}"
        accuracy = f"{self.figures['test_accuracy']:.1%}"
        return f"{self.name}: {accuracy}, {'trained before' if self.there else f'{self.seconds:.0f} s'}"


def train(
    name: str,
    data: str,
    folder: Path,
    *,
    seed: int = 0,
    text: str | None = None,
    label: str | None = None,
    device: str = "cpu",
    given: Given | None = None,
    quiet: bool = False,
) -> dict[str, float]:
    """Trains a zoo model on a dataset to a folder; gives its figures."""
    from malaprop.models import zoo
    from malaprop.models.splits import splits
    from malaprop.models.train import Given as Nothing
    from malaprop.models.train import check_settings
    from malaprop.models.train import train as fit

    spec, seed = zoo.parse(name, seed)
    given = given or Nothing()
    check_settings(given.settings or {}, [spec])
    parts = splits(partial(read, text=text, label=label), data)
    return fit(spec, parts, folder, seed=seed, device=device, given=given, quiet=quiet).figures


def _least(given: Given | None) -> int:
    """How often a word must have been seen to be known to word models."""
    return int((given.settings or {}).get("least", 1)) if given is not None else 1


def train_all(
    data: str,
    folder: Path | None,
    *,
    seeds: int = 1,
    jobs: int | None = None,
    only: Sequence[str] = (),
    text: str | None = None,
    label: str | None = None,
    device: str = "cpu",
    given: Given | None = None,
    say: Callable[[str], None] = print,
) -> list[Outcome]:
    """Trains the 63 to folders of their names, or to the cache; those that are there are left alone.

    With `seeds` above 1 the models of one layer are trained that often. One that fails, or whose process dies, takes
    none of the others with it.
    """
    from malaprop.models import zoo
    from malaprop.models.splits import splits
    from malaprop.models.tokens.wordrows import WordRows
    from malaprop.models.train import Given as Nothing
    from malaprop.models.train import check_settings

    given = given or Nothing()
    specs = [zoo.ZooSpec.of(name) for name in only] or list(zoo.grid())
    check_settings(given.settings or {}, specs)
    parts = splits(partial(read, text=text, label=label), data)
    tasks = _tasks(specs, parts, folder, seeds, given)
    ready = {task: _there(task, parts) for task in tasks}
    done = [outcome for outcome in ready.values() if outcome]
    left = sorted((task for task, outcome in ready.items() if not outcome), key=_weight, reverse=True)
    if done:
        say(f"{len(done)} of {len(tasks)} models are there already")
    if left:
        _prepare_shared(left, parts, given, say)
        words = WordRows.of(parts, _least(given))
        many = min(jobs or default_jobs(device), len(left))
        say(f"training {len(left)} models on {parts.name} ({len(parts.train):,} texts), {many} at a time on {device}")
        for outcome in _pool(left, many, parts, words, given, device):
            done.append(outcome)
            say(f"[{len(done)}/{len(tasks)}] {outcome.line}")
    return sorted(done, key=lambda o: (o.number, o.name))


def default_jobs(device: str) -> int:
    """On a GPU as many as there are cores, up to 14; on a CPU one for two cores, as each model uses several."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(14, cores - 1) if device.startswith("cuda") else cores // 2)


def _tasks(specs: Sequence[ZooSpec], data: Splits, folder: Path | None, seeds: int, given: Given) -> list[Task]:
    from malaprop.models import zoo
    from malaprop.models.trained import home

    out = []
    for spec in specs:
        for seed in range(seeds if spec.depth == 1 and not spec.fine_tuned else 1):
            told = given.plain() if given.vectors or given.start or given.settings else None
            place = folder / zoo.called(spec, seed) if folder else home(spec, data, seed, told)
            out.append(Task(spec, seed, place))
    return out


def _there(task: Task, data: Splits) -> Outcome | None:
    """The outcome of a model that was trained before, on this data."""
    from malaprop.models import checkpoint

    if not checkpoint.is_checkpoint(task.folder):
        return None
    try:
        card = checkpoint.read_card(task.folder)
    except MalapropError:
        return None  # damaged or of another version: trained again
    if (card.zoo, card.seed, card.data_fingerprint) != (task.spec, task.seed, data.fingerprint):
        raise SettingError(f"{task.folder} holds {card.name} trained on {card.data}; name another --out")
    return _outcome(task, card.figures, card.about, 0.0, there=True)


def _outcome(task: Task, figures: dict[str, float], about: str, seconds: float, **more: Any) -> Outcome:
    from malaprop.models import zoo

    return Outcome(
        name=zoo.called(task.spec, task.seed),
        number=zoo.number(task.spec.name) if not task.spec.special else 64,
        folder=str(task.folder),
        seconds=round(seconds, 1),
        figures=figures,
        about=about,
        **more,
    )


def _weight(task: Task) -> int:
    """About how long a model takes: the longest are begun first, so that none is alone at the end."""
    spec = task.spec
    if spec.fine_tuned:
        return 60
    kind = {"BiLSTM": 5, "LSTM": 3, "CNN": 1}.get(spec.encoder, 4) * spec.depth
    return kind + {"both": 12, "character": 6}.get(spec.units, 0)


def _prepare_shared(tasks: Sequence[Task], data: Splits, given: Given, say: Callable[[str], None]) -> None:
    """Makes what several models start from, once; where that fails, each model that needs it will say so."""
    from malaprop.assets import store
    from malaprop.models.encoders.vectors import TRAINED, trained

    for kind in sorted({task.spec.embedding for task in tasks if task.spec.vectors and not given.vectors}):
        try:
            if kind in TRAINED:
                trained(kind, data)
            else:
                store.locate("glove")
        except MalapropError as error:
            say(f"malaprop: {error}")


class _Running(NamedTuple):
    task: Task
    process: BaseProcess
    answer: Connection
    began: float


def _pool(
    tasks: Sequence[Task], jobs: int, data: Splits, words: WordRows, given: Given, device: str
) -> Iterator[Outcome]:
    """One process a model, so that what kills one leaves the others; outcomes as they come."""
    methods = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:
        os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")  # a CUDA that was only looked for can be forked
        context.set_forkserver_preload(list(_PRELOAD))
    waiting, running = list(tasks), list[_Running]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_child, args=(theirs, task, data, words, given, device, jobs))
                process.start()
                theirs.close()
                running.append(_Running(task, process, ours, time.perf_counter()))
            ready = wait([run.answer for run in running])
            for run in [run for run in running if run.answer in ready]:
                running.remove(run)
                outcome = _heard(run)
                if "re-initialize CUDA" in outcome.reason and context.get_start_method() == "forkserver":
                    waiting.insert(0, run.task)  # an import has touched the device: start from nothing, which is slower
                    context = multiprocessing.get_context("spawn")
                    continue
                yield outcome
    finally:
        for run in running:
            run.process.terminate()
            run.process.join()


def _heard(run: _Running) -> Outcome:
    seconds = time.perf_counter() - run.began
    try:
        figures, about, reason = run.answer.recv()
    except EOFError:
        run.process.join()
        figures, about, reason = {}, "", f"its process ended with exit code {run.process.exitcode}"
    run.process.join()
    return _outcome(run.task, figures, about, seconds, reason=reason)


def _child(answer: Connection, task: Task, data: Splits, words: WordRows, given: Given, device: str, jobs: int) -> None:
    try:
        card = _alone(task, data, words, given, device, jobs)
        answer.send((card.figures, card.about, ""))
    except Exception as error:  # noqa: BLE001 - told to the parent, which goes on with the others
        answer.send(({}, "", plain(error)[:300]))


def _alone(task: Task, data: Splits, words: WordRows, given: Given, device: str, jobs: int) -> Any:
    import torch

    from malaprop.models.tokens.batches import share_gpu
    from malaprop.models.train import train as fit

    torch.set_num_threads(max(1, (os.cpu_count() or 1) // jobs))
    if device.startswith("cuda"):
        share_gpu(jobs)
    return fit(task.spec, data, task.folder, seed=task.seed, device=device, given=given, words=words, quiet=True)


def write_table(outcomes: Sequence[Outcome], folder: Path, name: str, data: str) -> tuple[Path, Path]:
    """The outcomes as JSON, and as a table to read."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "number": o.number,
            "name": o.name,
            "data": data,
            "accuracy": o.figures.get("test_accuracy"),
            "test_rows": o.figures.get("test_rows"),
            "parameters": o.figures.get("parameters"),
            "epochs": o.figures.get("epochs"),
            "seconds": o.figures.get("seconds"),
            "about": o.about,
            "reason": o.reason,
        }
        for o in outcomes
    ]
    plain_file, page = folder / f"{name}.json", folder / f"{name}.md"
    plain_file.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(markdown(rows), encoding="utf-8")
    return plain_file, page


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """One line a model, accuracies of every dataset and of each seed side by side."""
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
    """The table of the JSON files that `train all63` has written."""
    rows = []
    for path in paths:
        try:
            rows += json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise SettingError(f"{path} is no table of train all63: {plain(error)}") from None
    return markdown(rows)


if __name__ == "__main__":
    print(main(sys.argv[1:]), end="")
