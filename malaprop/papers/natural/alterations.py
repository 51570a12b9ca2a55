"""What natural adversaries changed of their originals, for rooms that show changes of every kind."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from malaprop.core.errors import RecordError
from malaprop.core.png import is_address
from malaprop.frame.records.alteration import IMAGE, Alteration, AlterationReader
from malaprop.frame.records.run import Run
from malaprop.papers.natural import record, text_record

FGSM = "fgsm"


def _read_sentences(folder: Path, run: Run) -> dict[str, list[Alteration]]:
    found = [
        Alteration(
            id=turn.id,
            label=turn.label,
            original=turn.fields,
            changed={**turn.fields, turn.field: turn.adversary} if turn.status == "success" else None,
        )
        for turn in text_record.read_turns(folder)
        if turn.status in ("success", "failed")
    ]
    return {run.recipe: found}


def _read_images(folder: Path, run: Run) -> dict[str, list[Alteration]]:
    """Return the adversaries of the search, and beside them those of the baseline."""
    found = {run.recipe: _convert(record.read_finds(folder), folder)}
    whole = record.NaturalRecord.read(folder)
    baseline = () if whole is None else whole.gallery.get(f"{run.victim}, {FGSM.upper()}", ())
    return {**found, FGSM: _convert(baseline, folder)} if baseline else found


def _convert(finds: Iterable[record.ImageResult], folder: Path) -> list[Alteration]:
    found = []
    for find in finds:
        if find.status not in ("success", "failed") or not find.original:
            continue
        for picture in (find.original, find.adversary):
            if picture and not is_address(picture):
                raise RecordError(f"{folder}: image {find.id} is no PNG that the record holds; run it again")
        changed = {IMAGE: find.adversary} if find.status == "success" and find.adversary else None
        label = str(find.label)
        found.append(
            Alteration(id=find.id, label=label, original={IMAGE: find.original}, changed=changed, last=find.label)
        )
    return found


SENTENCES = AlterationReader(text_record.LINES, "sentences", _read_sentences)
IMAGES = AlterationReader(record.LINES, "images", _read_images)
