"""Writes a study for crowd platforms: its tasks as CSV or JSON, or as a Label Studio project."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

from malaprop.core.errors import RecordError
from malaprop.core.files import partial_path, remove_partial_files
from malaprop.features.humans.items import Turn
from malaprop.features.humans.presentation import Parts, Shown, show
from malaprop.features.humans.study import RatingStudy

COLUMNS = ("task", "rater", "place", "question", "prompt", "guidance", "original", "text_1", "text_2", "choices")
BETWEEN = " | "
# Choices differ from task to task, so they come with the data.
CONFIG = """<View>
  <Header value="$prompt"/>
  <Text name="shown" value="$shown"/>
  <Choices name="answer" toName="shown" value="$choices" choice="single" required="true"/>
</View>
"""


def task_name(turn: Turn) -> str:
    """Return the task's name, which comes back with an answer: the item's number and whether its texts were swapped."""
    return f"{turn.item}.{int(turn.flip)}"


def _flat(parts: Parts | None) -> str:
    return "\n".join(f"{name}: {text}" if name else text for name, text in parts or ())


def rows(study: RatingStudy) -> Iterator[dict[str, str]]:
    """Yield a row for each item of each rater, in that rater's order, without a hint of the recipe."""
    names = {id: rater.name for id, rater in study.raters().items()}
    for rater, turns in study.turns.items():
        for place, turn in enumerate(turns, start=1):
            shown = show(study.items[turn.item], turn.flip, study.facts.labels)
            texts = [*map(_flat, shown.texts), ""]
            yield {
                "task": task_name(turn),
                "rater": names[rater],
                "place": str(place),
                "question": shown.question.name,
                "prompt": shown.question.prompt,
                "guidance": shown.question.guidance,
                "original": _flat(shown.original),
                "text_1": texts[0],
                "text_2": texts[1],
                "choices": BETWEEN.join(c.caption for c in shown.choices),
            }


def write_csv(study: RatingStudy, path: Path) -> Path:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(study))
    return _write(path, out.getvalue())


def write_json(study: RatingStudy, path: Path) -> Path:
    found = [{**row, "choices": row["choices"].split(BETWEEN)} for row in rows(study)]
    return _write(path, json.dumps(found, ensure_ascii=False, indent=1) + "\n")


def write_label_studio(study: RatingStudy, path: Path) -> Path:
    """Write tasks to import into Label Studio, and beside them its labelling interface as .xml.

    There is one task an item; set how many people judge it in Label Studio, as the project's overlap.
    """
    if study.images:
        raise RecordError("--label-studio writes texts only, and this study has images; use --csv or --json-file")
    turns: dict[int, Turn] = {}
    for own in study.turns.values():
        for turn in own:
            turns.setdefault(turn.item, turn)
    tasks = [{"data": _task(study, turn)} for _, turn in sorted(turns.items())]
    _write(path.with_suffix(".xml"), CONFIG)
    return _write(path, json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")


def _task(study: RatingStudy, turn: Turn) -> dict[str, object]:
    shown = show(study.items[turn.item], turn.flip, study.facts.labels)
    return {
        "task": task_name(turn),
        "question": shown.question.name,
        "prompt": f"{shown.question.prompt} {shown.question.guidance}",
        "shown": _together(shown),
        "choices": [{"value": c.caption} for c in shown.choices],
    }


def _together(shown: Shown) -> str:
    parts = [f"Original:\n{_flat(shown.original)}"] if shown.original else []
    if len(shown.texts) == 1:
        parts.append(f"Changed text:\n{_flat(shown.texts[0])}" if shown.original else _flat(shown.texts[0]))
    else:
        parts += [f"Text {number}:\n{_flat(text)}" for number, text in enumerate(shown.texts, start=1)]
    return "\n\n".join(parts)


def _write(path: Path, content: str) -> Path:
    half = partial_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_partial_files(path.parent, path.name)
        half.write_bytes(content.encode("utf-8", "replace"))
        half.replace(path)
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror or error}; choose another place") from None
    return path
