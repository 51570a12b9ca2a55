"""What holds for every victim: it has all members, they agree, and what is known of it travels."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import small_victims
import torch
import toy

import malaprop
from malaprop.core.capability import Capability
from malaprop.core.errors import TextError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import ANSWERS, MEMBERS, Victim, VictimDescription
from malaprop.engine.paid import Paid
from malaprop.features.defending.evasion import Adaptive
from malaprop.frame.runs.services import services
from malaprop.frame.runs.victims import WRAPPERS, victim
from malaprop.frame.runs.wrap import defend_by_spec
from malaprop.models.victims.ensemble import Ensemble
from malaprop.models.victims.http import HttpVictim
from malaprop.models.victims.strings import Completed, StringVictim

TEXTS = [("the good film",), ("a bad one",)]


class Least:
    """A user's victim with no more than what makes it one."""

    name, offers = "least", frozenset({Capability.LABELS, Capability.SCORES, Capability.GRADIENTS})

    def __init__(self) -> None:
        self.inner = toy.victim()
        self.gradients = toy.Slopes(self.inner)
        self.classes, self.begin, self.finish = self.inner.classes, self.inner.begin, self.inner.finish

    def predict(self, texts: list[tuple[str, ...]]) -> Any:
        assert all(isinstance(text, tuple) for text in texts)
        return self.inner.predict(texts)


class Letters(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(30, 2)

    def forward(self, ids: Any) -> Any:
        return self.table(ids).sum(1)


def pipeline() -> Any:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(["good film", "bad film"], ["pos", "neg"])


def around(name: str) -> Victim:
    """A defence in front of a small network."""
    return defend_by_spec(name, small_victims.words())


MADE: dict[str, Callable[[Path], Victim]] = {
    "function": lambda _: victim(toy.predict),
    "pipeline": lambda _: victim(pipeline()),
    "http": lambda _: HttpVictim(url="http://127.0.0.1:9/predict"),
    "words": lambda _: small_victims.words(),
    "transformers": lambda _: small_victims.bert(),
    "module": lambda _: victim(Letters(), lambda texts: [[len(word) for word in text.split()] for text in texts]),
    "ensemble": lambda _: Ensemble(members=(toy.victim(), small_victims.words())),
    "on disk": lambda folder: Paid(small_victims.words(), folder / "answers.db"),
    "adaptive": lambda _: Adaptive(defended=around("ranmask")),
    "least": lambda _: victim(Least()),
    **{name: lambda _, name=name: around(name) for name in WRAPPERS if name != "detect"},
    "detect": lambda folder: defend_by_spec(f"detect:{small_victims.detector(folder)}", small_victims.words()),
}
KINDS: dict[str, Any] = {
    "name": str,
    "offers": frozenset,
    "labels": (int, type(None)),
    "label_names": tuple,
    "fingerprint": str,
    "unknown": str,
    "device": str,
    "rounding": float,
    "lanes": int,
    "renews": bool,
    "precision": str,
    "withheld": str,
    "notes": tuple,
}


@pytest.fixture(params=MADE)
def made(request, tmp_path, tiny_assets, monkeypatch):
    model = SimpleNamespace(fill=toy.fill, tokenizer=SimpleNamespace(mask_token="[MASK]"))
    monkeypatch.setattr("malaprop.features.defending.purify._masked_lm", lambda *_: model)
    return MADE[request.param](tmp_path)


def test_every_member_is_there_and_of_its_type(made):
    for name in MEMBERS:
        getattr(made, name)
    for name, kind in KINDS.items():
        assert isinstance(getattr(made, name), kind), name
    assert {*KINDS, "parts", "inside", "meter", "classes", "begin", "finish", "predict"} == set(MEMBERS)
    assert made.inside is None or set(MEMBERS) <= set(dir(made.inside))


def test_what_it_offers_is_what_it_has(made):
    assert made.offers - ANSWERS == set(made.parts)
    assert Capability.LABELS in made.offers
    assert all(part is not None for part in made.parts.values())
    asked = {"gradients": "gradient", "attention": "attention", "embeddings": "embeddings", "padding": "padding"}
    found = services(made)
    for capability, service in asked.items():
        assert (service in found) == (capability in made.offers)


def test_what_is_known_of_it_travels(made):
    about = VictimDescription.of(made)
    assert pickle.loads(pickle.dumps(about)) == about
    for field in fields(VictimDescription):
        own = getattr(made, field.name)
        expected = (None if own is None else VictimDescription.of(own)) if field.name == "inside" else own
        assert getattr(about, field.name) == expected


def test_strings_are_texts_of_one_field(made):
    if isinstance(made, HttpVictim):
        pytest.skip("asks an address")
    tuples = made.predict(TEXTS)
    assert tuples.shape == (2, made.labels or 2)
    np.testing.assert_array_equal(made.predict([text for (text,) in TEXTS]), tuples)
    with pytest.raises(TextError, match=r"expected a list of texts, got the one string 'the good film'"):
        made.predict("the good film")


def test_both_roads_give_the_same_scores(made):
    if isinstance(made, (HttpVictim, Adaptive)):
        pytest.skip("asks an address, or others on purpose")
    table = Words()
    pool = Pool([Variants.itself(Text.of(text[0], table, i)) for i, text in enumerate(TEXTS)])
    fast = made.finish(made.begin(pool, np.arange(2)))
    np.testing.assert_allclose(fast, made.predict(TEXTS), atol=max(1e-5, made.rounding))


def test_a_whole_victim_is_given_back_as_it_is():
    whole = toy.victim()
    assert victim(whole) is whole
    assert isinstance(victim(Least()), Completed)


def test_a_users_victim_keeps_what_it_says():
    thing = Least()
    thing.label_names, thing.notes, thing.lanes, thing.fingerprint = ["bad", "good"], ["slow"], 2, "f"
    thing.inside = Least()
    made = victim(thing)
    assert (made.label_names, made.notes, made.lanes, made.fingerprint) == (("bad", "good"), ("slow",), 2, "f")
    assert isinstance(made.inside, Completed)
    assert made.parts[Capability.GRADIENTS] is thing.gradients
    thing.gradients = None
    with pytest.raises(VictimError, match="least offers gradients but has no attribute gradients"):
        victim(thing)


def test_members_of_an_ensemble_are_completed_too():
    both = victim([Least(), toy.predict])
    assert isinstance(both.members[0], Completed)
    assert isinstance(both.members[1], StringVictim)
    assert both.label_names == ()


def test_nothing_but_the_border_asks_whether_a_victim_has_a_member():
    root = Path(malaprop.__file__).parent
    border = {root / "models" / "victims" / name for name in ("strings.py", "load.py")}
    own = "label_names|rounding|lanes|renews|offers|parts|inside|gradients|states"  # which nothing but victims have
    asked = re.compile(rf'(?:get|has)attr\(\s*(?:[^,()]*victim[^,()]*,|[^,()]+,\s*"(?:{own})")')
    guesses = {
        str(path.relative_to(root)): found
        for path in root.rglob("*.py")
        if path not in border and (found := asked.findall(path.read_text("utf-8")))
    }
    assert set(guesses) <= {"data/matching.py"}  # which takes an About as well, and asks a victim alone
