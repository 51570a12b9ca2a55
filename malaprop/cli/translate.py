"""malaprop translate: attacks on translation models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from malaprop.cli import options as o

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

Victim = Annotated[
    str,
    typer.Option(
        help="A folder written by train nmt-lstm or nmt-transformer, module:function (a list of sources to a list of "
        "translations), or a sequence-to-sequence model of transformers: its folder or hub:NAME."
    ),
]
Data = Annotated[
    str, typer.Option(help="eng-fra, multi30k (with MALAPROP_DATA), or a file with source,target (or src,tgt).")
]
Beam = Annotated[int, typer.Option(help="Width of the beam that translates.", min=1)]
Words = Annotated[int, typer.Option(help="Most words of a source that are changed.", min=1)]
Sweep = Annotated[
    int,
    typer.Option(
        metavar="N",
        parser=o._count,
        help="How many words of the vocabulary are tried in a place, drawn by the seed; all (or 0) for all.",
    ),
]
Tries = Annotated[int, typer.Option(help="How many of them are translated.", min=1)]
Maps = Annotated[
    int, typer.Option(help="How many successes are shown with their attention, where the victim is our own.", min=0)
]
_PUT = "What takes a word's place: vocabulary, typos or synonyms."


@app.callback()
def translate() -> None:
    """Attacks on translation models: keywords brought into the output, typos, probes of your own."""


@app.command("attack")
def attack(
    victim: Victim,
    keyword: Annotated[
        list[str] | None,
        typer.Option(help="A word that is to stand in the translation; repeat it, or separate several by commas."),
    ] = None,
    goal: Annotated[str, typer.Option(help="keyword: bring a word into the output; bleu: make BLEU fall.")] = "keyword",
    drop: Annotated[float, typer.Option(help="With --goal bleu: by which share sentence BLEU is to fall.")] = 0.5,
    free: Annotated[
        bool,
        typer.Option("--free", help="Also count a replacement that is itself translated to the keyword."),
    ] = False,
    data: Data = "eng-fra",
    n: o.CountOrAll = 100,
    words: Words = 3,
    sweep: Sweep = 2000,
    tries: Tries = 32,
    replace: Annotated[
        str | None, typer.Option(help=f"{_PUT} With --goal bleu typos if not given, else vocabulary.")
    ] = None,
    maps: Maps = 2,
    beam: Beam = 5,
    split: o.Split = "auto",
    seed: o.Seed = 0,
    width: o.Width = 64,
    device: o.Device = "auto",
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Bring a word into the translation, or make BLEU fall, by changing at most three words of the source.

    Examples:

      malaprop translate attack --victim models/nmt --keyword chien --n 50

      malaprop translate attack --victim my_model:translate --data pairs.csv --goal bleu --replace typos
    """
    from malaprop.cli.translating import Work, goals_of

    goals = goals_of(goal, [part for text in keyword or [] for part in o.listed(text) or ()], drop=drop, free=free)
    folder = o.out_folder(out, resume, "translate", goal, data)
    chosen = replace or ("typos" if goal == "bleu" else "vocabulary")
    work = Work.of(
        victim,
        data,
        folder,
        n=n,
        split=split,
        seed=seed,
        width=width,
        device=device,
        beam=beam,
        resume=resume,
        quiet=quiet,
        maps=maps,
    )
    work.search(goals, goal, words=words, sweep=sweep, tries=tries, replace=chosen)
    work.finish(f"translate {goal}", json)


@app.command("typos")
def typos(
    victim: Victim,
    data: Data = "eng-fra",
    n: o.CountOrAll = 0,
    beam: Beam = 5,
    split: o.Split = "auto",
    seed: o.Seed = 0,
    width: o.Width = 256,
    device: o.Device = "auto",
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Put one misspelling that people made into each sentence, and score BLEU before and after.

    Examples:

      malaprop translate typos --victim models/nmt --data multi30k

      malaprop translate typos --victim my_model:translate --data pairs.csv --n 200
    """
    from malaprop.cli.translating import Work

    folder = o.out_folder(out, resume, "translate", "typos", data)
    work = Work.of(
        victim,
        data,
        folder,
        n=n,
        split=split,
        seed=seed,
        width=width,
        device=device,
        beam=beam,
        resume=resume,
        quiet=quiet,
    )
    work.typos()
    work.finish("translate typos", json)


@app.command("probe")
def probe(
    victim: Victim,
    probe: Annotated[
        str,
        typer.Option(
            help="module:function (source and output to true or false, or to a number that is 1 when reached), "
            "word-appears:WORD, or translation-disappears:WORD[,ITS TRANSLATION]."
        ),
    ],
    data: Data = "eng-fra",
    n: o.CountOrAll = 100,
    words: Words = 3,
    sweep: Sweep = 2000,
    tries: Tries = 32,
    replace: Annotated[str, typer.Option(help=_PUT)] = "vocabulary",
    maps: Maps = 2,
    beam: Beam = 5,
    split: o.Split = "auto",
    seed: o.Seed = 0,
    width: o.Width = 64,
    device: o.Device = "auto",
    out: o.Out = None,
    resume: o.Resume = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Change words of the source until a function of source and output is true.

    Examples:

      malaprop translate probe --victim models/nmt --probe word-appears:non

      malaprop translate probe --victim my_model:translate --data pairs.csv --probe my_probes:drops_the_verb
    """
    from malaprop.attacks.translation.goals import probe as probe_of
    from malaprop.cli.translating import Work
    from malaprop.models.victims.load import resolve

    goal = probe_of(probe, resolve)
    folder = o.out_folder(out, resume, "translate", "probe", data)
    work = Work.of(
        victim,
        data,
        folder,
        n=n,
        split=split,
        seed=seed,
        width=width,
        device=device,
        beam=beam,
        resume=resume,
        quiet=quiet,
        maps=maps,
    )
    work.search([goal], "probe", words=words, sweep=sweep, tries=tries, replace=replace)
    work.finish("translate probe", json)


@app.command("run")
def run(
    victim: Victim,
    text: Annotated[list[str] | None, typer.Option(help="A source to translate; may be repeated.")] = None,
    data: Annotated[str | None, typer.Option(help="Sources to translate, and references to score them by.")] = None,
    n: o.CountOrAll = 0,
    beam: Beam = 5,
    split: o.Split = "auto",
    seed: o.Seed = 0,
    device: o.Device = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for translations.jsonl; made if it is missing.")] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Translate, and score BLEU where there are references.

    Examples:

      malaprop translate run --victim models/nmt --text "A man runs."

      malaprop translate run --victim models/nmt --data multi30k --out runs/translated
    """
    from malaprop.cli.translating import run as work

    found = work(victim, text or [], data, n=n, beam=beam, split=split, seed=seed, device=device, out=out, quiet=quiet)
    o.finish({"command": "translate run", **found}, json)
