"""The defence test on a toy victim: attacks that know a defence, made samples, certificates held against attacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import toy

from malaprop.core.errors import DataError, SettingError
from malaprop.core.score import winners
from malaprop.core.seeds import generator
from malaprop.data.base import of
from malaprop.features.defending.certified_record import Certificate
from malaprop.features.defending.certify import Certifier
from malaprop.features.defending.defended_models import (
    check_defences,
    find_folder,
    find_origin,
    folders,
    name_model,
    put_behind,
    split_folders,
)
from malaprop.features.defending.evaluation_figures import (
    AttackFindings,
    DefenceFindings,
    check,
    count_passes,
    f1_score,
    robust,
    verdict,
)
from malaprop.features.defending.evasion import Adaptive
from malaprop.features.defending.lost_words import Masks
from malaprop.frame.records.intervals import Gain
from malaprop.frame.runs.defended import Defended
from malaprop.frame.runs.folder import run_to_folder
from malaprop.frame.runs.local import run
from malaprop.frame.runs.pregenerated import from_outcomes, read_pregenerated
from malaprop.frame.runs.wrap import defend_by_spec, draws_at_random

TEXTS = [
    "a good film",
    "a great film that is fine",
    "an awful film",
    "bad and poor",
    "good good good",
    "great great great great great great",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Luck:
    """The toy's answer pushed this way or that by a draw of the seed and the text."""

    kind: ClassVar[str] = "luck"
    samples: int = 2
    spread: float = 0.6
    discrete: ClassVar[bool] = False

    def check(self, victim):
        pass

    def prepare(self, victim, texts, counters):
        return texts

    def answers(self, victim, prepared, seeds: Sequence[int], counters, *, exact):
        counters.inner += len(prepared)
        scores = victim.predict([text.values() for text in prepared])
        push = [
            generator(s, *t.values()).uniform(-self.spread, self.spread) for s, t in zip(seeds, prepared, strict=True)
        ]
        moved = np.clip(scores[:, 1] + np.asarray(push), 0, 1)
        return np.stack([1 - moved, moved], axis=1).astype(np.float32)


ATTACK = toy.listed({"good": ("poor", "fine"), "fine": ("poor",), "awful": ("nice",), "great": ("good",)})


def lucky() -> Defended:
    return Defended(victim=toy.victim(), method=Luck())


def data():
    return of(toy.examples(TEXTS), name="toys")


def test_an_adaptive_victim_averages_draws_and_verifies_with_others():
    whole, texts = lucky(), [(text,) for text in TEXTS]
    knowing = Adaptive(defended=whole, draws=3, fresh=5)
    fresh = whole.draws(texts, range(4, 9), exact=True)
    assert (
        knowing.predict(texts) == np.stack([np.eye(2)[winners(one)] for one in fresh]).mean(0).astype(np.float32)
    ).all()
    asked = []

    def draws(texts, numbers, *, exact=False):
        asked.append((tuple(numbers), exact))
        return np.zeros((len(numbers), len(texts), 2), np.float32)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Defended, "draws", lambda self, *a, **k: draws(*a, **k))
        outcomes = list(run(toy.listed(), knowing, toy.examples(TEXTS[:1])))
    assert {numbers for numbers, exact in asked if not exact} == {(1, 2, 3)}
    assert all(numbers == (4, 5, 6, 7, 8) for numbers, exact in asked if exact)
    assert len(outcomes) == 1


def test_what_luck_broke_holds_on_fresh_draws_when_the_attack_knows():
    """Successes against one draw may be luck; those of the adaptive attack fool most of the fresh draws."""
    whole = lucky()
    examples = toy.some_examples(30)
    lucky_ones = [o for o in run(toy.listed(), whole, examples) if o.status == "success"]
    knowing = Adaptive(defended=whole, draws=4, fresh=9)
    sure_ones = [o for o in run(toy.listed(), knowing, examples) if o.status == "success"]
    assert len(sure_ones) >= 3

    def fooled(outcome):
        votes = whole.draws([tuple(outcome.adversarial.fields.values())], range(5, 14))
        return np.mean([winners(one)[0] != outcome.label for one in votes]) > 0.5

    assert all(map(fooled, sure_ones))
    assert not all(map(fooled, lucky_ones))


def test_outcomes_of_an_adaptive_attack_are_the_same_at_any_width():
    knowing, examples = Adaptive(defended=lucky(), draws=2, fresh=3), toy.some_examples(12)
    alone, together = (
        sorted((o.id, o.status, str(o.adversarial)) for o in run(toy.listed(), knowing, examples, width=w))
        for w in (1, 64)
    )
    assert alone == together


def test_bad_numbers_of_draws():
    with pytest.raises(SettingError, match="draws"):
        Adaptive(defended=lucky(), draws=0)


def row(name, victim, plain=None, *, random=False):
    """The row of a defence, from runs in this process."""
    active = sorted(run(ATTACK, victim, toy.examples(TEXTS)), key=lambda outcome: outcome.id)
    knowing = Adaptive(defended=victim, draws=2, fresh=3) if random else None
    made = from_outcomes(plain or active, "toy")
    answers = made.answers(victim)
    carried = {one.id: one.label == found for one, found in zip(made.examples, answers, strict=True)}
    return active, DefenceFindings(
        name=name, about=victim.name, passes=1.0, draws=2, fresh=3, premade=made, answers=answers,
        attacks=[AttackFindings(
            attack=ATTACK.name, plain=plain or active, active=active, transferred=carried if plain else None,
            adaptive=None if knowing is None else list(run(ATTACK, knowing, toy.examples(TEXTS))),
        )],
    ).add_up()  # fmt: skip


def test_rows_of_no_defence_and_a_lucky_one():
    plain, none = row("none", toy.victim())
    assert none.verdict == "no defence"
    assert (none.clean.hits, none.clean.total) == (6, 6)
    assert none.premade.hits == 0
    assert none.premade.total == none.active.success.hits > 0
    assert none.adaptive is None
    assert none.f1 == {"clean": 1.0, "active": pytest.approx(none.f1["active"]), "premade": 0.0}
    assert none.f1["active"] < 1
    assert none.worst == none.active.accuracy
    _, found = row("luck", lucky(), plain, random=True)
    assert found.adaptive is not None
    assert (found.adaptive.draws, found.adaptive.fresh) == (2, 3)
    assert found.worst.hits <= min(found.active.accuracy.hits, found.adaptive.accuracy.hits, found.transferred.hits)


def test_what_is_left_under_the_worst_of_all_attacks_by_hand():
    """Text a holds under all; b breaks in its transferred form; c when the attack knows; d is wrong."""

    def outcomes(**ends):
        (one,) = run(ATTACK, toy.victim(), toy.examples(["great film"]))
        return [replace(one, id=name, status=status) for name, status in ends.items()]

    plain = outcomes(a="success", b="success", c="failed", d="skipped")
    active = outcomes(a="failed", b="failed", c="failed", d="skipped")
    knowing = outcomes(a="failed", b="failed", c="success", d="skipped")
    one = AttackFindings(attack="x", plain=plain, active=active, adaptive=knowing, transferred={"a": True, "b": False})
    row = DefenceFindings(
        name="x", about="x", passes=1.0, attacks=[one], draws=1, fresh=1, premade=from_outcomes([], ""), answers=[]
    ).add_up()
    assert (row.clean.hits, row.active.accuracy.hits, row.adaptive.accuracy.hits) == (3, 3, 2)
    assert (row.transferred.hits, row.worst.hits, row.worst.total) == (2, 1, 4)
    assert (row.gain.value, row.kept.value) == (0.5, 0.0)
    two = replace(one, attack="y", active=outcomes(a="success", b="failed", c="failed", d="skipped"))
    both = DefenceFindings(
        name="x", about="x", passes=1.0, attacks=[one, two], draws=1, fresh=1, premade=from_outcomes([], ""), answers=[]
    ).add_up()
    assert both.worst.hits == 0
    assert [(other.attack, other.active.accuracy.hits) for other in both.others] == [("y", 2)]


def test_a_defence_that_draws_nothing_shows_the_plain_attack_all_of_it():
    drawing = {"fact": False, "purify:spell": False, "purify:mlm(fact)": True, "fuse(purify:spell)": True}
    assert {spec: draws_at_random(spec) for spec in drawing} == drawing


def test_passes_are_the_same_however_texts_are_shared_out(tiny_assets):
    """Of one defence around another they multiply."""
    texts = [(text,) for text in TEXTS]
    whole = defend_by_spec(
        "ranmask:keep=0.5:samples=4(x)", find=lambda _: defend_by_spec("ranmask:samples=3", toy.victim())
    )
    whole.predict(texts)
    assert count_passes(whole) == 12
    parts = defend_by_spec("fuse:samples=2", toy.victim()), defend_by_spec("fuse:samples=2", toy.victim())
    parts[0].predict(texts)
    for text in texts:
        parts[1].predict([text])
    assert count_passes(parts[0]) == count_passes(parts[1]) > 2
    assert count_passes(toy.victim()) == 1


def test_a_certificate_that_is_contradicted_is_told():
    """A made-up certificate for a text that does flip."""
    outcomes = list(run(ATTACK, toy.victim(), toy.examples(["good film"])))
    (outcome,) = outcomes
    assert outcome.status == "success"
    said = Certificate(
        id=outcome.id, label=1, prediction=1, hits=9, lower=0.99, words=2, changeable=2, radius=len(outcome.edits)
    )
    found = check(Certifier(samples=50), toy.victim(), Masks(keep=0.9), [said], outcomes)
    assert (found.inside, found.flipped, found.contradicted) == (1, 1, 1)
    small = Certificate(id=outcome.id, label=1, prediction=1, hits=9, lower=0.99, words=2, changeable=2, radius=0)
    assert check(Certifier(samples=50), toy.victim(), Masks(keep=0.9), [small], outcomes).inside == 0


@pytest.mark.parametrize(
    ("gain", "kept", "random", "said"),
    [
        ((0.3, 0.2, 0.4), (0.05, -0.1, 0.2), True, "vanishes when the attack knows it or"),
        ((0.3, 0.2, 0.4), (0.15, 0.1, 0.2), True, "keeps 50% of its gain"),
        ((0.3, 0.2, 0.4), (0.29, 0.2, 0.4), True, "keeps its gain"),
        ((0.1, -0.1, 0.3), (0.1, -0.1, 0.3), True, "no gain under attack"),
        ((-0.3, -0.4, -0.2), (-0.3, -0.4, -0.2), False, "worse than none"),
        ((0.3, 0.2, 0.4), (0.3, 0.2, 0.4), False, "draws nothing"),
    ],
)
def test_verdicts(gain, kept, random, said):
    one, two = (Gain(value=v, low=a, high=b) for v, a, b in (gain, kept))
    assert said in verdict("x", one, two, random)
    assert "draws nothing" not in verdict("x", one, two, random, known=False)


def test_f1_by_hand():
    """Of label 0: one of two found, and nothing else called so; of label 1: both found, and one more."""
    assert f1_score([0, 0, 1, 1], [0, 1, 1, 1]) == pytest.approx((2 / 3 + 4 / 5) / 2, abs=1e-6)
    assert f1_score([0, 1], [1, 0]) == 0


def test_paired_gains():
    gain = Gain.of([False] * 8 + [True] * 2, [True] * 5 + [False] * 3 + [True, False])
    assert gain.value == pytest.approx(0.4)
    assert gain.low < 0.4 < gain.high
    assert gain.low < 0.05  # five won, one lost: ten texts do not say much
    assert Gain.of([True] * 3, [True] * 3).value == 0


def test_errors_are_in_no_rate():
    outcomes = list(run(ATTACK, toy.victim(), [*toy.examples(["good film"]), *toy.examples(["great film"], label=7)]))
    assert sorted(o.status for o in outcomes) == ["error", "success"]
    assert list(robust(outcomes).values()) == [False]


def test_made_samples_from_a_run_a_file_of_outcomes_and_a_dataset(tmp_path):
    outcomes = run_to_folder(ATTACK, toy.victim(), data(), tmp_path / "run")
    broken = [o for o in outcomes if o.status == "success"]
    folder, file = read_pregenerated(tmp_path / "run"), read_pregenerated(tmp_path / "run" / "outcomes.jsonl")
    assert len(folder.examples) == len(file.examples) == len(broken) > 0
    assert folder.accuracy(toy.victim()).hits == 0
    assert "toy against toy" in folder.source
    (tmp_path / "made.csv").write_text("text,label\ngood film,1\nbad film,0\n")
    assert read_pregenerated(tmp_path / "made.csv").accuracy(toy.victim()).hits == 2


def test_nothing_made_is_said(tmp_path):
    with pytest.raises(DataError, match="is neither a run folder nor a file"):
        read_pregenerated(tmp_path / "nowhere.csv")
    run_to_folder(toy.listed({"x": ("y",)}), toy.victim(), data(), tmp_path / "run")
    with pytest.raises(DataError, match="no adversarial text"):
        read_pregenerated(tmp_path / "run")
    assert from_outcomes([], "x").accuracy(toy.victim()).total == 0


def test_models_inside_defences():
    inside = {"none": "none", "five": "none", "fact": "fact", "five(fact)": "fact", "safer(none)": "none"}
    inside["ranmask:keep=0.5:samples=8"] = "ranmask:keep=0.5"
    inside["safer:paper:samples=8"] = "safer:paper"
    assert {spec: name_model(spec) for spec in inside} == inside
    assert put_behind("ranmask:keep=0.5(fact)", toy.victim()).name == "ranmask:keep=0.5(toy)"
    assert put_behind("fact", toy.victim()).name == put_behind("none", toy.victim()).name == "toy"
    assert find_folder("ranmask:keep=0.5", {"ranmask": Path("x")}) == Path("x")


@pytest.mark.parametrize("model", ["twin", "ranmask"])
def test_what_cannot_be_trained_is_asked_for(model):
    with pytest.raises(SettingError, match=f"--hardened {model}=FOLDER"):
        find_origin(model, "toy:predict", "mr", {})


@pytest.mark.parametrize("name", ["firve", "five(frct)", "ranmask(nothing)"])
def test_unknown_defences_are_refused_before_any_work(name):
    with pytest.raises(SettingError, match="no defence is called"):
        check_defences((name,))


def test_folders_in_the_list_of_defences(tmp_path):
    assert split_folders(["none", "fact=models/x", "five:noise=2(fact)"]) == (
        ("none", "fact", "five:noise=2(fact)"),
        ("fact=models/x",),
    )
    with pytest.raises(SettingError, match="no model in that folder"):
        folders((f"fact={tmp_path}",))
    with pytest.raises(SettingError, match="name=FOLDER"):
        folders(("fact",))


@pytest.mark.parametrize("name", ["fact", "reject:weight=2", "reject:weight=2:cost=0.005"])
@pytest.mark.parametrize("place", ["hard", "rate=3/hard"])
def test_a_hardened_model_may_be_named_with_its_settings(name, place, tmp_path):
    """As its defence is listed; a folder's name may have the sign between the two as well."""
    folder = tmp_path / place
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert folders((f"{name}={folder}",)) == {name: folder}
    with pytest.raises(SettingError, match=f"--hardened {name}={tmp_path}/other: no model in that folder"):
        folders((f"{name}={tmp_path}/other",))
