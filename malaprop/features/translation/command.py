"""malaprop translate run: translate texts or a dataset, and score BLEU."""

from __future__ import annotations

import json as _json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.features.translation.study import VICTIM
from malaprop.frame.command import options as o
from malaprop.frame.command.settings_command import command
from malaprop.frame.study.settings import opt

if TYPE_CHECKING:
    from malaprop.features.translation.models.translator import Translator

_LINES = "translations.jsonl"
_AT_ONCE = 256  # sources translated between two updates of the progress bar


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand:
    """Translate, and score BLEU where there are references.

    Examples:

      malaprop translate run --victim models/nmt --source "A man runs."

      malaprop translate run --victim models/nmt --data multi30k --out runs/translated
    """

    victim: str = opt(help=VICTIM, repeat=True)
    source: tuple[str, ...] = opt(
        (), "A sentence to translate; may be repeated.", old=("text",), repeat=True, whole=True
    )
    data: str | None = opt(None, "Sources to translate, and references to score them by.")
    n: int = opt(0, min=0, words={"all": 0})
    beam: int = opt(5, "Width of the beam that translates.", min=1)
    split: str = opt("auto")
    seed: int = opt(0, min=0)
    device: str = opt("auto")
    out: Path | None = opt(None, "Folder for translations.jsonl; made if it is missing.")
    json: bool = opt(False)
    quiet: bool = opt(False)


def translate(asked: RunCommand) -> None:
    """Print or write the translations, and score them where there are references."""
    from malaprop.core.errors import RecordError, SettingError
    from malaprop.features.translation.models.victim import load
    from malaprop.features.translation.study import Target
    from malaprop.frame.runs.victims import device_of

    out, quiet = asked.out, asked.quiet
    if bool(asked.source) == (asked.data is not None):
        raise SettingError("give what to translate: either --source SENTENCE or --data PAIRS")
    if out is not None and (out / _LINES).exists():
        raise RecordError(f"{out / _LINES} exists already; choose another --out")
    translator = load(asked.victim, device=device_of(asked.device), beam=asked.beam)
    sources, references = list(asked.source), [""] * len(asked.source)
    if asked.data is not None:
        found = Target(data=asked.data, n=asked.n, split=asked.split, seed=asked.seed).read(asked.victim)
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
    if not quiet and (asked.source or out is None):
        print(*outputs, sep="\n")
    scored = _score(outputs, references, asked.seed) if asked.data is not None else {}
    if scored:
        o.say("BLEU {value:.2f} ({low:.2f}-{high:.2f})".format(**scored["bleu"]), quiet)
    said = {"command": "translate run", "victim": translator.name, "n": len(sources), "cut": cut}
    o.finish({**said, **scored}, asked.json)


def _translate(translator: Translator, sources: Sequence[str], quiet: bool) -> list[str]:
    from malaprop.frame.command.watch import count_bar

    outputs: list[str] = []
    with count_bar("translating", len(sources), quiet) as move:
        for at in range(0, len(sources), _AT_ONCE):
            outputs += translator.translate(sources[at : at + _AT_ONCE])
            move(len(sources[at : at + _AT_ONCE]))
    return outputs


def _write(out: Path, sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> None:
    from malaprop.core.files import write_whole

    rows = [
        {"source": source, "translation": output, **({"reference": reference} if reference else {})}
        for source, output, reference in zip(sources, outputs, references, strict=True)
    ]
    write_whole(out / _LINES, "".join(_json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _score(outputs: Sequence[str], references: Sequence[str], seed: int) -> dict[str, Any]:
    from malaprop.models import bleu

    counts = bleu.counts(outputs, references)
    low, high = bleu.interval(counts, seed)
    return {"bleu": {"value": bleu.from_counts(counts.sum(0)), "low": low, "high": high}}


run = command(RunCommand, translate)
