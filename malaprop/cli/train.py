"""malaprop train: a model of the zoo by name, or all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from malaprop.cli import imagemodels, naturaltext
from malaprop.cli import options as o

ALL = "all63"
NMT = ("nmt-lstm", "nmt-transformer")


def train(
    spec: Annotated[
        str,
        typer.Argument(
            help="LSTM-W-GloVe-1, CNN-C-Random-2, BERT, all63 ...: see malaprop list models; NAME#2: a second one. "
            "Of images: wgan, vae, lenet, mlp, forest. Of sentences: arae, text-vae."
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="mr, imdb, entailment-synthetic, a CSV/TSV/JSONL/Parquet file with text,label (or premise,hypothesis,"
            "label), or hub:NAME; mr if not given. Of images: mnist. Of nmt-lstm and nmt-transformer: source,target; "
            "eng-fra if not given."
        ),
    ] = None,
    seed: o.Seed = 0,
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    vectors: Annotated[
        Path | None, typer.Option(help="Published word vectors to start from: .bin, .vec, .txt or .npz.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(help="What a transformer starts from: minilm, mpnet, a hub name or a folder."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the training or the network, as name=value; may be repeated."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="all63: how many models are trained at a time.", min=1)] = None,
    seeds: Annotated[int | None, typer.Option(help="all63: how many of each model of one layer; 1.", min=1)] = None,
    only: Annotated[list[str] | None, typer.Option(help="all63: these models alone; may be repeated.")] = None,
    device: o.Device = "auto",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Train a model to a folder that --victim takes; the same --out goes on with what was killed.

    Examples:

      malaprop train LSTM-W-GloVe-1

      malaprop train BERT --data reviews.csv --out models/mine

      malaprop train all63 --data reviews.csv --seeds 2 --jobs 8
    """
    from malaprop.core.settings import overrides

    settings = overrides(set_ or [])
    _check_options(
        spec.lower(),
        {"--vectors": vectors, "--start": start, "--text": text, "--label": label},
        {"--jobs": jobs, "--seeds": seeds, "--only": only},
    )
    if spec.lower() in imagemodels.NAMES:
        imagemodels.train_images(
            spec.lower(), data, out, seed=seed, settings=settings, device=device, json=json, quiet=quiet
        )
        return
    if spec.lower() in naturaltext.NAMES:
        naturaltext.train_text(
            spec.lower(),
            data or "mr",
            out,
            seed=seed,
            settings=settings,
            vectors=vectors,
            columns={"text": text, "label": label},
            device=device,
            json=json,
            quiet=quiet,
        )
        return
    from malaprop.models.train import Given
    from malaprop.runs.victims import device_of
    from malaprop.runs.zoo import train as run

    texts = data or "mr"
    given = Given(vectors=vectors, start=start, settings=settings)
    common: dict[str, Any] = {"text": text, "label": label, "device": device_of(device), "given": given}
    if spec.lower() in NMT:
        _translator(spec.lower(), data or "eng-fra", out, settings, seed, device, json, quiet)
        return
    if spec.lower() == ALL:
        _all(texts, out, seeds=seeds or 1, jobs=jobs, only=only or [], json=json, quiet=quiet, **common)
        return
    folder = o.out_folder(out, False, "train", spec, texts)
    figures = run(spec, texts, folder, seed=seed, quiet=quiet, **common)
    if not quiet:
        print(", ".join(f"{name} {value}" for name, value in figures.items()))
        o.say(f"model in {folder}; attack it with: malaprop audit --victim {folder}")
    o.finish({"command": "train", "spec": spec, "out": str(folder), **figures}, json)


def _check_options(spec: str, of_texts: dict[str, Any], of_all: dict[str, Any]) -> None:
    """Refuses what the model would not look at."""
    from malaprop.core.errors import SettingError

    unread = {} if spec == ALL else of_all
    if spec in (*imagemodels.NAMES, *NMT):
        unread = unread | of_texts
    elif spec in naturaltext.NAMES:
        unread = unread | {"--start": of_texts["--start"]}
    if given := [name for name, value in unread.items() if value is not None]:
        raise SettingError(f"{given[0]} is no option of train {spec}; leave it out")


def _translator(
    spec: str, data: str, out: Path | None, settings: dict[str, Any], seed: int, device: str, json: bool, quiet: bool
) -> None:
    """A translation model; without --data it learns the packaged English-French pairs."""
    from malaprop.data.base import load
    from malaprop.models.translation.pairs import parts
    from malaprop.models.translation.train import settings_of, train
    from malaprop.models.translation.training import Epoch
    from malaprop.runs.victims import device_of

    settings_of(spec, settings)  # a wrong name should not wait for the data
    folder = o.out_folder(out, False, "train", spec, data)

    def heard(epoch: Epoch) -> None:
        scored = f", held-out BLEU {epoch.bleu:.2f}" if epoch.bleu >= 0 else ""
        o.say(f"{spec}: epoch {epoch.number}, loss {epoch.loss:.3f}{scored}, {epoch.seconds:.0f} s", quiet)

    card = train(
        spec,
        parts(load, data),
        folder,
        seed=seed,
        device=device_of(device),
        settings=settings,
        quiet=quiet,
        heard=heard,
    )
    if not quiet:
        print(", ".join(f"{name} {value}" for name, value in card.figures.items()))
        o.say(f"model in {folder}; attack it with: malaprop translate attack --victim {folder} --keyword WORD")
    o.finish({"command": "train", "spec": spec, "out": str(folder), **card.figures}, json)


def _all(data: str, out: Path | None, *, json: bool, quiet: bool, **how: Any) -> None:
    """Models go to --out, else to the cache; the table to --out, else to a new folder under runs/."""
    from malaprop.core.errors import VictimError
    from malaprop.runs.zoo import train_all, write_table

    table = o.out_folder(out, False, "train", ALL, data)
    done = train_all(data, out, say=lambda line: o.say(line, quiet), **how)
    plain, page = write_table(done, table, ALL, Path(data).name)
    failed = [outcome for outcome in done if outcome.reason]
    if not quiet:
        print(page.read_text(encoding="utf-8"), end="")
        o.say(f"{len(done) - len(failed)} models trained, {len(failed)} failed; table in {page}")
    accuracies = {outcome.name: outcome.figures.get("test_accuracy") for outcome in done}
    o.finish({"command": "train", "spec": ALL, "table": str(plain), "accuracy": accuracies}, json)
    if failed:
        raise VictimError(f"{len(failed)} of {len(done)} models failed: {', '.join(f.name for f in failed[:5])}")
