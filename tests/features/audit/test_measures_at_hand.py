"""A measure that cannot be taken on this machine is said so by every command before anything is attacked."""

from __future__ import annotations

import pytest

from malaprop.assets import measures, store
from malaprop.assets.measures import check_measures
from malaprop.core.errors import AssetError
from malaprop.features.audit.attack import AttackRun
from malaprop.features.audit.study import Audit
from malaprop.frame.study.settings import build
from malaprop.papers.attentive.oneword_study import OneWord

COMMANDS = {
    OneWord: {"models": ("Transformer-3",)},
    AttackRun: {"recipe": "deepwordbug", "victim": "no.such:thing"},
    Audit: {"victim": ("no.such:thing",), "attacks": ("deepwordbug",), "validity": "paper"},
}


def be_without(monkeypatch, *libraries: str) -> None:
    monkeypatch.setattr(measures, "find_spec", lambda name: None if name in libraries else name)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("measure", ["grammar", "perplexity"])
def test_a_command_says_so_before_it_begins(command, measure, monkeypatch):
    """A study of 24 attacks ended without a record: its machine lacked the library that counts mistakes."""
    be_without(monkeypatch, "language_tool_python", "harper", "transformers")
    with pytest.raises(AssetError, match=f"{measure} out of --measure"):
        build(command, {**COMMANDS[command], "measure": (measure,)}).check()


def test_what_is_missing_is_named(monkeypatch, tmp_path):
    be_without(monkeypatch)
    monkeypatch.setattr(measures, "which", lambda name: None)
    with pytest.raises(AssetError, match="needs Java"):
        check_measures(["grammar"])
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path))
    monkeypatch.setenv("MALAPROP_DATA", str(tmp_path))
    monkeypatch.setenv("MALAPROP_OFFLINE", "1")
    with pytest.raises(AssetError, match=r"smollm2.*; leave perplexity out of --measure"):
        check_measures(["distance", "perplexity"])
    with pytest.raises(AssetError, match="mpnet"):
        check_measures(["similarity"], encoder="mpnet")
    monkeypatch.setattr(measures, "which", str)
    check_measures(["grammar", "distance"])


def test_the_assets_of_the_judge_are_listed_and_looked_for(monkeypatch):
    """The judge was looked for under a name that no asset has, so no attack could keep the meaning of texts."""
    monkeypatch.undo()
    found: list[str] = []
    monkeypatch.setattr(store, "locate", lambda name, *, fetch: found.append(store.entry(name).name))
    assert measures.why_no_judge(fetch=True) == ""
    assert found == list(measures.JUDGE_ASSETS)
