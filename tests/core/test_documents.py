"""Files written whole or not at all, and files that grow line by line."""

import pytest

from malaprop.core.errors import RecordError
from malaprop.core.files import read_lines, write_whole


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
