"""malaprop certify: how many words of a text may change without a change of label, proved."""

from __future__ import annotations

from typing import Annotated

import typer

from malaprop.cli import options as o


def certify(
    victim: o.Victim,
    defence: Annotated[
        str,
        typer.Option(help="safer or ranmask, with settings behind a colon: ranmask:keep=0.2, safer:sets=nearest."),
    ] = "ranmask",
    data: o.Data = "mr",
    n: o.CountOrAll = 100,
    samples: Annotated[int, typer.Option(help="Noisy copies of a text that bound the chance of its label.", min=1)] = (
        1000
    ),
    select: Annotated[int, typer.Option(help="Noisy copies, others, that say which label that is.", min=1)] = 100,
    alpha: Annotated[float, typer.Option(help="The chance at most that a certificate is wrong.")] = 0.05,
    seed: o.Seed = 0,
    split: o.Split = "auto",
    text: o.TextColumn = None,
    label: o.LabelColumn = None,
    labels: o.Labels = None,
    device: o.Device = "auto",
    precision: o.Precision = "auto",
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Prove, text by text, how many words may change before a smoothed victim changes its label.

    The victim is the model inside, best one that was trained with the same noise (malaprop harden ranmask).

    Examples:

      malaprop harden ranmask --model BERT --out models/ranmask

      malaprop certify --victim models/ranmask --defence ranmask --n 200 --samples 2000 --alpha 0.01
    """
    from malaprop.core.errors import SettingError
    from malaprop.defences.certify import Certifier, noise_of
    from malaprop.defences.defended import Defended
    from malaprop.defences.wrap import defended, parse, told

    certifier = Certifier(samples=samples, select=select, alpha=alpha, seed=seed)
    layers, inner = parse(defence)
    if len(layers) != 1 or inner or layers[0].name not in ("safer", "ranmask"):
        raise SettingError(f"certificates are of safer and ranmask, with settings or without; got --defence {defence}")
    told(*layers[0])  # a wrong setting should not wait for a model
    from malaprop.cli.progress import count_bar
    from malaprop.data.matching import agree
    from malaprop.defences.certificates import write_certificates
    from malaprop.records.certified import FILE, LINES
    from malaprop.records.store import check_writable, refuse_results
    from malaprop.runs.victims import victim as open_victim

    texts = o.selection(data, split, n, seed, text=text, label=label, labels=labels)
    folder = o.out_folder(out, resume, "certify", layers[0].name, victim, data)
    check_writable(folder)
    refuse_results(folder, FILE, LINES, resume=resume)
    examples = texts.examples([victim])
    o.tell(examples.notes, quiet)
    made = defended(defence, open_victim(victim, device=device, precision=precision, quiet=quiet))
    noise = noise_of(made)
    assert noise is not None
    assert isinstance(made, Defended)
    with count_bar(f"{layers[0].name} on {made.victim.name}", len(examples), quiet) as move:
        record, _ = write_certificates(
            certifier, made, noise, agree(examples, made), folder, resume=resume,
            seen=lambda line: move(1),  # noqa: ARG005
        )  # fmt: skip
    if not quiet:
        from malaprop.reports.certified import terminal

        print(terminal(record))
        o.say(f"certificates in {folder}")
    rates = [rate.to_dict() for rate in record.certified]
    o.finish(
        {
            "command": "certify",
            "out": str(folder),
            "clean_accuracy": record.clean.to_dict(),
            "plain_accuracy": record.plain.to_dict(),
            "certified_accuracy": rates,
            "certified_any": record.every.to_dict(),
            "seconds": record.seconds,
        },
        json,
    )
