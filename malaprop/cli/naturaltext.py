"""malaprop natural and malaprop train arae on texts: what the commands print and give back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.cli import options as o
from malaprop.cli.imagemodels import CLASSIFIERS
from malaprop.cli.progress import found_bar

if TYPE_CHECKING:
    from malaprop.data.base import Dataset
    from malaprop.natural.textwork import TextJob
    from malaprop.records.naturaltext import NaturalTextRecord

NAMES = ("arae", "text-vae")
VICTIM = "LSTM-W-GloVe-1"  # where none is named


def train_text(
    spec: str,
    data: str,
    out: Path | None,
    *,
    seed: int,
    settings: dict[str, Any],
    vectors: Path | None,
    columns: dict[str, Any],
    device: str,
    json: bool,
    quiet: bool,
) -> None:
    """Trains a sentence model into --out; what was killed goes on there."""
    from malaprop.data.base import load
    from malaprop.models.generative.sentencetraining import train_sentences
    from malaprop.runs.victims import device_of

    folder = o.out_folder(out, False, "train", spec, data)
    card = train_sentences(
        spec.removeprefix("text-"),
        data,
        partial(load, **columns),
        folder,
        settings=settings,
        vectors=vectors,
        seed=seed,
        device=device_of(device),
        quiet=quiet,
    )
    if not quiet:
        print(", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in card.figures.items()))
        for sample in card.samples[:5]:
            print(f"  {sample}")
        o.say(f"model in {folder}; use it with: malaprop natural --generator {folder} --data {data}")
    o.finish({"command": "train", "spec": spec, "out": str(folder), **card.figures}, json)


def one(victim: str | None, *, resume: bool, json: bool, **settings: Any) -> None:
    """One victim, or one translator with --probe."""
    from malaprop.core.errors import SettingError
    from malaprop.natural.textwork import run

    if victim is None and settings["probe"]:
        raise SettingError("--probe asks a translator: give --victim FOLDER or module:function (texts to texts)")
    victim = victim or VICTIM
    _check_victims([victim], settings["data"])
    quiet = bool(settings["quiet"])
    job, record = run(
        victim=victim,
        whole=_read([victim], settings),
        resume=resume,
        say=lambda line: o.say(line, quiet),
        bar=partial(found_bar, quiet=quiet),
        **settings,
    )
    _finish("natural", job, record, json)


def _read(victims: Sequence[str], settings: dict[str, Any]) -> Dataset:
    """The texts that examples are drawn from: the part asked for, with labels in the order asked for."""
    from malaprop.studies.selection import Selection

    split, labels = settings.pop("split"), settings.pop("labels")
    return Selection(data=settings["data"], split=split, labels=o.listed(labels) or ()).whole(victims)


def _check_victims(victims: Sequence[str], data: str) -> None:
    """Refuses what only images can be put to."""
    from malaprop.core.errors import SettingError

    for victim in victims:
        if victim in CLASSIFIERS:
            raise SettingError(
                f"{victim} is a classifier of images, and {data} holds texts; name a victim of texts, or leave it out "
                f"for {VICTIM}"
            )


def several(victims: Sequence[str], searches: Sequence[str], *, resume: bool, json: bool, **settings: Any) -> None:
    """Several victims on the same sentences."""
    from malaprop.natural.textwork import compare

    _check_victims(victims, settings["data"])
    quiet = bool(settings["quiet"])
    job, record = compare(
        victims=victims,
        whole=_read(victims, settings),
        searches=searches,
        resume=resume,
        place_of=o.slug,
        say=lambda line: o.say(line, quiet),
        bar=partial(found_bar, quiet=quiet),
        **settings,
    )
    _finish("natural compare", job, record, json)


def _finish(command: str, job: TextJob, record: NaturalTextRecord, json: bool) -> None:
    from malaprop.reports.naturaltext import terminal
    from malaprop.reports.page import write_report

    path = record.write(job.folder)
    report = write_report([job.folder], job.folder / "report.html")
    if not job.quiet:
        for note in record.notes:
            o.say(note)
        print(terminal(record))
        o.say(f"figures in {path}; report: {report}")
    o.finish({"command": command, "out": str(job.folder), "report": str(report), **_summary(record)}, json)


def _summary(record: NaturalTextRecord) -> dict[str, Any]:
    return {
        "data": record.data,
        "generator": record.generator,
        "goal": record.goal,
        "items": record.items,
        "notes": list(record.notes),
        "quality": record.quality,
        "runs": [
            {
                "victim": t.victim,
                "search": t.search,
                "accuracy": t.accuracy.to_dict(),
                "success": t.success.to_dict(),
                "distance": t.distance.to_dict(),
                "distance_where_start_kept": t.kept.to_dict(),
                "asked": t.asked.to_dict(),
                "forwarded": t.forwarded,
                "changed_at_start": t.started.to_dict(),
                "came_back_whole": t.whole.to_dict(),
                "words_changed": t.words.to_dict(),
                "perplexity_ratio": t.ratio,
                "reasons": t.reasons,
                "seconds": t.seconds,
            }
            for t in record.tried
        ],
        "largest": {name: rate.to_dict() for name, rate in record.largest.items()},
        "pairs": [
            {"one": p.one, "two": p.two, "larger": p.larger.to_dict(), "ties": p.ties, "p": p.p} for p in record.pairs
        ],
    }
