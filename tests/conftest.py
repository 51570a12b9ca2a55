"""Shared fixtures: the toy victim and its texts, tiny stand-ins for assets, and what to do about the real ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import toy
from hypothesis import HealthCheck, settings

from malaprop.assets.synonyms import Synonyms
from malaprop.assets.vectors import Neighbours, Vectors
from malaprop.attacks.constraints.senses import Sense
from malaprop.core.errors import AssetError
from malaprop.core.example import Example
from malaprop.models.victims.strings import StringVictim

# Tests run side by side. Two threads of small networks that wait for each other on a busy core take ten times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Times on a shared machine say nothing about the code, and a failure must come again.
settings.register_profile(
    "tests", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("tests")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves slow tests out unless they are asked for by mark or by name."""
    if config.getoption("markexpr") or any("::" in arg for arg in config.args):
        return
    skip = pytest.mark.skip(reason="slow; run with -m slow")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(skip)


@pytest.fixture
def real_asset(request: pytest.FixtureRequest):
    """A function that makes sure of an asset, or skips the test where it cannot be had."""
    assert request.node.get_closest_marker("assets"), "a test that wants real assets is marked `assets`"

    def ensure(*names: str) -> None:
        from malaprop.assets import store

        for name in names:
            try:
                store.locate(name)
            except AssetError as error:
                pytest.skip(str(error))

    return ensure


_Cached = type(cache(len))
_CACHE = os.environ.get("MALAPROP_CACHE")  # of this machine; a fixture of a module or a session may set one of its own
_LAST = {"marked": False}  # whether the last test was marked `assets`


@pytest.fixture(autouse=True)
def no_judge(request: pytest.FixtureRequest, monkeypatch):
    """Attacks as papers have them go without the judge of meaning, wherever its assets are cached: it is slow."""
    if not request.node.get_closest_marker("assets"):
        why = "the judge of meaning cannot be asked: tests go without"
        monkeypatch.setattr("malaprop.assets.measures.why_no_judge", lambda name="", **_: "" if name else why)


@pytest.fixture(autouse=True)
def no_outside(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch) -> None:
    """Tests that are not marked `assets` see an empty cache and fetch nothing, whatever this machine has fetched.

    What those of the other sort have opened is forgotten too, so that no test passes by the order in which they run.
    """
    marked = request.node.get_closest_marker("assets") is not None
    if marked != _LAST["marked"]:
        forget_assets(opened=True)
        _LAST["marked"] = marked
    if not marked:
        if os.environ.get("MALAPROP_CACHE") == _CACHE:
            monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path_factory.getbasetemp() / "no-assets"))
        monkeypatch.setenv("MALAPROP_OFFLINE", "1")


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty cache for tests that write to it; assets keep to MALAPROP_CACHE."""
    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def toy_victim() -> StringVictim:
    return toy.victim()


@pytest.fixture
def toy_examples() -> list[Example]:
    return toy.some_examples()


class _WordNet:
    def synonyms(self, word: str, pos: str | None = None, *, multiword: bool = False) -> tuple[str, ...]:
        fits = pos is None or pos == ("n" if word in ("film", "movie") else "a")
        return toy.SYNONYMS.get(word, ()) if fits else ()

    def peer_synonyms(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        return [tuple(sorted(toy.SYNONYMS.get(word.lower(), ()))) for word in words]

    def bases(self, word: str, pos: str) -> tuple[str, ...]:
        base = word.removesuffix("s")
        return (base,) if pos in self.parts(base) else ()

    def irregular(self, lemma: str, pos: str) -> tuple[str, ...]:
        return ("best", "better") if (lemma, pos) == ("good", "a") else ()

    def frequency(self, word: str) -> dict[str, int]:
        return dict.fromkeys(self.parts(word.lower()), 1)

    def marks(self, word: str) -> int:
        return sum(1 << "nvar".index(part) for part in self.parts(word.lower()))

    def is_name(self, word: str) -> bool:
        return word.lower() == "paris"

    def is_proper(self, word: str) -> bool:
        return word.lower() in ("paris", "russian")

    def usual(self, word: str) -> int:
        return self.marks(word) or 16

    def parts(self, word: str) -> frozenset[str]:
        if word in ("film", "movie", "picture"):
            return frozenset("n")
        return frozenset("nv") if word == "okay" else frozenset("a" if word in toy.WEIGHTS else "")


class _Relations:
    """Words are opposed where their weights have other signs, and related where one is a synonym of the other."""

    def are_opposed(self, one: str, two: str) -> bool:
        return toy.weigh(one) * toy.weigh(two) < 0

    wordnet = _WordNet()

    def similar_to(self, sense: int) -> frozenset[int]:
        return frozenset()

    def are_related(self, one: str, two: str) -> bool:
        return two.lower() in toy.SYNONYMS.get(one.lower(), ())


class _Polarity:
    def valence(self, word: str) -> float | None:
        return toy.WEIGHTS.get(word.lower(), 0.0)


class _Senses:
    """Each word has two senses: one that it shares with its synonyms and their synonyms, and one of its own."""

    def of(self, word: str, pos: str) -> tuple[Sense, ...]:
        return (Sense(0, 0.9), Sense(sum(map(ord, word.lower())), 0.1))

    def describe(self, synset: int) -> str:
        return f"sense {synset}"


def _neighbours() -> Neighbours:
    """Two of each word that has synonyms, at cosines of 0.9 and 0.6; of another word only itself, at -2."""
    words = sorted({*toy.SYNONYMS, *(other for others in toy.SYNONYMS.values() for other in others)})
    index = {word: i for i, word in enumerate(words)}
    table = np.asarray([[index[other] for other in toy.SYNONYMS.get(word, (word, word))] for word in words], np.int32)
    cosines = np.asarray([(0.9, 0.6) if word in toy.SYNONYMS else (-2, -2) for word in words], np.float16)
    return Neighbours(Vectors(words, np.eye(len(words), dtype=np.float32)), table, cosines)


def _synonyms() -> Synonyms:
    """The same words as `_neighbours`, with scores of 0.9 and 0.6; all share a form."""
    near = _neighbours()
    forms = np.ones(len(near.words), np.uint16)
    scores = np.asarray(near.cosines.astype(np.float32).clip(0, 1) * 255, np.uint8)
    return Synonyms(near.words, near.table, scores, forms)


class _Vectors:
    words = ("the", "film", "good", "bad", "1980", "okay", "poor")
    matrix = np.asarray([[np.cos(w / 4), np.sin(w / 4)] for w in toy.WEIGHTS.values()], np.float32)

    def ids(self, words: Iterable[str]) -> np.ndarray:
        known = list(toy.WEIGHTS)
        return np.asarray([known.index(w.lower()) if w.lower() in known else -1 for w in words], np.int64)

    def cosine(self, word: str, others: list[str]) -> np.ndarray:
        known = toy.WEIGHTS
        if word not in known:
            return np.full(len(others), np.nan, np.float32)
        return np.asarray([1 - abs(known[word] - known[o]) / 4 if o in known else np.nan for o in others], np.float32)

    def raw(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        rows = [[toy.WEIGHTS.get(word.lower(), 0.0)] for word in words]
        return np.asarray(rows, np.float32).reshape(-1, 1), np.asarray([w.lower() in toy.WEIGHTS for w in words], bool)


@pytest.fixture
def tiny_assets(monkeypatch) -> Iterator[None]:
    """Stand-ins for WordNet, vectors and misspellings, so that parts which read them can be checked by hand.

    What a process keeps of them, a tagger with its WordNet or a speller with its words, goes with the test: another
    test may want the real ones.
    """
    from malaprop.assets import (  # noqa: F401 - imported later they'd keep stand-ins
        counterfit,
        light_tagger,
        polarity,
        relations,
        synonyms,
    )

    forget_assets()
    monkeypatch.setattr("malaprop.assets.wordnet.open_wordnet", _WordNet)
    monkeypatch.setattr("malaprop.assets.light_tagger.open_wordnet", _WordNet)
    monkeypatch.setattr("malaprop.assets.tagger.open_tagger", lambda *_: light_tagger.LightTagger())
    monkeypatch.setattr("malaprop.assets.relations.open_relations", _Relations)
    monkeypatch.setattr("malaprop.assets.polarity.open_polarity", _Polarity)
    monkeypatch.setattr("malaprop.attacks.constraints.senses.open_senses", _Senses)
    monkeypatch.setattr("malaprop.assets.vectors.open_neighbours", lambda *_: _neighbours())
    monkeypatch.setattr("malaprop.assets.vectors.open_vectors", lambda *_: _Vectors())
    monkeypatch.setattr("malaprop.assets.synonyms.open_synonyms", _synonyms)
    monkeypatch.setattr(
        "malaprop.assets.lexicon.misspellings",
        lambda: {"good": ("godo", "goood"), "film": ("flim",), "awful": ("aweful",)},
    )
    yield
    forget_assets()


def forget_assets(*, opened: bool = False) -> None:
    """Empties what functions outside `assets` keep, made of assets as it may be; with `opened` the assets too."""
    loaded = [module for name, module in sys.modules.items() if name.startswith("malaprop.")]
    for module in loaded:
        for one in vars(module).values():
            if isinstance(one, _Cached) and (opened or not one.__module__.startswith("malaprop.assets")):
                one.cache_clear()


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs a command and gives its exit code."""

    from malaprop.cli.main import main

    def run(*words: Any) -> int:
        monkeypatch.setattr(sys, "argv", ["malaprop", *map(str, words)])
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    return run
