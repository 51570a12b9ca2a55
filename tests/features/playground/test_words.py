"""What pages may say, and what they may not."""

from __future__ import annotations

import pytest

from malaprop.core.errors import AssetError, DataError, VictimError
from malaprop.features.playground.input_checks import cut, describe_error, distinct, remove_paths, shorten_name


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("cannot read /home/me/model.bin", "cannot read …"),
        ("cannot read ~/models/a", "cannot read …"),
        (r"cannot read C:\Users\me\a.bin now", "cannot read … now"),
        ("http://me:pw@host:80/x?key=1 is down", "… is down"),
        ("label 3 is not among the victim's 2 labels", "label 3 is not among the victim's 2 labels"),
        ("he/she said 1/2", "he/she said 1/2"),
    ],
)
def test_paths_and_addresses_are_left_out(words, shown):
    assert remove_paths(words) == shown


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DataError("the text holds no word"), "the text holds no word"),
        (VictimError("/a/b is down"), "toy did not answer; the reason is in the server's log"),
        (RuntimeError("key=1"), "toy did not answer; the reason is in the server's log"),
        (
            AssetError("no wordnet in /x/y"),
            "a resource that this needs is not on the server; the reason is in the server's log",
        ),
    ],
)
def test_errors_are_told(error, words, caplog):
    assert describe_error(error, "toy") == words
    assert isinstance(error, DataError) or str(error) in caplog.text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("CNN-W-GloVe-1", "CNN-W-GloVe-1"),
        ("/home/me/models/mine", "mine"),
        ("https://user:key@api.example.com/v1?k=2", "api.example.com"),
        ("my_model:predict", "my_model:predict"),
        (r"C:\models\mine", "mine"),
    ],
)
def test_names_tell_no_place(name, shown):
    assert shorten_name(name) == shown


def test_names_are_told_apart():
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]


def test_a_text_is_cut_field_by_field():
    fields = cut({"premise": "(a b)", "empty": " ", "hypothesis": "c."})
    assert fields == [
        {"name": "premise", "before": "(", "words": [{"word": "a", "after": " "}, {"word": "b", "after": ")"}]},
        {"name": "empty", "before": " ", "words": []},
        {"name": "hypothesis", "before": "", "words": [{"word": "c", "after": "."}]},
    ]
