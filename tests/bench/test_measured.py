import pytest
from malaprop_bench.measured import Ended, Measured, changed_share, read_rows, write_rows

from malaprop.core.errors import DataError


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [
        ("a good film", "a good film", 0),
        ("a good film", "a fine film", 1 / 3),
        ("a good film .", "a fine movie .", 2 / 3),
        ("a good film", "a film", 1 / 3),
        ("a good film", "a very good film", 1 / 3),
        ("...", "...", 0),
    ],
)
def test_changed_share_counts_words(before, after, share):
    assert changed_share(before, after) == pytest.approx(share)


def ended(status, text="a fine film", queries=3):
    return Ended(status=status, text=text, queries=queries)


def test_success_leaves_out_skipped_rows_and_changed_leaves_out_failed_ones():
    outcomes = (ended("success"), ended("failed", "x y z"), ended("skipped"), ended("success", "a bad film", 5))
    side = Measured(tool="t", threads=1, wall_s=1, model_s=0.5, forwarded=9, outcomes=outcomes)
    rows = [("a good film", 1)] * 4
    assert (side.success.hits, side.success.total) == (2, 3)
    assert side.asked == 14
    assert side.changed(rows) == pytest.approx(1 / 3)
    assert replace_outcomes(side, (ended("failed"),)).changed(rows) is None


def replace_outcomes(side, outcomes):
    return Measured(tool="t", threads=1, wall_s=1, model_s=0, forwarded=0, outcomes=outcomes, texts=side.texts)


def test_measured_comes_back_as_it_was_written(tmp_path):
    side = Measured(
        tool="t", threads=2, wall_s=1.5, model_s=1, forwarded=2, outcomes=(ended("success"),), texts=("å", "b\u2028")
    )
    side.write(tmp_path / "m.json")
    assert Measured.read(tmp_path / "m.json") == side
    assert side.distinct == 2


@pytest.mark.parametrize("content", ["", "{", "{}", '{"outcomes": [{"status": 1}]}', '{"outcomes": [], "more": 1}'])
def test_a_broken_file_is_said_in_one_line(tmp_path, content):
    (tmp_path / "m.json").write_text(content)
    with pytest.raises(DataError, match=r"m\.json does not hold") as error:
        Measured.read(tmp_path / "m.json")
    assert "\n" not in str(error.value)


def test_rows_survive_the_file(tmp_path):
    rows = [("a\nb \u2028", 1), ("", 0)]
    assert read_rows(write_rows(rows, tmp_path / "r.jsonl")) == rows
