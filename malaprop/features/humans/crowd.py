"""Exchange with crowd platforms: write a study's tasks (CSV, JSON, Label Studio), and read answers, all or none."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from malaprop.core.errors import RecordError
from malaprop.core.files import partial_path, remove_partial_files
from malaprop.features.humans.items import Parts, Shown, Turn, show, to_stored
from malaprop.features.humans.study import GivenAnswer, RatingStudy, connect, now, save_answer, transaction

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


# The names in our own files, and in the results that Mechanical Turk gives.
_NAMES = {
    "task": ("task", "Input.task"),
    "rater": ("rater", "worker", "WorkerId"),
    "answer": ("answer", "Answer.answer"),
}


@dataclass(frozen=True, slots=True)
class IncomingRow:
    """One answer as the file has it; `where` names its place in error messages."""

    where: str
    task: str
    rater: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSummary:
    """The counts of an import of answers."""

    answers: int
    raters: int


def import_answers(path: Path, file: Path) -> ImportSummary:
    """Read a CSV or JSON file of answers, or a JSON export of Label Studio, into the study at `path`."""
    with RatingStudy(path) as study:
        rows = list(read(file))
        if not rows:
            raise RecordError(f"{file} holds no answers; it needs rows with task, rater and answer")
        checked = [(row, *_check_row(study, row)) for row in rows]
        known = {rater.name: rater.id for rater in study.raters().values()}
        _check_duplicates(checked)
        base = connect(path, write=True)
        try:
            with transaction(base, path):
                for row, turn, value in checked:
                    if row.rater not in known:
                        made = base.execute("INSERT INTO raters (name, secret) VALUES (?, '')", (row.rater,))
                        known[row.rater] = int(made.lastrowid or 0)
                    if save_answer(base, GivenAnswer(known[row.rater], turn.item, value), now()) != "saved":
                        raise RecordError(
                            f"{row.where}: rater {row.rater!r} has answered task {row.task} before; nothing was "
                            "imported, remove the answers that the study has already"
                        )
        finally:
            base.close()
    return ImportSummary(answers=len(rows), raters=len({row.rater for row in rows}))


def _check_row(study: RatingStudy, row: IncomingRow) -> tuple[Turn, str]:
    """Return the item of a row and its answer as the study stores it; raise if either is unknown."""
    number, _, flip = row.task.partition(".")
    if not number.isdecimal() or flip not in ("0", "1") or int(number) not in study.items:
        raise RecordError(f"{row.where}: the study has no task {row.task!r}; give answers to this study's own tasks")
    if not row.rater:
        raise RecordError(f"{row.where} names no rater; each row needs the rater who answered")
    turn = Turn(int(number), flip == "1")
    item = study.items[turn.item]
    choices = show(item, turn.flip, study.facts.labels).choices
    short = {} if item.question == "label" else {c.value: c.value for c in choices}
    spelled = {**short, **{c.caption.casefold(): c.value for c in choices}}
    value = to_stored(item, turn, spelled.get(row.answer.strip().casefold(), ""), study.facts.labels)
    if value is None:
        raise RecordError(
            f"{row.where}: {row.answer!r} is not an answer to task {row.task}; expected one of "
            f"{', '.join(c.caption for c in choices)}"
        )
    return turn, value


def _check_duplicates(checked: list[tuple[IncomingRow, Turn, str]]) -> None:
    seen: dict[tuple[str, int], str] = {}
    for row, turn, _ in checked:
        if (first := seen.setdefault((row.rater, turn.item), row.where)) != row.where:
            raise RecordError(
                f"{row.where}: rater {row.rater!r} answers the item of task {row.task} again, after {first}; nothing "
                "was imported, keep one of the two"
            )


def read(file: Path) -> Iterator[IncomingRow]:
    """Yield the answers of a CSV or JSON file."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"cannot read {file}: {error}; give a CSV or JSON file in UTF-8") from None
    return _json_rows(file, text) if file.suffix.lower() == ".json" else _csv_rows(file, text)


def _csv_rows(file: Path, text: str) -> Iterator[IncomingRow]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        for number, row in enumerate(reader, start=2):
            yield _row(row, f"{file} row {number}")
    except csv.Error as error:
        raise RecordError(f"{file} is not CSV: {error}") from None


def _row(row: Mapping[str, Any], where: str) -> IncomingRow:
    found = {}
    for name, names in _NAMES.items():
        given = next((row[n] for n in names if row.get(n) is not None), None)
        if given is None:
            raise RecordError(f"{where} lacks {name!r}; answers need task, rater and answer")
        found[name] = str(given).strip()
    return IncomingRow(where, **found)


def _json_rows(file: Path, text: str) -> Iterator[IncomingRow]:
    try:
        plain = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file} is not JSON: {error}") from None
    if not isinstance(plain, list) or not all(isinstance(row, dict) for row in plain):
        raise RecordError(f"{file} must hold a list of objects with task, rater and answer, or Label Studio's export")
    for number, row in enumerate(plain, start=1):
        where = f"{file} entry {number}"
        if "annotations" in row:
            yield from _label_studio(row, where)
        else:
            yield _row(row, where)


def _label_studio(task: Mapping[str, Any], where: str) -> Iterator[IncomingRow]:
    """Yield each person's annotation of a Label Studio task, without those that were cancelled."""
    try:
        name = str(task["data"]["task"])
        for number, annotation in enumerate(task["annotations"], start=1):
            if annotation.get("was_cancelled"):
                continue
            who = annotation["completed_by"]
            rater = who.get("email", who.get("id")) if isinstance(who, dict) else who
            (choice,) = [r["value"]["choices"][0] for r in annotation["result"] if r["from_name"] == "answer"]
            yield IncomingRow(f"{where} annotation {number}", name, f"label-studio {rater}", str(choice))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError):
        raise RecordError(
            f"{where} is not a Label Studio annotation of this study; export as JSON, with data.task and one choice "
            "each"
        ) from None
