"""Settings: plain values and TOML, there and back, with hostile strings."""

from __future__ import annotations

import json
import math
import tomllib
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from malaprop.core.errors import SettingError
from malaprop.core.settings import call, overrides, parse_value, plain, read_toml, to_toml

names = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12), st.sampled_from(["a.b", '"', "", "😀"])
)
scalars = st.one_of(
    names,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.sampled_from(["'''", '"""', "\\", "\\u0041", "\x7f\x00\x1f", "\r\n", "# no comment", "\u2028", "1979-05-27"]),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)


@given(st.dictionaries(names, values, max_size=5))
@example({"😀": {"😀": "😀\x7f"}})
@example({"table": {}, "\x7f": 1.0, "key": 1e16})
def test_toml_comes_back_exactly(settings):
    assert tomllib.loads(to_toml(settings)) == settings


def test_toml_of_odd_values():
    assert tomllib.loads(to_toml({"a": math.inf, "b": -math.inf})) == {"a": math.inf, "b": -math.inf}
    assert math.isnan(tomllib.loads(to_toml({"a": math.nan}))["a"])
    assert to_toml({"a": None, "b": {"c": None}}) == "\n[b]\n"


def test_a_name_that_no_encoding_can_carry_does_not_stop_the_run():
    """A file name of undecodable bytes has lone surrogates."""
    assert tomllib.loads(to_toml({"file\udcff": "name\udcff"}).encode().decode()) == {"file?": "name?"}


def test_read_toml_says_what_is_wrong(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text("a = 1", encoding="utf-8")
    assert read_toml(file) == {"a": 1}
    with pytest.raises(SettingError, match="no such file"):
        read_toml(tmp_path / "missing.toml")
    for broken in (b"a = ", b"\xff\xfe"):
        file.write_bytes(broken)
        with pytest.raises(SettingError, match="is not TOML"):
            read_toml(file)


@dataclass(frozen=True)
class Part:
    size: int = 3
    inner: Any = None
    words: frozenset[str] = frozenset({"b", "a"})
    table: dict[Any, Any] = field(default_factory=dict)


def test_plain_values_of_a_part():
    made = plain(Part(inner=Part(size=1), table={1: (2, None), "x": None}))
    inner = {"kind": "Part", "size": 1, "words": ["a", "b"], "table": {}}
    assert made == {"kind": "Part", "size": 3, "inner": inner, "words": ["a", "b"], "table": {"1": [2, "None"]}}
    json.dumps(made)
    assert plain(Part) == str(Part)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ('"3"', "3"),
        ("[1, 2]", [1, 2]),
        ("plain words", "plain words"),
        ("", ""),
        ("a/b.csv", "a/b.csv"),
        ("1\ny = 2", "1\ny = 2"),
    ],
)
def test_override_values(text, value):
    assert parse_value(text) == value


def test_overrides_are_pairs():
    assert overrides(["max-edits=5", "name = x=y"]) == {"max_edits": 5, "name": "x=y"}
    for wrong in ("max_edits", "=5"):
        with pytest.raises(SettingError, match="name=value"):
            overrides([wrong])


def test_a_setting_that_is_not_taken_is_refused_with_the_near_ones():
    def recipe(*, share: float = 0.2, size: int = 60) -> tuple[float, int]:
        return share, size

    assert call(recipe, {"size": 3}, "genetic") == (0.2, 3)
    with pytest.raises(SettingError, match="no setting of genetic is called 'shair'; did you mean share"):
        call(recipe, {"shair": 1}, "genetic")


def test_a_word_where_a_number_belongs_is_named():
    def recipe(*, share: float = 0.2, size: int = 60) -> float:
        return share / size

    with pytest.raises(SettingError, match="genetic needs a number for share, got 'much'"):
        call(recipe, {"size": 3, "share": "much"}, "genetic")
