"""malaprop study: a paper's experiment as a whole, from training to figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.cli import options as o

if TYPE_CHECKING:
    from malaprop.studies.selection import Selection

KINDS = ("hotflip", "attention", "oneword")
_BELONGS = {  # options that not every study heeds
    **dict.fromkeys(("model", "methods", "confidences", "beam", "exact"), ("hotflip",)),
    **dict.fromkeys(("recipe", "draws"), ("attention",)),
    **dict.fromkeys(
        ("recipes", "vocabulary", "words", "trials", "measure", "gather", "precision"),
        ("oneword",),
    ),
    **dict.fromkeys(("models", "fields"), ("attention", "oneword")),
    "jobs": ("hotflip", "oneword"),
}
_TEXTS = {"attention": 100, "oneword": 100}  # where --n does not say


def study(
    context: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            help="hotflip: attacks on a model that reads characters, and its hardening; oneword: attacks that change "
            "one word, model by model; attention: what one changed word does to attention and states, and Theorem 1."
        ),
    ],
    model: Annotated[
        str, typer.Option(help="A model of the zoo that reads characters: see malaprop list models.")
    ] = "CharCNN-LSTM",
    data: o.Data = "mr",
    n: Annotated[
        int | None,
        typer.Option(help="How many examples, drawn by the seed; 760, for attention and oneword 100.", min=1),
    ] = None,
    models: Annotated[
        str, typer.Option(help="attention, oneword: victims, separated by commas; names of the zoo are trained.")
    ] = "BiLSTM-Attention,Transformer-3,BERT",
    recipe: Annotated[str, typer.Option(help="attention: the attack whose texts are looked into.")] = "gs-ec",
    draws: Annotated[int, typer.Option(help="attention: draws of each simulation of Theorem 1; 0: none.", min=0)] = 200,
    recipes: Annotated[
        str, typer.Option(help="oneword: the attacks, separated by commas.")
    ] = "random,list,asmin-gr,asmax-gr,asmin-ec,asmax-ec,gs-gr,gs-ec",
    vocabulary: Annotated[int, typer.Option(help="oneword: how many words may be put in.", min=1)] = 20_000,
    words: Annotated[int, typer.Option(help="oneword: how many words may change.", min=1)] = 1,
    trials: Annotated[int, typer.Option(help="oneword: random trials a text.", min=1)] = 100_000,
    measure: Annotated[
        str | None,
        typer.Option(help="oneword: measures of successes, with commas: similarity, perplexity, grammar."),
    ] = None,
    gather: Annotated[
        bool, typer.Option("--gather", help="oneword: train and attack nothing more; figures of what is in --out.")
    ] = False,
    methods: Annotated[
        str, typer.Option(help="How models are hardened: hotflip, miyato, miyato-virtual, blackbox.")
    ] = "hotflip,miyato,blackbox",
    confidences: Annotated[
        str, typer.Option(help="Confidences that attacks ask for; 0 asks for a wrong label alone.")
    ] = "0,0.5,0.9",
    beam: Annotated[int, typer.Option(help="Width of the beam search.", min=1)] = 10,
    exact: Annotated[
        int, typer.Option(help="Texts on which derivatives are compared with exact losses; that is slow.", min=0)
    ] = 0,
    jobs: Annotated[int, typer.Option(help="How many models are trained, or attacked, at a time.", min=1)] = 1,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A setting of the training or the network (for attention, of the recipe; for oneword also layer, "
            "direction and probe), as name=value; may be repeated.",
        ),
    ] = None,
    seed: o.Seed = 0,
    width: o.Width = 256,
    split: o.Split = "auto",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    fields: o.Fields = None,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Do a paper's experiment and write its figures: HotFlip's, or those of the paper on self-attention.

    The same --out goes on with what was killed; models and runs that are there are left alone.

    Examples:

      malaprop study hotflip --data reviews.csv --n 200 --out runs/study

      malaprop study hotflip --methods hotflip,miyato-virtual --set epochs=4 --jobs 4

      malaprop study oneword --models BiLSTM-Attention,Transformer-3 --n 100 --vocabulary 2000 --trials 1000

      malaprop study attention --models BiLSTM-Attention,Transformer-3 --n 100 --set vocabulary=2000 --out runs/look
    """
    from malaprop.core.catalogue import unknown

    if kind not in KINDS:
        raise unknown("study", kind, KINDS)
    uses = {name: tuple(f"study {kind}" for kind in kinds) for name, kinds in _BELONGS.items()}
    o.refuse_elsewhere(context, f"study {kind}", uses)
    n = n or _TEXTS.get(kind, 760)
    texts = o.selection(data, split, n, seed, text=text, label=label, fields=fields, labels=labels)
    if kind == "attention":
        _attention(
            o.listed(models) or (), texts, recipe, set_ or [], draws=draws, width=width, device=device, out=out,
            json=json, quiet=quiet,
        )  # fmt: skip
        return
    if kind == "oneword":
        from malaprop.cli.oneword import conduct

        conduct(
            o.listed(models) or (), set_ or [], recipes=o.listed(recipes) or (), vocabulary=vocabulary, words=words,
            trials=trials, gather=gather, measures=o.listed(measure) or (), selection=texts, width=width,
            device=device, precision=precision, jobs=jobs, out=out, json=json, quiet=quiet,
        )  # fmt: skip
        return
    floors = _floors(confidences)
    from malaprop.analysis.hotflip import Plan
    from malaprop.cli.hotflip import Work
    from malaprop.core.settings import overrides
    from malaprop.reports.page import write_report
    from malaprop.runs.victims import device_of

    folder = o.out_folder(out, False, "study", kind, data)
    plan = Plan(methods=o.listed(methods) or (), confidences=floors, width=beam, exact=exact)
    work = Work(
        root=folder,
        plan=plan,
        model=model,
        texts=texts,
        width=width,
        device=device_of(device),
        settings=overrides(set_ or []),
        jobs=jobs,
        quiet=quiet,
    )
    found = work.study()
    record = found.write(folder)
    report = write_report([folder], folder / "report.html")
    o.say(f"figures in {record}; report: {report}", quiet)
    rates = {h.name: {"error": h.error.to_dict(), "success": h.success.to_dict()} for h in found.hardened}
    o.finish({"command": "study", "kind": kind, "out": str(folder), "report": str(report), "models": rates}, json)


def _attention(
    models: Sequence[str],
    texts: Selection,
    recipe: str,
    settings: list[str],
    *,
    device: str,
    out: Path | None,
    json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    from malaprop.cli.attention import Work, summary_of
    from malaprop.core.settings import overrides
    from malaprop.reports.attention import figure_files, terminal, write_files
    from malaprop.reports.page import write_report
    from malaprop.runs.api import recipe as make
    from malaprop.runs.victims import device_of

    made = make(recipe, **overrides(settings))
    folder = o.out_folder(out, False, "study", "attention", texts.data)
    work = Work(root=folder, models=models, texts=texts, recipe=made, device=device_of(device), quiet=quiet, **how)
    found = work.study()
    record = found.write(folder)
    write_files(figure_files(found.sights, found.bounds), folder / "figures")
    report = write_report([folder], folder / "report.html")
    if not quiet:
        print(terminal(found))
    o.say(f"figures in {record}; report: {report}", quiet)
    summary = {"command": "study", "kind": "attention", "out": str(folder), "report": str(report)}
    o.finish({**summary, **summary_of(found)}, json)


def _floors(text: str) -> tuple[float, ...]:
    from malaprop.core.errors import SettingError

    try:
        found = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        found = ()
    if not found or not all(0 <= floor < 1 for floor in found):
        raise SettingError(f"--confidences takes numbers from 0 to below 1, as 0,0.5,0.9, got {text!r}")
    return found
