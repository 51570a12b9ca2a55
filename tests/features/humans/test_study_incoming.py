"""Tasks out to crowd platforms and answers back in."""

from __future__ import annotations

import csv
import json
import sqlite3

import pytest
from tiny_study import two_runs

from malaprop.core.errors import RecordError
from malaprop.features.humans import crowd as crowd
from malaprop.features.humans.crowd import import_answers
from malaprop.features.humans.export import Design, export
from malaprop.features.humans.items import to_shown, to_stored
from malaprop.features.humans.study import RatingStudy


@pytest.fixture
def path(tmp_path):
    export([two_runs(tmp_path / "runs")], tmp_path / "study.db", Design(items=4, seed=3, checks=1, raters=2))
    return tmp_path / "study.db"


@pytest.fixture
def tasks(path, tmp_path):
    with RatingStudy(path) as study:
        written = crowd.write_csv(study, tmp_path / "tasks.csv")
    with open(written, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_answers(file, rows, names=("task", "rater", "answer")):
    with open(file, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(names)
        writer.writerows(rows)
    return file


def stored(path):
    base = sqlite3.connect(path)
    found = base.execute("SELECT name, item, value FROM answers JOIN raters ON id = rater ORDER BY 1, 2").fetchall()
    base.close()
    return found


def test_tasks_tell_all_a_rater_needs_and_no_recipe(path, tasks):
    with RatingStudy(path) as study:
        assert len(tasks) == sum(map(len, study.turns.values()))
    for row in tasks:
        assert row["text_1"]
        assert len(row["choices"].split(crowd.BETWEEN)) in (2, 5)
        assert bool(row["text_2"]) == (row["question"] in ("readability", "similarity"))
        assert bool(row["original"]) == (row["question"] == "similarity")
        assert not {"typo", "synonym", "toy"} & set(" ".join(row.values()).split())


def test_answers_come_back_on_the_right_side(path, tasks, tmp_path):
    """Both raters choose the text without an x, wherever it stands: the synonym, which is system 0."""
    pairs = [row for row in tasks if row["question"] == "readability" and "x" not in row["text_1"] + row["text_2"]]
    pairs += [row for row in tasks if row["question"] == "readability" and row not in pairs]
    rows = []
    for row in pairs:
        side = "Text 1" if "xo" not in row["text_1"] else "Text 2"
        rows.append((row["task"], row["rater"], side))
    import_answers(path, write_answers(tmp_path / "answers.csv", rows))
    with RatingStudy(path) as study:
        real = [a.value for a in study.answers() if study.items[a.item].expected is None]
        assert real == ["a"] * 8
        assert len({turn.flip for turns in study.turns.values() for turn in turns}) == 2


@pytest.mark.parametrize("names", [("task", "rater", "answer"), ("Input.task", "WorkerId", "Answer.answer")])
def test_all_answers_of_a_platform(path, tasks, tmp_path, names):
    rows = [(row["task"], f"worker {row['rater']}", row["choices"].split(crowd.BETWEEN)[1].upper()) for row in tasks]
    brought = import_answers(path, write_answers(tmp_path / "answers.csv", rows, names))
    assert (brought.answers, brought.raters) == (len(tasks), 2)
    assert len(stored(path)) == len(tasks)
    assert {name for name, _, _ in stored(path)} == {"worker r1", "worker r2"}


def test_answers_as_json_and_as_digits(path, tasks, tmp_path):
    scale = next(row for row in tasks if row["question"] == "naturalness")
    file = tmp_path / "answers.json"
    file.write_text(json.dumps([{"task": scale["task"], "rater": "w", "answer": 5}]))
    import_answers(path, file)
    assert stored(path) == [("w", int(scale["task"].partition(".")[0]), "5")]


def test_label_studio_there_and_back(path, tmp_path):
    with RatingStudy(path) as study:
        crowd.write_label_studio(study, tmp_path / "ls.json")
        items = len(study.items)
    tasks = json.loads((tmp_path / "ls.json").read_text())
    assert len(tasks) == items
    assert 'toName="shown"' in (tmp_path / "ls.xml").read_text()
    for number, task in enumerate(tasks):
        choice = [{"from_name": "answer", "to_name": "shown", "type": "choices",
                   "value": {"choices": [task["data"]["choices"][0]["value"]]}}]  # fmt: skip
        task["annotations"] = [
            {"completed_by": 7, "was_cancelled": False, "result": choice},
            {"completed_by": {"id": 8, "email": "b@x"}, "was_cancelled": number == 0, "result": choice},
        ]
    (tmp_path / "export.json").write_text(json.dumps(tasks))
    assert import_answers(path, tmp_path / "export.json").answers == 2 * items - 1
    assert {name for name, _, _ in stored(path)} == {"label-studio 7", "label-studio b@x"}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("999.0", "w", "1"), "row 3: the study has no task '999.0'"),
        (("1", "w", "1"), "no task '1'"),
        (("x.0", "w", "1"), "no task 'x.0'"),
        (("{task}", "w", "perhaps"), "'perhaps' is not an answer to task"),
        (("{task}", "", "{choice}"), "names no rater"),
        (("{task}", "w", "{choice}"), "again, after"),
    ],
)
def test_one_bad_row_brings_nothing_in(path, tasks, tmp_path, row, told):
    good = (tasks[0]["task"], "w", tasks[0]["choices"].split(crowd.BETWEEN)[0])
    bad = tuple(cell.format(task=good[0], choice=good[2]) for cell in row)
    with pytest.raises(RecordError, match=told):
        import_answers(path, write_answers(tmp_path / "answers.csv", [good, bad]))
    assert stored(path) == []


def test_the_same_file_twice_is_refused(path, tasks, tmp_path):
    file = write_answers(tmp_path / "a.csv", [(tasks[0]["task"], "w", tasks[0]["choices"].split(crowd.BETWEEN)[0])])
    import_answers(path, file)
    with pytest.raises(RecordError, match=r"has answered task .* before; nothing was imported"):
        import_answers(path, file)
    assert len(stored(path)) == 1


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.csv", "", "holds no answers"),
        ("a.csv", "task,rater\n1.0,w\n", "lacks 'answer'"),
        ("a.json", "{", "is not JSON"),
        ("a.json", '{"task": 1}', "a list of objects"),
        ("a.json", '[{"annotations": [{"result": []}], "data": {"task": "1.0"}}]', "not a Label Studio annotation"),
    ],
)
def test_files_that_hold_no_answers(path, tmp_path, name, content, told):
    (tmp_path / name).write_text(content)
    with pytest.raises(RecordError, match=told):
        import_answers(path, tmp_path / name)


def test_what_is_shown_and_what_is_stored_agree(path):
    with RatingStudy(path) as study:
        for turns in study.turns.values():
            for turn in turns:
                item = study.items[turn.item]
                for value in ("1", "2"):
                    kept = to_stored(item, turn, value, study.facts.labels)
                    assert kept is None or to_shown(item, turn, kept) == value
