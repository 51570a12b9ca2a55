"""malaprop harden: train a model against attacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.cli import options as o

if TYPE_CHECKING:
    from malaprop.models.training import Epoch


def harden(
    method: Annotated[
        str,
        typer.Argument(
            help="hotflip (flips of characters that raise the loss), miyato (noise on vectors), blackbox (characters "
            "changed at random), fact (other wordings beside each text), safer and ranmask (the noise of those "
            "defences); settings of the last three behind a colon, as "
            "fact:words=5 or ranmask:keep=0.2."
        ),
    ],
    model: Annotated[
        str,
        typer.Option(help="A model of the zoo (malaprop list models), or the folder of a transformers classifier."),
    ] = "CharCNN-LSTM",
    data: o.Data = "mr",
    r: Annotated[
        float | None, typer.Option("--r", help="hotflip, blackbox: share of a text's characters that change; 0.1, 0.2.")
    ] = None,
    once: Annotated[
        bool | None, typer.Option("--once/--no-once", help="hotflip: one flip a word at most; --once.")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="miyato: length of the noise as a share of each word's own norm; 0.02.")
    ] = None,
    virtual: Annotated[
        bool, typer.Option("--virtual", help="miyato: away from the model's own answer, not from the label.")
    ] = False,
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
    device: o.Device = "auto",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Train a model against attacks, to a folder that --victim takes; the same --out goes on with what was killed.

    Examples:

      malaprop harden hotflip --model CharCNN-LSTM --data reviews.csv --out models/hard

      malaprop harden miyato --model LSTM-W-GloVe-1 --virtual

      malaprop harden blackbox --r 0.1 --set epochs=4

      malaprop harden blackbox --model ./my-distilbert --data reviews.csv --out models/harder

      malaprop harden fact:words=9:ranker=models/plain --model BERT --data reviews.csv --out models/fact
    """
    from malaprop.core.settings import overrides
    from malaprop.defences import DEFENCES

    named, method = method, method.partition(":")[0]
    _check_trains(method, named)
    DEFENCES[method]
    settings = _settings(method, r=r, once=once, noise=noise, virtual=virtual or None)
    extra = overrides(set_ or [])
    from malaprop.defences.harden import harden as run
    from malaprop.defences.harden import typed
    from malaprop.models.train import Given
    from malaprop.runs.victims import device_of

    given = Given(vectors=vectors, start=start, settings=extra)
    folder = o.out_folder(out, False, "harden", method, model, data)
    card = run(
        typed(named, **settings),
        method if not virtual else f"{method}-virtual",
        model,
        data,
        folder,
        seed=seed,
        text=text,
        label=label,
        device=device_of(device),
        given=given,
        quiet=quiet,
        heard=lambda epoch: o.say(heard(method, epoch), quiet),
    )
    if not quiet:
        print(", ".join(f"{name} {value}" for name, value in card.figures.items()))
        o.say(f"model in {folder}; attack it with: malaprop audit --victim {folder}")
    o.finish({"command": "harden", "method": method, "name": card.name, "out": str(folder), **card.figures}, json)


def heard(model: str, epoch: Epoch) -> str:
    """One line on an epoch."""
    return f"{model}, epoch {epoch.number}: loss {epoch.loss:.3f}, right on {epoch.accuracy:.1%}, {epoch.seconds:.0f} s"


def _check_trains(method: str, named: str) -> None:
    """fuse and five train nothing: they act when a victim is asked."""
    from malaprop.core.errors import SettingError

    if method in ("fuse", "five"):
        raise SettingError(
            f"{method} trains nothing, it wraps a trained victim; give --victim '{named}(MODEL)' to attack, audit or "
            "serve"
        )


_TAKES = {  # which options a method has, and what the defence calls them
    "hotflip": {"r": "r", "once": "once"},
    "blackbox": {"r": "r"},
    "miyato": {"noise": "size", "virtual": "virtual"},
}


def _settings(method: str, **said: Any) -> dict[str, Any]:
    """What the user said, in the defence's own words; an option of another one is refused."""
    from malaprop.core.errors import SettingError

    takes = _TAKES.get(method, {})
    for name in said:
        if said[name] is not None and name not in takes:
            raise SettingError(f"--{name} is no option of harden {method}; leave it out")
    return {takes[name]: value for name, value in said.items() if value is not None}
