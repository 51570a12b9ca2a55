"""Mining: saliences that can be checked by hand, on victims of one line."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import toy

from malaprop.core.errors import CapabilityError, DataError, SettingError, VictimError
from malaprop.core.example import Example
from malaprop.models.victims.strings import StringVictim
from malaprop.papers.universal.rules import mine as mining
from malaprop.papers.universal.rules.agree import agreement, ranks, spearman
from malaprop.papers.universal.rules.mine import Mined, Miner, add_up, mine, same_labels, shards
from malaprop.papers.universal.rules.swaps import ListedSwaps, WordNetSwaps
from malaprop.papers.universal.rules.tally import RuleTally, Shrinkage, Sums

SWAPS = ListedSwaps(table=toy.SYNONYMS)
TEXTS = ["a good film", "Good and great", "a bad film", "good"]
NAMES = ("neg", "pos")


def miner(*victims, **settings) -> Miner:
    return Miner(victims=victims or (toy.victim(),), **{"swaps": SWAPS, **settings})


def found(mined, shrink=0.0) -> dict[tuple[str, str, str], tuple[float, int]]:
    return {(r.label, r.word, r.to): (round(r.mean, 4), r.count) for r in mined.rules(NAMES, shrink, every=True)}


def test_salience_is_the_mean_change_of_the_logits():
    """The toy's log odds are the sum of its words' weights, so a swap changes them by the difference."""
    rules = found(mine(miner(), toy.examples(TEXTS)))
    assert rules == {
        ("pos", "good", "fine"): (1.0, 3),
        ("pos", "good", "nice"): (1.0, 3),
        ("pos", "great", "fine"): (2.0, 1),
        ("pos", "great", "good"): (1.0, 1),
        ("pos", "film", "movie"): (0.0, 1),
        ("pos", "film", "picture"): (0.0, 1),
        ("neg", "bad", "poor"): (1.0, 1),
        ("neg", "bad", "okay"): (2.25, 1),
        ("neg", "film", "movie"): (0.0, 1),
        ("neg", "film", "picture"): (0.0, 1),
    }


def test_rules_come_strongest_first_and_leave_out_what_does_not_lower_the_label():
    rules = mine(miner(), toy.examples(TEXTS)).rules(NAMES, 0.0)
    assert [(r.label, r.word, r.to) for r in rules[:2]] == [("neg", "bad", "okay"), ("neg", "bad", "poor")]
    assert all(r.salience > 0 for r in rules)
    assert {r.number for r in rules} == {0, 1}


def three(texts):
    """Probabilities of three labels whose logits are counts of letters."""
    logits = np.asarray([[t.count("a"), 2.0 * t.count("b"), 0.5 * t.count("c")] for t in texts])
    return np.exp(logits) / np.exp(logits).sum(1, keepdims=True)


def test_three_labels_follow_figure_2_with_logits_that_sum_to_nothing():
    example = Example("x", {"text": "ab cab"}, 1)
    mined = mine(miner(StringVictim(call=three, name="abc"), swaps=ListedSwaps(table={"cab": ("cc",)})), [example])
    before, after = np.asarray([2.0, 4.0, 0.5]), np.asarray([1.0, 2.0, 1.0])
    before, after = before - before.mean(), after - after.mean()
    wanted = (before[1] - after[1]) + sum(after[z] - before[z] for z in (0, 2))  # lines 8 and 10 of Figure 2
    assert mined.sums.mean == pytest.approx([wanted], abs=1e-5)


def shy(texts):
    """The toy with half its confidence in log odds."""
    good = [1 / (1 + math.exp(-toy.weigh(text) / 2)) for text in texts]
    return [[1 - p, p] for p in good]


def test_several_victims_count_by_their_mean_logits():
    one, two = toy.victim(), StringVictim(call=shy, name="shy")
    rules = found(mine(miner(one, two), toy.examples(TEXTS)))
    assert rules["pos", "good", "fine"] == (0.75, 3)
    assert rules["neg", "bad", "okay"] == (1.6875, 1)


def test_slopes_of_a_linear_victim_are_exact():
    examples = toy.some_examples(60)
    exact = mine(miner(), examples)
    slopes = mine(miner(toy.White(toy.victim()), method="gradient"), examples)
    assert found(slopes) == found(exact)
    agreed = agreement(exact, slopes, often=3, top=24)
    assert agreed.rank == pytest.approx(1)
    assert agreed.often_rank == pytest.approx(1)
    assert (agreed.rules, agreed.shared, agreed.top) == (24, 24, 24)
    assert agreed.low <= agreed.rank + 1e-6


def test_victims_without_gradients_are_scored_beside_those_with():
    examples = toy.examples(TEXTS)
    both = miner(toy.White(toy.victim()), StringVictim(call=shy, name="shy"), method="gradient")
    assert both.slopes == (True, False)
    assert found(mine(both, examples))["neg", "bad", "okay"] == (1.6875, 1)


@pytest.mark.parametrize("method", ["exact", "gradient"])
def test_width_and_shards_do_not_change_rules(method, monkeypatch):
    examples = toy.some_examples(50)
    target = toy.White(toy.victim())
    wide = found(mine(miner(target, method=method, width=64), examples))
    monkeypatch.setattr(mining.shards, "__defaults__", (7,))
    assert found(mine(miner(target, method=method, width=1), examples)) == wide


def test_one_bad_text_is_left_out_and_counted():
    def picky(texts):
        if any("plot" in text for text in texts):
            raise ValueError("no plots")
        return toy.predict(texts)

    examples = toy.examples([*TEXTS, "a good plot", "bad \ud800 good"], label=1)
    mined = mine(miner(StringVictim(call=picky, name="picky")), examples)
    assert sorted(mined.faults.values()) == [1, 1]
    assert mined.texts == 6
    assert found(mined)["pos", "good", "fine"] == (1.0, 3)


def test_nothing_that_can_be_weighed_is_an_error():
    def never(texts):
        raise ValueError("out of order")

    with pytest.raises(VictimError, match=r"none of 4 texts could be measured .*out of order"):
        mine(miner(StringVictim(call=never, name="never")), toy.examples(TEXTS))
    with pytest.raises(DataError, match="no word of these 1 texts has a replacement"):
        mine(miner(), toy.examples(["the plot"]))
    with pytest.raises(DataError, match="a label 5, the victims score 2"):
        mine(miner(), toy.examples(["good"], label=5))


def test_victims_that_do_not_fit():
    with pytest.raises(SettingError, match="at least one victim"):
        Miner(victims=())
    with pytest.raises(SettingError, match="no method of mining is called 'guess'"):
        miner(method="guess")
    with pytest.raises(CapabilityError, match="needs gradients"):
        miner(method="gradient")
    with pytest.raises(VictimError, match="same labels, got toy 2, toy 3"):
        miner(toy.victim(labels=2), toy.victim(labels=3))


class Named:
    """A victim whose labels have names, in that order."""

    def __init__(self, name, label_names):
        self.inner, self.name, self.label_names = toy.victim(), name, label_names

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def begin(self, pool, wanted):
        scores = self.inner.begin(pool, wanted)
        return scores[:, ::-1] if self.label_names[0] == "pos" else scores


def test_labels_in_another_order_are_matched_by_name():
    plain, odd = Named("one", ("neg", "pos")), Named("two", ("pos", "neg"))
    alone = found(mine(miner(), toy.examples(TEXTS)))
    assert found(mine(miner(plain, odd), toy.examples(TEXTS))) == alone
    assert same_labels((plain, odd)) == ("neg", "pos")


def test_a_victim_without_names_has_the_order_of_the_data():
    """Whatever the order of another that has names."""
    alone = found(mine(miner(), toy.examples(TEXTS)))
    both = miner(Named("odd", ("pos", "neg")), toy.victim(), labels=NAMES)
    assert found(mine(both, toy.examples(TEXTS))) == alone
    with pytest.raises(DataError, match="has the label"):
        miner(Named("odd", ("pos", "neg")), labels=("neg", "new"))


def test_labels_with_other_names_are_refused():
    with pytest.raises(VictimError, match="neg, pos from one and bad, good from two"):
        miner(Named("one", ("neg", "pos")), Named("two", ("bad", "good")))


def test_words_in_capitals_count_with_the_others_and_stop_words_stay(tiny_assets):
    examples = toy.examples(["Good", "good", "the GOOD film"])
    mined = mine(miner(swaps=WordNetSwaps(tags=toy.tags)), examples)
    assert found(mined)["pos", "good", "fine"] == (1.0, 3)
    assert not any(word == "the" for _, word, _ in found(mined))


def test_fields_that_must_not_change_give_no_rules():
    example = Example("x", {"premise": "good", "hypothesis": "great"}, 1, ("hypothesis",))
    assert {word for _, word, _ in found(mine(miner(), [example]))} == {"great"}


def sums(rows):
    tally = RuleTally()
    ids = {}
    for word, changes in rows.items():
        ids[word] = tally.lexicon.id(word)
        many = np.full(len(changes), ids[word])
        tally.add(0, many, np.zeros(len(changes), np.int64), np.asarray(changes, np.float64))
    return tally.sums()


def test_shrinkage_by_hand():
    """Two rules: 1 and 3 (mean 2), -1 and -1 (mean -1). Within: (1 + 1) / 2 = 1; between: (8 + 2 - 2 * 1) / 4 = 2."""
    got = sums({"a": [1, 3], "b": [-1, -1]})
    fitted = Shrinkage.fit(got)
    assert (fitted.within, fitted.between, fitted.strength) == (1.0, 2.0, 0.5)
    assert sorted(fitted.apply(got)) == pytest.approx([-2 / 2.5, 4 / 2.5])
    assert Shrinkage(0.0).apply(got) == pytest.approx(got.mean)


@pytest.mark.parametrize(
    ("rows", "strength"), [({}, 0.0), ({"a": [1], "b": [2]}, 1.0), ({"a": [1, 1]}, 0.0), ({"a": [1, -1]}, 1e6)]
)
def test_shrinkage_where_little_is_known(rows, strength):
    assert Shrinkage.fit(sums(rows)).strength == pytest.approx(strength)


def test_more_counts_are_believed_more():
    got = sums({"rare": [2.0], "often": [2.0] * 20, "noise": [5.0, -5.0]})
    rare, often = sorted(Shrinkage(1.0).apply(got)[:2])
    assert rare == 1.0
    assert often == pytest.approx(40 / 21)


def test_sums_do_not_depend_on_how_texts_are_cut():
    rng = np.random.default_rng(0)
    whole, parts = RuleTally(), []
    for _ in range(5):
        part = RuleTally()
        words = part.lexicon.ids(rng.permutation(["a", "b", "c", "d"]))
        part.add(1, words, words[::-1].copy(), rng.integers(-3, 3, 4).astype(np.float64))
        parts.append((part.sums(), part.lexicon.strings))
    for part in parts:
        whole.merge(*part)
    named = {}
    for got, strings in parts:
        for label, w, o, many, total in zip(got.labels, got.words, got.others, got.many, got.total, strict=True):
            key = (label, strings[w], strings[o])
            before = named.get(key, (0, 0.0))
            named[key] = (before[0] + many, before[1] + total)
    got = whole.sums()
    strings = whole.lexicon.strings
    keys = [(a, strings[b], strings[c]) for a, b, c in zip(got.labels, got.words, got.others, strict=True)]
    assert dict(zip(keys, zip(got.many, got.total, strict=True), strict=True)) == named


def test_ranks_and_their_correlation():
    assert ranks(np.asarray([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1.0, 3.5, 2.0]
    assert spearman(np.asarray([1.0, 2, 3, 4]), np.asarray([1.0, 4, 9, 16])) == pytest.approx(1)
    assert spearman(np.asarray([1.0, 2, 3]), np.asarray([3.0, 2, 1])) == pytest.approx(-1)
    assert math.isnan(spearman(np.asarray([1.0, 2]), np.asarray([1.0, 2])))
    assert math.isnan(spearman(np.asarray([1.0, 1, 1]), np.asarray([1.0, 2, 3])))


def test_shards_and_sums_of_nothing():
    assert list(shards([])) == []
    assert add_up([]).texts == 0
    assert isinstance(add_up([]).sums, Sums)
    assert Mined.__dataclass_params__.frozen


def test_an_agreement_over_no_rule_is_no_number_in_json():
    one = mine(miner(), toy.examples(TEXTS))
    said = agreement(one, one).to_dict()
    assert said["often_rules"] == 0
    assert said["often_rank"] is None
    assert json.loads(json.dumps(said, allow_nan=False)) == said
