"""malaprop translate run: translations of texts or of a dataset, and their BLEU."""

from __future__ import annotations

import json as _json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from malaprop.cli import options as o
from malaprop.studies.translate import VICTIM

if TYPE_CHECKING:
    from malaprop.models.translation.translator import Translator

_LINES = "translations.jsonl"
_AT_ONCE = 256  # sources translated between two moves of the bar


def run(
    victim: Annotated[str, typer.Option(help=VICTIM)],
    text: Annotated[list[str] | None, typer.Option(help="A source to translate; may be repeated.")] = None,
    data: Annotated[str | None, typer.Option(help="Sources to translate, and references to score them by.")] = None,
    n: o.CountOrAll = 0,
    beam: Annotated[int, typer.Option(help="Width of the beam that translates.", min=1)] = 5,
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
    from malaprop.core.errors import RecordError, SettingError
    from malaprop.models.victims.seq2seq import load
    from malaprop.runs.victims import device_of
    from malaprop.studies.translate import Target

    if bool(text) == (data is not None):
        raise SettingError("say what to translate: --text SENTENCE or --data PAIRS, one of the two")
    if out is not None and (out / _LINES).exists():
        raise RecordError(f"{out / _LINES} exists already; choose another --out")
    translator = load(victim, device=device_of(device), beam=beam)
    sources, references = list(text or ()), [""] * len(text or ())
    if data is not None:
        found = Target(data=data, n=n, split=split, seed=seed).read(victim)
        o.tell(found.notes, quiet)
        sources = [example.fields["source"] for example in found]
        references = [example.fields["target"] for example in found]
    cut = sum(bool(translator.too_long(source)) for source in sources)
    outputs = _translate(translator, sources, quiet)
    if cut:
        o.say(
            f"{cut} of {len(sources)} sources are longer than {translator.name} reads; it was given their beginning",
            quiet,
        )
    if out is not None:
        _write(out, sources, outputs, references)
    if not quiet and (text or out is None):
        print(*outputs, sep="\n")
    scored = _score(outputs, references, seed) if data is not None else {}
    if scored:
        o.say("BLEU {value:.2f} ({low:.2f}-{high:.2f})".format(**scored["bleu"]), quiet)
    o.finish({"command": "translate run", "victim": translator.name, "n": len(sources), "cut": cut, **scored}, json)


def _translate(translator: Translator, sources: Sequence[str], quiet: bool) -> list[str]:
    from malaprop.cli.progress import count_bar

    outputs: list[str] = []
    with count_bar("translating", len(sources), quiet) as move:
        for at in range(0, len(sources), _AT_ONCE):
            outputs += translator.translate(sources[at : at + _AT_ONCE])
            move(len(sources[at : at + _AT_ONCE]))
    return outputs


def _write(out: Path, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> None:
    from malaprop.records.documents import write_whole

    rows = [
        {"source": source, "translation": output, **({"reference": reference} if reference else {})}
        for source, output, reference in zip(sources, outputs, references, strict=True)
    ]
    write_whole(out / _LINES, "".join(_json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _score(outputs: Sequence[str], references: Sequence[str], seed: int) -> dict[str, Any]:
    from malaprop.models.translation import bleu

    counts = bleu.counts(outputs, references)
    low, high = bleu.interval(counts, seed)
    return {"bleu": {"value": bleu.from_counts(counts.sum(0)), "low": low, "high": high}}
