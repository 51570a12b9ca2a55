"""Records of one JSON file: whole or not at all, and one line on what is wrong."""

import pytest

from malaprop.core.errors import RecordError
from malaprop.records.documents import Document, read_lines, write_whole

KIND = Document(file="kind.json", about="a kind", again="run it again")


def test_what_is_written_is_read(tmp_path):
    path = KIND.write(tmp_path / "new", {"name": "ö", "count": 2})
    assert path == tmp_path / "new" / "kind.json"
    assert KIND.read(tmp_path / "new", lambda raw: raw) == {"name": "ö", "count": 2}
    assert [p.name for p in path.parent.iterdir()] == ["kind.json"]


def test_a_folder_without_it_holds_none(tmp_path):
    assert KIND.read(tmp_path, dict) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 2, "count": 1}', '{"format": 1}', "[" * 100_000])
def test_anything_else_is_refused_in_one_line(tmp_path, text):
    (tmp_path / "kind.json").write_text(text)
    with pytest.raises(RecordError, match=r"kind.json is no record of a kind \(.+\); run it again") as refused:
        KIND.read(tmp_path, lambda raw: raw["count"])
    assert "\n" not in str(refused.value)


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path):
    (tmp_path / "file").write_text("before")
    with pytest.raises(RecordError, match="cannot write"):
        write_whole(tmp_path / "file" / "below", "text")
    assert (tmp_path / "file").read_text() == "before"


def test_of_lines_only_the_last_may_be_torn(tmp_path):
    path = tmp_path / "lines.jsonl"
    assert read_lines(path, int) == []
    path.write_text("1\n2\n3")
    assert read_lines(path, int) == [1, 2, 3]
    path.write_text('1\n2\n{"to')
    assert read_lines(path, int) == [1, 2]
    path.write_text('1\n{"to\n2\n')
    with pytest.raises(RecordError, match="line 2"):
        read_lines(path, int)
