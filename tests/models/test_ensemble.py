"""Ensembles: the mean of members, on their own roads."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
import toy
from word_edits import UNK, VOCABULARY, cut, many_edits

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.engine.service import Scoring
from malaprop.frame.runs.load_victim import load, wrap
from malaprop.models.victims.ensemble import Ensemble, log_probabilities, member_specs
from malaprop.models.victims.strings import StringVictim
from malaprop.models.victims.tokens import TokenVictim
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.scorers.cnn import CnnEdits


def fixed(*row: float, **more) -> StringVictim:
    return StringVictim(call=lambda texts: [list(row)] * len(texts), **({"name": str(row), "labels": len(row)} | more))


def word_model(seed: int, *, merge: str = "") -> TokenVictim:
    """A CNN over a few words; those that begin with a letter of `merge` are all unknown to it."""
    torch.manual_seed(seed)
    model = WordCNN(VOCABULARY, 2, dim=8, filters=6, widths=(1, 2)).eval()

    def cutter(strings: list[str]) -> list[list[int]]:
        return [[UNK] if s[:1] and s[:1] in merge else row for s, row in zip(strings, cut(strings), strict=True)]

    whole = lambda texts: [[t for w in fields[0].split() for t in cutter([w])[0]] for fields in texts]  # noqa: E731
    return TokenVictim(
        name=f"cnn-{seed}",
        cut=cutter,
        encode_whole=whole,
        forward=model,
        scorer=CnnEdits(model=model),
        labels=2,
        limit=64,
        context_free=True,
        fingerprint=f"f{seed}",
    )


@pytest.mark.parametrize(
    ("how", "members", "expected"),
    [
        ("probabilities", [(0.9, 0.1), (0.5, 0.5)], (0.7, 0.3)),
        ("logits", [(0.9, 0.1), (0.5, 0.5)], (0.75, 0.25)),  # sqrt(.45) : sqrt(.05) = 3 : 1
        ("logits", [(2.0, 0.0), (0.0, 4.0)], (1 / (1 + np.e), np.e / (1 + np.e))),  # raw scores: softmax of (1, 2)
        ("logits", [(np.log(0.9), np.log(0.1)), (0.5, 0.5)], (0.75, 0.25)),  # of both kinds
        ("probabilities", [(0.0, 0.0), (0.9, 0.1)], (0.7, 0.3)),  # scores become probabilities first
        ("logits", [(0.2, 0.3, 0.5)], (0.2, 0.3, 0.5)),
    ],
)
def test_the_mean_by_hand(how, members, expected):
    victim = Ensemble(members=tuple(fixed(*row) for row in members), how=how)
    assert victim.predict([("a",), ("b",)]) == pytest.approx(np.asarray([expected] * 2), abs=1e-6)


def test_a_label_that_one_member_rules_out_stays_finite():
    found = Ensemble(members=(fixed(0.0, 1.0), fixed(0.5, 0.5))).predict([("a",)])
    assert np.isfinite(found).all()
    assert found[0] == pytest.approx([1e-6, 1 - 1e-6], abs=1e-7)


def test_rows_are_probabilities_or_scores_each_by_itself():
    found = log_probabilities(np.asarray([[0.25, 0.75], [3.0, 3.0], [-1.0, 2.0]], np.float32))
    assert np.exp(found).sum(1) == pytest.approx(1)
    assert np.exp(found[:2]) == pytest.approx(np.asarray([[0.25, 0.75], [0.5, 0.5]]))


def test_classes_merge_only_what_no_member_can_tell_apart():
    table = Words()
    ids = table.ids(["aa", "ab", "ba", "bb", "zz", "ca", "cb"])
    both: Victim = Ensemble(members=(word_model(0, merge="ab"), word_model(1, merge="b")))
    classes = both.classes(table)
    assert classes is not None
    a1, a2, b1, b2, unseen, c1, c2 = classes[ids].tolist()
    assert a1 != a2  # the second member reads them
    assert b1 == b2 == unseen  # unknown to both
    assert len({a1, a2, b1, c1, c2}) == 5
    before = classes.copy()
    late = table.ids(["bc", "cc"])
    after = both.classes(table)
    assert after is not None
    assert (after[: len(before)] == before).all()
    assert after[late[0]] == b1
    assert after[late[1]] not in before


def test_a_member_that_tells_all_words_apart_ends_merging():
    table = Words()
    table.ids(["aa", "bb"])
    assert Ensemble(members=(word_model(0), toy.victim())).classes(table) is None


def test_the_fast_road_gives_the_members_own_answers():
    members = (word_model(0), word_model(1, merge="c"))
    both = Ensemble(members=members)
    groups = many_edits(3, 25)
    pool = Pool(groups)
    both.classes(pool.table)
    fast = both.finish(both.begin(pool, np.arange(pool.size)))
    texts = [t.values() for t in pool.texts(np.arange(pool.size))]
    logs = np.mean([np.log(m.predict(texts)) for m in members], 0)
    expected = np.exp(logs) / np.exp(logs).sum(1, keepdims=True)
    assert fast == pytest.approx(expected, abs=1e-5)
    assert both.predict(texts) == pytest.approx(expected, abs=1e-6)


def test_the_engine_forwards_merged_words_once_for_all_members():
    table = Words()
    base = Text.of("aa bb cc", table)
    service = Scoring(Ensemble(members=(word_model(0, merge="b"), word_model(1, merge="b"))))
    ((scores,),) = service.finish(service.begin([[Variants.at(base, 0, table.ids(["ba", "bb", "qq", "ca"]))]]))
    assert service.clock.forwarded == 2
    assert (scores[0] == scores[1]).all()
    assert (scores[0] == scores[2]).all()
    assert (scores[0] != scores[3]).any()


def test_a_fast_and_a_slow_member_together_survive_width():
    def letters(texts):
        share = [0.1 + 0.8 * ("a" in t[:2]) for t in texts]
        return [[s, 1 - s] for s in share]

    both = Ensemble(members=(word_model(0), StringVictim(call=letters)))
    rows = toy.examples(["aa bb cc", "ba cc", "cc", "da ea aa bb"], label=0)
    attack = toy.listed({"aa": ("ba", "zz"), "cc": ("ce", "aa"), "ba": ("bb",)})
    alone, together = (
        [(o.status, o.adversarial, o.queries) for o in toy.attack_all(attack, rows, both, width=width)]
        for width in (1, 8)
    )
    assert alone == together


def test_what_it_says_of_itself():
    both = Ensemble(members=(word_model(0), word_model(1)))
    assert both.name == "ensemble:cnn-0+cnn-1"
    assert both.labels == 2
    assert both.offers == {Capability.LABELS, Capability.SCORES}
    assert both.unknown == "[UNK]"
    assert both.fingerprint != Ensemble(members=both.members, how="probabilities").fingerprint
    assert both.fingerprint != Ensemble(members=both.members[::-1]).fingerprint
    assert Ensemble(members=(word_model(0), toy.victim())).fingerprint == ""
    assert Ensemble(members=(toy.victim(), word_model(0))).labels == 2
    rich = toy.White(toy.victim())
    assert Capability.GRADIENTS in rich.offers
    assert Ensemble(members=(rich,)).offers == {Capability.LABELS, Capability.SCORES}


def test_members_that_do_not_fit():
    with pytest.raises(VictimError, match=r"same labels, got two 2, three 3; leave out the odd one"):
        Ensemble(members=(fixed(0.5, 0.5, name="two"), fixed(0.2, 0.3, 0.5, name="three")))
    late = Ensemble(members=(fixed(0.5, 0.5, labels=None), fixed(0.2, 0.3, 0.5, labels=None)))
    with pytest.raises(VictimError, match="same labels"):
        late.predict([("a",)])
    with pytest.raises(VictimError, match="gives labels alone"):
        Ensemble(members=(fixed(0.5, 0.5, offers=frozenset({Capability.LABELS})),))
    with pytest.raises(SettingError, match="at least one member"):
        Ensemble(members=())
    with pytest.raises(SettingError, match="'logits' or 'probabilities', got 'votes'"):
        Ensemble(members=(fixed(0.5, 0.5),), how="votes")


def test_it_travels_without_what_it_knows_of_tables():
    both = Ensemble(members=(toy.victim(),), how="probabilities")
    both.classes(Words())
    twin = pickle.loads(pickle.dumps(both))
    assert (twin.how, twin.name) == (both.how, both.name)


def test_members_by_name():
    assert member_specs("ensemble:LSTM-W-GloVe-1 + BERT+my.model:predict") == [
        "LSTM-W-GloVe-1",
        "BERT",
        "my.model:predict",
    ]
    for wrong in ("ensemble:", "ensemble:A+", "ensemble:+"):
        with pytest.raises(SettingError, match=r"written ensemble:A\+B\+C"):
            member_specs(wrong)


def test_a_list_is_an_ensemble():
    both = wrap([toy.predict, fixed(0.5, 0.5)], how="probabilities")
    assert isinstance(both, Ensemble)
    assert both.name == "ensemble:predict+(0.5, 0.5)"
    half = (np.asarray(toy.predict(["good"])) + 0.5) / 2
    assert both.predict([("good",)]) == pytest.approx(half, abs=1e-6)
    named = load("ensemble:toy:predict + toy:predict")
    assert named.predict([("good",)]) == pytest.approx(np.asarray(toy.predict(["good"])), abs=1e-6)
