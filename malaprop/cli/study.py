"""malaprop study: a paper's experiment as a whole, from training to figures."""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.cli import options as o

KINDS = ("hotflip",)


def study(
    kind: Annotated[str, typer.Argument(help="hotflip: attacks on a model that reads characters, and its hardening.")],
    model: Annotated[
        str, typer.Option(help="A model of the zoo that reads characters: see malaprop list models.")
    ] = "CharCNN-LSTM",
    data: o.Data = "mr",
    n: o.Count = 760,
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
        typer.Option("--set", help="A setting of the training or the network, as name=value; may be repeated."),
    ] = None,
    seed: o.Seed = 0,
    width: o.Width = 256,
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    device: o.Device = "auto",
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Train a model plainly and against attacks, attack all of them, and write the figures of the HotFlip paper.

    The same --out goes on with what was killed; models and runs that are there are left alone.

    Examples:

      malaprop study hotflip --data reviews.csv --n 200 --out runs/study

      malaprop study hotflip --methods hotflip,miyato-virtual --set epochs=4 --jobs 4
    """
    from malaprop.core.catalogue import unknown

    if kind not in KINDS:
        raise unknown("study", kind, KINDS)
    floors = _floors(confidences)
    from malaprop.analysis.hotflip import Plan
    from malaprop.cli.hotflip import Work
    from malaprop.core.settings import overrides
    from malaprop.reports.html import write_report
    from malaprop.runs.victims import device_of

    folder = o.out_folder(out, False, "study", kind, data)
    plan = Plan(methods=o.listed(methods) or (), confidences=floors, width=beam, exact=exact)
    work = Work(
        root=folder,
        plan=plan,
        model=model,
        data=data,
        n=n,
        seed=seed,
        width=width,
        device=device_of(device),
        columns={"text": text, "label": label},
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


def _floors(text: str) -> tuple[float, ...]:
    from malaprop.core.errors import SettingError

    try:
        found = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        found = ()
    if not found or not all(0 <= floor < 1 for floor in found):
        raise SettingError(f"--confidences takes numbers from 0 to below 1, as 0,0.5,0.9, got {text!r}")
    return found
