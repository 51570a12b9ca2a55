"""malaprop tune: search for the settings of a defence."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.cli import options as o

if TYPE_CHECKING:
    from malaprop.core.victim import Victim as AVictim
    from malaprop.defences.tune import Make
    from malaprop.records.tuning import TuningRecord


def tune(
    context: typer.Context,
    defence: Annotated[str, typer.Argument(help="fuse, five or fact.")],
    victim: o.Victim,
    data: o.Data = "mr",
    minutes: Annotated[float, typer.Option(help="Begin no further trial after so long.", min=0.0)] = 10.0,
    trials: Annotated[int, typer.Option(help="How many trials at most, those of earlier calls included.", min=1)] = 100,
    n: Annotated[int, typer.Option("--n", help="How many validation texts, drawn by the seed.", min=1)] = 200,
    attack: Annotated[str, typer.Option(help="The recipe that makes the adversarial texts.")] = "textfooler",
    sampler: Annotated[str, typer.Option(help="random or tpe, by optuna; plain, random without optuna.")] = "random",
    fix: Annotated[
        list[str] | None, typer.Option(help="A setting that is not searched, as name=value; may be repeated.")
    ] = None,
    test: Annotated[
        bool, typer.Option("--test", help="Then judge the best on the test part, once; that ends the search.")
    ] = False,
    model: Annotated[
        str, typer.Option(help="fact: the model of the zoo that is trained in every trial.")
    ] = "LSTM-W-GloVe-1",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="fact: a setting of the training or the network, as name=value; may be repeated."),
    ] = None,
    seed: o.Seed = 0,
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Search for the settings of a defence on validation texts and adversarial ones made of them.

    The same --out goes on with what was stopped. The test part is looked at once, with --test.

    Examples:

      malaprop tune five --victim BERT --minutes 20 --out runs/five

      malaprop tune fuse --victim BERT --fix similarity=off --out runs/fuse --test

      malaprop tune fact --victim models/plain --model BERT --data reviews.csv --minutes 120 --set epochs=2
    """
    from malaprop.core.catalogue import unknown
    from malaprop.core.settings import overrides
    from malaprop.defences.space import SPACES

    if defence not in SPACES:
        raise unknown("defence that can be tuned", defence, SPACES)
    o.refuse_elsewhere(context, f"tune {defence}", dict.fromkeys(("model", "set_"), ("tune fact",)))
    fixed, training = overrides(fix or []), overrides(set_ or [])
    if defence == "fact":
        _check_training(model, training)
    from malaprop.cli.progress import count_bar
    from malaprop.defences.tune import Search, around
    from malaprop.runs.api import recipe
    from malaprop.runs.victims import device_of
    from malaprop.runs.victims import victim as load

    made = recipe(attack)
    place = device_of(device)
    found = load(victim, device=place, precision=precision, quiet=quiet)
    folder = o.out_folder(out, False, "tune", defence, victim, data)
    columns = {"text": text, "label": label}
    make = around(defence, found) if defence != "fact" else _trained(
        found, victim, model, data, folder, columns, place, seed, training
    )  # fmt: skip
    search = Search(
        defence=defence,
        victim=found,
        data=data,
        attack=made,
        make=make,
        folder=folder,
        n=n,
        seed=seed,
        sampler=sampler,
        model=" ".join([model, *(f"{name}={value}" for name, value in training.items())]) if defence == "fact" else "",
        fixed=fixed,
        columns=columns,
        labels=o.listed(labels) or (),
        say=lambda line: o.say(line, quiet),
        bar=partial(count_bar, quiet=quiet),
    )
    record = search.run(seconds=60 * minutes, trials=trials)
    if test:
        record = search.look(record)
    if not quiet:
        from malaprop.reports.tuning import terminal

        print(terminal(record))
        o.say(f"all of it in {folder}; see it with: malaprop report {folder}")
    o.finish({"command": "tune", "out": str(folder), **_summary(record)}, json)


def _check_training(model: str, settings: Mapping[str, Any]) -> None:
    """Refuses what would fail in every trial."""
    from malaprop.models import zoo
    from malaprop.models.train import check_settings

    check_settings(settings, [zoo.parse(model)[0]])


def _trained(
    plain: AVictim,
    victim: str,
    model: str,
    data: str,
    folder: Path,
    columns: Mapping[str, str | None],
    device: str,
    seed: int,
    training: Mapping[str, Any],
) -> Make:
    """FACT is a model of its own in every trial, its words ranked by the plain victim."""
    from malaprop.data.base import load as read
    from malaprop.defences.fact import Fact
    from malaprop.defences.harden import Hardening
    from malaprop.models import checkpoint
    from malaprop.models.gradients.sizes import token_gradients
    from malaprop.models.splits import splits
    from malaprop.models.train import Given
    from malaprop.runs.victims import victim as load
    from malaprop.studies.training import train_named
    from malaprop.tasks.desk import Desk, Place

    desk = Desk(Place(root=folder, device=device))
    ranker = victim if token_gradients(plain) is not None else ""

    def make(settings: Mapping[str, Any], number: int) -> AVictim:
        target = folder / "models" / f"trial-{number}"
        if not checkpoint.is_checkpoint(target):
            parts = splits(partial(read, text=columns["text"], label=columns["label"]), data)
            train_named(
                desk, model, parts, target, given=Given(settings=training), seed=seed,
                hardening=Hardening("fact", Fact(ranker=ranker, **settings)),
            )  # fmt: skip
        return load(str(target), device=device)

    return make


def _summary(record: TuningRecord) -> dict[str, Any]:
    best, test = record.best, record.test
    out: dict[str, Any] = {"defence": record.defence, "victim": record.victim, "trials": len(record.trials)}
    if best is not None and best.judged is not None:
        both = {"clean": best.judged.clean.to_dict(), "adversarial": best.judged.adversarial.to_dict()}
        out["best"] = {"number": best.number, "settings": best.settings, **both}
    if test is not None:
        out["test"] = {
            name: {"clean": one.clean.to_dict(), "adversarial": one.adversarial.to_dict()}
            for name, one in (("plain", test.plain), ("best", test.best))
        }
    return out
