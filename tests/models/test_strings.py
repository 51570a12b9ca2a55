"""StringVictim: what any function may answer, and what is made of it."""

import numpy as np
import pytest
import torch

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.models.victims.strings import StringVictim


def good_share(texts):
    share = np.array([t.split().count("good") / max(1, len(t.split())) for t in texts])
    return np.stack([1 - share, share], 1)


def rounds(victim, groups):
    pool = Pool(groups)
    return victim.finish(victim.begin(pool, np.arange(pool.size)))


def test_variants_are_scored_once_each_in_batches_of_like_length():
    calls = []

    def predict(texts):
        calls.append(texts)
        return good_share(texts)

    victim = StringVictim(call=predict, batch=2)
    table = Words()
    base = Text.of("a good long film here", table)
    words = table.ids(["bad", "good", "bad", "", "an unusually long one"])
    scores = rounds(victim, [Variants.at(base, 1, words), Variants.itself(base)])
    assert scores.dtype == np.float32
    expected = good_share([str(base.put(1, w)) for w in words.tolist()] + [str(base)])
    assert np.allclose(scores, expected)
    sent = [text for call in calls for text in call]
    assert len(sent) == len(set(sent)) == 4
    assert [len(t) for t in sent] == sorted(len(t) for t in sent)
    assert max(map(len, calls)) == 2
    assert victim.labels == 2
    assert victim.classes(table) is None
    assert victim.notes == ()


def test_pairs_as_tuples_and_as_columns():
    table = Words()
    base = Text.of({"premise": "a man", "hypothesis": "a good man"}, table)
    for style, predict in (
        ("tuples", lambda pairs: good_share([h for _, h in pairs])),
        ("columns", lambda premises, hypotheses: good_share(hypotheses)),
    ):
        scores = rounds(StringVictim(call=predict, pairs=style), [Variants.itself(base)])
        assert np.allclose(scores, [[2 / 3, 1 / 3]])


def test_a_function_of_one_text_is_told_that_a_pair_is_a_tuple():
    victim = StringVictim(call=lambda texts: [t.lower() for t in texts], name="toy")
    with pytest.raises(VictimError, match=r"raised AttributeError: .*lower' \(of a pair it gets a tuple: premise, hyp"):
        victim.predict([("a man", "a good man")])
    with pytest.raises(VictimError, match=r"raised ZeroDivisionError: [^(]*$"):
        StringVictim(call=lambda texts: 1 // 0, name="toy").predict([("a man", "a good man")])


@pytest.mark.parametrize("make", [np.asarray, torch.tensor, list, lambda rows: torch.tensor(rows, requires_grad=True)])
def test_tables_of_every_kind(make):
    victim = StringVictim(call=lambda texts: make([[0.25, 0.75]] * len(texts)))
    assert victim.predict([("a",), ("b",)]).tolist() == [[0.25, 0.75]] * 2


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda t: [0.5] * 2, "answered 3 texts with 2 x 2; expected 3 rows"),
        (lambda t: [[0.5, 0.5]], "answered 3 texts with 1 x 2"),
        (lambda t: [[1.5]] * len(t), "one number a text, 1.5 among them; expected the probability .*take a sigmoid"),
        (lambda t: [0.5, NAN, 0.5], r"answered with nan for 'b' \(1 of 3 texts\)"),
        (lambda t: [0, 1, 2], r"answered with the label 2; expected whole numbers from 0 to 1: .*#labels=3"),
        (lambda t: [0, -1, 1], "answered with the label -1"),
        (lambda t: ["no", "yes", "no"], r"labels alone, such as 'no'; name all of them .*label_names=\('no', 'yes'\)"),
        (lambda t: [["no", "yes"]] * 3, "a list of list that is not a table"),
        (lambda t: [1 + 2j] * 3, "not a table of numbers"),
        (lambda t: 0.5, "with a single number"),
        (lambda t: None, "NoneType that is not a table|single number|nan"),
        (lambda t: [{"label": "x", "score": 1.0}] * len(t), "labels alone, such as 'x'; name all of them"),
        (lambda t: [{"name": "x"}] * len(t), "entries other than"),
        (lambda t: [[{"name": "x"}]] * len(t), "entries other than"),
        (
            lambda t: (
                [[{"label": "x", "score": 0.5}, {"label": "y", "score": 0.5}]] * 2 + [[{"label": "x", "score": 1}]]
            ),
            "answered with the labels x; expected x, y for every text",
        ),
        (lambda t: [[1.0], [1.0, 2.0], [1.0]], "not a table of numbers"),
        (lambda t: [[0.5, 0.5], [NAN, 0.5], [0.5, 0.5]], r"answered with nan for 'b' \(1 of 3 texts\)"),
        (lambda t: [[INF, 0.5]] * 3, "answered with inf"),
        (lambda t: [[1e300, 0.5]] * 3, "answered with inf"),
        (lambda t: 1 // 0, "toy raised ZeroDivisionError"),
        (lambda t: [[0.2, 0.3, 0.5]] * 3, "answered with 3 labels, expected 2"),
    ],
)
def test_answers_that_are_no_scores_say_why_in_one_line(answer, message):
    victim = StringVictim(call=answer, name="toy", labels=2)
    with pytest.raises(VictimError, match=message) as error:
        victim.predict([("a",), ("b",), ("c",)])
    assert "\n" not in str(error.value)


def test_a_long_text_is_shortened_in_the_message():
    victim = StringVictim(call=lambda texts: [[NAN, 1.0]] * len(texts))
    with pytest.raises(VictimError) as error:
        victim.predict([("word " * 100,)])
    assert len(str(error.value)) < 220


def test_the_number_of_labels_must_not_change():
    sizes = iter([2, 3])
    victim = StringVictim(call=lambda texts: np.full((len(texts), next(sizes)), 0.5))
    victim.predict([("a",)])
    with pytest.raises(VictimError, match="3 labels, expected 2"):
        victim.predict([("a",)])


def test_scores_that_do_not_sum_to_one_are_said_once():
    heard = []
    victim = StringVictim(call=lambda texts: [[3.0, -2.0]] * len(texts), name="svm", say=heard.append)
    assert victim.predict([("a",)]).tolist() == [[3.0, -2.0]]
    victim.predict([("b",)])
    assert heard == list(victim.notes) == ["the answers of svm do not sum to one; they are taken as scores as they are"]


def test_no_text_no_call():
    assert StringVictim(call=lambda texts: 1 / 0, labels=3).predict([]).shape == (0, 3)


def test_settings_are_checked():
    with pytest.raises(SettingError, match="batch"):
        StringVictim(call=len, batch=0)
    with pytest.raises(SettingError, match="pairs"):
        StringVictim(call=len, pairs="rows")
    with pytest.raises(VictimError, match="is a str"):
        StringVictim(call="no")


def test_an_exception_that_repeats_a_secret_is_shown_without_it(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-abcdefghijkl")

    def client(texts):
        raise PermissionError("Incorrect API key provided: sk-abcdef*****; see the console")

    with pytest.raises(VictimError, match=r"raised PermissionError: Incorrect API key provided: \.\.\.\*{5}; see"):
        StringVictim(call=client).predict(["a"])


@pytest.mark.parametrize(
    ("answer", "settings", "scores", "note"),
    [
        ([[0.25], [1.0]], {}, [[0.75, 0.25], [0, 1]], "probability of the second label"),
        (np.asarray([0.25, 1.0], np.float16), {}, [[0.75, 0.25], [0, 1]], "probability of the second label"),
        ([1, 0], {}, [[0, 1], [1, 0]], "labels alone"),
        (np.asarray([True, False]), {}, [[0, 1], [1, 0]], "labels alone"),
        ([2, 0], {"labels": 3}, [[0, 0, 1], [1, 0, 0]], "labels alone"),
        (["B", "a"], {"label_names": ("a", "b", "c")}, [[0, 1, 0], [1, 0, 0]], "labels alone"),
        (np.asarray([["b"], ["a"]], object), {"label_names": ("a", "b")}, [[0, 1], [1, 0]], "labels alone"),
        ([{"label": "b", "score": 0.75}, {"label": "a", "score": 1}], {"label_names": ("a", "b")},
         [[0.25, 0.75], [1, 0]], ""),
        ([{"label": "b", "score": 0.5}, {"label": "a", "score": 1}], {"label_names": ("a", "b", "c")},
         [[0.25, 0.5, 0.25], [1, 0, 0]], "share the rest evenly"),
    ],
)  # fmt: skip
def test_answers_of_one_value_a_text(answer, settings, scores, note):
    victim = StringVictim(call=lambda texts: answer, name="toy", **settings)
    assert np.allclose(victim.predict(["x", "y"]), scores)
    assert victim.labels == len(scores[0])
    assert note in " ".join(victim.notes)
    assert bool(note) == bool(victim.notes)


@pytest.mark.parametrize(
    ("settings", "assumed", "first"),
    [
        ({}, (), [0.1, 0.9]),
        ({"label_names": ("Positive", "negative")}, (), [0.9, 0.1]),
        ({}, ("positive", "negative"), [0.9, 0.1]),
    ],
)
def test_rows_of_labels_with_their_scores_are_read_in_one_order(settings, assumed, first):
    rows = {"x": [("positive", 0.9), ("negative", 0.1)], "yy": [("negative", 0.7), ("positive", 0.3)]}
    victim = StringVictim(
        call=lambda texts: [[{"label": label, "score": score} for label, score in rows[text]] for text in texts],
        batch=1,
        **settings,
    )
    victim.assumed = assumed
    turned = first == [0.9, 0.1]
    assert np.allclose(victim.predict(["x", "yy"]), [first, [0.3, 0.7] if turned else [0.7, 0.3]])
    assert not victim.notes


def test_tensors_of_whole_numbers_are_labels():
    torch = pytest.importorskip("torch")
    assert StringVictim(call=lambda texts: torch.tensor([1, 0])).predict(["x", "y"]).tolist() == [[0, 1], [1, 0]]
    half = StringVictim(call=lambda texts: torch.tensor([[0.25], [0.5]], dtype=torch.bfloat16, requires_grad=True))
    assert half.predict(["x", "y"]).tolist() == [[0.75, 0.25], [0.5, 0.5]]
