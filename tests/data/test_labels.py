"""Labels as files have them, to numbers from 0."""

import pytest

from malaprop.core.errors import DataError
from malaprop.data.matching import read_labels


@pytest.mark.parametrize(
    ("values", "numbers", "names", "noted"),
    [
        (["0", "1", "0"], [0, 1, 0], ("0", "1"), False),
        ([0, 2], [0, 2], ("0", "1", "2"), False),  # a label that happens to be absent keeps its place
        (["1", "1"], [1, 1], ("0", "1"), False),
        ([1.0, 0.0], [1, 0], ("0", "1"), False),
        ([True, False], [1, 0], ("0", "1"), False),
        (["pos", "neg", "pos"], [1, 0, 1], ("neg", "pos"), False),
        (["1", "2", "10"], [0, 1, 2], ("1", "2", "10"), True),
        (["-1", "1"], [0, 1], ("-1", "1"), True),
        (["0", "4000000000"], [0, 1], ("0", "4000000000"), True),
        (["1.5", "2.5"], [0, 1], ("1.5", "2.5"), False),
    ],
)
def test_read(values, numbers, names, noted):
    read = read_labels(values)
    assert (read.numbers, read.names, bool(read.note)) == (numbers, names, noted)


def test_known_names_decide():
    assert read_labels(["b", "A", "0"], ["a", "b"]).numbers == [1, 0, 0]
    assert read_labels(["1", "2"], ["1", "2"]).numbers == [0, 1]  # a name that looks like a number is a name


def test_too_many_names_are_no_labels():
    with pytest.raises(DataError, match="1,001 different values"):
        read_labels([f"text {i}" for i in range(1001)])
