"""NLTK's tagger out of its pickle: read as data, and written as NLTK reads it now."""

from __future__ import annotations

import io
import json
import pickle

import pytest

from malaprop.assets.perceptron import FOLDER, convert, read_plain
from malaprop.core.errors import AssetError

TAGGER = ({"bias": {"NN": 1.5, "VB": -0.25}, "i word dog": {"NN": 2.0}}, {"the": "DT"}, {"NN", "VB", "DT"})


class Harmful:
    """A pickle that would run something."""

    def __reduce__(self):
        return print, ("it ran",)


@pytest.mark.parametrize("protocol", [2, 3])
def test_plain_values_are_read(protocol):
    for value in ({"a": [1.5, -2.0], "b": ("x", ("y",)), "c": {}}, [{"k": "v"}, "k", "v", []]):
        assert read_plain(pickle.dumps(value, protocol)) == value
    assert read_plain(pickle.dumps({"NN", "VB"}, 2)) == {"NN", "VB"}


def test_what_would_run_is_refused(capsys):
    for data in (pickle.dumps(Harmful(), 2), b"\x80\x02c__builtin__\neval\n(X\x04\x00\x00\x001/0\x0atR.", b"\x80\x02}"):
        with pytest.raises(AssetError, match="damaged"):
            read_plain(data)
    assert capsys.readouterr().out == ""


def test_the_tagger_comes_as_json(tmp_path):
    members = {"averaged_perceptron_tagger.pickle": lambda: io.BytesIO(pickle.dumps(TAGGER, 2))}
    convert(members, tmp_path)
    place = tmp_path / "taggers" / FOLDER
    found = [json.loads((place / f"{FOLDER}.{name}.json").read_text()) for name in ("weights", "tagdict", "classes")]
    assert found == [TAGGER[0], TAGGER[1], sorted(TAGGER[2])]
    assert "NNS\tNOUN\n" in (tmp_path / "taggers/universal_tagset/en-ptb.map").read_text()
    other = {"averaged_perceptron_tagger.pickle": lambda: io.BytesIO(pickle.dumps({"a": 1.5}, 2))}
    with pytest.raises(AssetError, match="holds no tagger"):
        convert(other, tmp_path / "other")
