"""malaprop bench: the speed tables, peers side by side where installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.cli import options as o

if TYPE_CHECKING:
    from malaprop_bench.throughput import Setting


def bench(
    victims: Annotated[
        str | None, typer.Option(help="Zoo names, separated by commas; each is attacked with all of --recipes.")
    ] = None,
    recipes: Annotated[
        str | None,
        typer.Option(help="Recipes that a peer has, separated by commas: pwws, bae, clare; all for every one."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(help="One cell, as recipe,victim: pwws,CNN-W-GloVe-1. May be repeated.")
    ] = None,
    n: o.Count = 100,
    threads: Annotated[int, typer.Option(help="CPU threads, the same for all.", min=1)] = 1,
    peer: Annotated[
        Path | None, typer.Option(help="Python of the environment that holds TextAttack; .venv-peers if not given.")
    ] = None,
    openattack: Annotated[
        Path | None, typer.Option(help="Python of the environment that holds OpenAttack; .venv-openattack.")
    ] = None,
    seconds: Annotated[float, typer.Option(help="Most seconds for one cell of one peer.")] = 30.0,
    repeats: Annotated[int, typer.Option(help="Runs of a cell; the middle one counts.", min=1)] = 1,
    precision: Annotated[
        str,
        typer.Option(
            help="auto (on a GPU bf16 for transformers, fp32 for word models), fp32, bf16 or int8; of the comparison "
            "fp32, or fp32,int8 for rows in both."
        ),
    ] = "auto",
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="Start each tool once for all recipes of a victim: many recipes in little time, by processor time.",
        ),
    ] = False,
    measure: Annotated[
        str | None, typer.Option(help="With --together, of successes: similarity, perplexity, separated by commas.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Keep the cells that --out already holds.")] = False,
    throughput: Annotated[
        bool, typer.Option("--throughput", help="No peer: texts a second of --recipe on --victim.")
    ] = False,
    victim: Annotated[
        str,
        typer.Option(
            help="With --throughput: a folder, a zoo name, or a fresh model of a shape: shape:minilm, shape:bert-base, "
            "shape:bilstm, shape:lstm, shape:cnn; several separated by commas; "
            "shape:transformers for all of those, shape:all for all shapes."
        ),
    ] = "CNN-W-GloVe-1",
    recipe: Annotated[str, typer.Option(help="With --throughput: the recipe.")] = "pwws",
    data: o.Data = "mr",
    device: o.Device = "auto",
    width: o.Width = 256,
    lanes: Annotated[
        int | None,
        typer.Option(
            help="With --throughput: 2 advances one half of the texts while the device works for the other; what suits "
            "the victim if not given.",
            min=1,
            max=8,
        ),
    ] = None,
    train_seconds: Annotated[float, typer.Option(help="With --throughput: training of a fresh shape.", min=0)] = 20.0,
    predicted: Annotated[
        bool, typer.Option("--predicted", help="With --throughput: take the victim's own answers for the labels.")
    ] = False,
    scorers: Annotated[
        bool, typer.Option("--scorers", help="No peer: what each incremental scorer saves over whole forward passes.")
    ] = False,
    fill: Annotated[
        Path | None,
        typer.Option(
            help="No run: fill the tables of a Markdown page, or of all in a folder, from the JSON they name."
        ),
    ] = None,
    seed: o.Seed = 0,
    out: o.Out = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Time our attacks beside TextAttack's and OpenAttack's and beside bare forward passes, on the same victims, texts
    and threads.

    Examples:

      malaprop bench --only pwws,CNN-W-GloVe-1

      malaprop bench --throughput --victim shape:all --data ag_news --n 1000 --device cuda --width 1024

      malaprop bench --scorers
    """
    if fill is not None:
        from malaprop_bench.page import fill as refill

        o.finish({"command": "bench", "filled": refill(fill)}, json)
    elif throughput:
        from malaprop_bench import throughput as t

        setting = t.Setting(
            victim=victim, data=data, n=n, recipe=recipe, device=device, precision=precision, width=width,
            lanes=lanes, seed=seed, repeats=repeats, train_seconds=train_seconds, predicted=predicted,
        )  # fmt: skip
        _throughput(setting, t.named(victim), out, json, quiet)
    elif scorers:
        from malaprop_bench import savings

        saved = savings.measure(threads=threads, seed=seed)
        _show(savings.HEAD, savings.rows(saved), quiet)
        _kept(out, "scorers", saved, json)
    else:
        from malaprop_bench import compare
        from malaprop_bench.bout import Terms

        terms = Terms(
            n=n, threads=threads, seconds=seconds, data=data, seed=seed, width=width, repeats=repeats,
            together=together, measures=o.split_names(measure) or (),
            precisions=("fp32",) if precision == "auto" else o.split_names(precision) or (),
        )  # fmt: skip
        plan = compare.plan(victims=o.split_names(victims), recipes=o.split_names(recipes), only=only or ())
        given = {"TextAttack": peer, "OpenAttack": openattack}
        folder = o.out_folder(out, resume, "bench")
        table = compare.bench(folder, plan, terms, given=given, resume=resume, say=compare.silent if quiet else None)
        o.say(f"tables in {folder}", quiet)
        o.finish({"command": "bench", "out": str(folder), **table}, json)


def _throughput(setting: Setting, victims: list[str], out: Path | None, json: bool, quiet: bool) -> None:
    """One victim, or several one after the other: each is shown and written when it is done, and none ends the rest."""
    from dataclasses import replace

    from malaprop.core.errors import VictimError, plain
    from malaprop_bench import throughput as t

    if len(victims) == 1:
        held = t.measure(setting).to_dict()
        _show(t.HEAD, [t.row(held)], quiet)
        _kept(out, "throughput", held, json)
        return
    rows, failed = [], {}
    for victim in victims:
        try:
            rows.append(t.measure(replace(setting, victim=victim)).to_dict())
        except Exception as error:  # noqa: BLE001 - the others are still to be measured
            failed[victim] = plain(error)[:300]
            o.say(f"{victim}: {failed[victim]}")
            continue
        _show(t.HEAD, [t.row(held) for held in rows], quiet, last=len(rows) > 1)
        if out is not None:
            from malaprop_bench.page import append

            append(o.out_folder(out, True), "throughput", rows[-1])
    if not rows:
        raise VictimError(f"nothing could be measured ({failed[victims[0]]})")
    o.finish({"command": "bench", "rows": rows, "failed": failed}, json)


def _show(head: tuple[str, ...], rows: list[list[str]], quiet: bool, *, last: bool = False) -> None:
    """The table, or its last line alone where the others have been shown."""
    from malaprop_bench.table import lines

    for line in lines(head, rows)[-1 if last else 0 :]:
        o.say(line, quiet)


def _kept(out: Path | None, name: str, held: dict[str, Any], json: bool) -> None:
    """One more line of out/NAME.jsonl, where a folder was named, and the last line for machines."""
    if out is not None:
        from malaprop_bench.page import append

        append(o.out_folder(out, False), name, held)
    o.finish({"command": "bench", **held}, json)
