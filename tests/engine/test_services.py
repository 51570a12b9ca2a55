"""Services: what is asked, merged, remembered and counted."""

from __future__ import annotations

import numpy as np
import pytest
import toy

from malaprop.core.errors import RecordError, VictimError
from malaprop.core.text import Text, Words
from malaprop.core.variants import Guess, Variants
from malaprop.engine.cache import Disk, Memory, Recent
from malaprop.engine.service import FunctionService, Scoring, UncachedScoring
from malaprop.models.victims.strings import StringVictim


class CaseBlind(StringVictim):
    """Cannot tell upper from lower case, and says so."""

    def classes(self, table: Words):
        lower = [string.lower() for string in table.strings]
        first = {string: i for i, string in reversed(list(enumerate(lower)))}
        return np.asarray([first[string] for string in lower], np.int64)


def ask(scoring: Scoring, *asks: list[Variants]) -> list[list[np.ndarray]]:
    return scoring.finish(scoring.begin(asks))


def edit(base: Text, slot: int, *words: str) -> Variants:
    return Variants.at(base, slot, base.table.ids(words))


def test_asked_unique_and_forwarded_on_a_hand_made_round():
    calls, table = toy.Calls(), Words()
    scoring = Scoring(toy.victim(calls))
    one, two = (Text.of("a good film", table, owner) for owner in (0, 1))
    ask(scoring, [edit(one, 1, "fine", "nice", "fine"), Variants.itself(one)], [edit(two, 1, "fine")])
    assert sorted(calls.texts) == ["a fine film", "a good film", "a nice film"]
    ask(scoring, [edit(one, 1, "good", "poor")])  # the first is the text itself, seen before
    assert calls.texts[3:] == ["a poor film"]
    first, second = scoring.tally(0), scoring.tally(1)
    assert (first.unique, first.forwarded) == (4, 4)
    assert (second.unique, second.forwarded) == (1, 1)
    assert scoring.tallies == {}


def test_answers_come_in_the_order_of_asks_and_variants():
    table = Words()
    scoring = Scoring(toy.victim())
    base = Text.of("a good film", table, 0)
    groups = [edit(base, 1, "bad", "great"), Variants.itself(base), edit(base, 0, "", "nice")]
    other = [Variants.between(base, [base.put(1, "awful").drop(0), base])]
    answers = ask(scoring, groups, other)
    assert [len(part) for part in answers[0]] == [2, 1, 2]
    for group, scores in zip([*groups, *other], [*answers[0], *answers[1]], strict=True):
        np.testing.assert_allclose(scores, toy.predict([str(text) for text in group.texts()]), atol=1e-6)


def test_words_a_victim_cannot_tell_apart_are_forwarded_once():
    calls, table = toy.Calls(), Words()
    scoring = Scoring(CaseBlind(call=calls))
    base = Text.of("a good film", table, 0)
    (answers,) = ask(scoring, [edit(base, 1, "FINE", "fine", "Fine", "bad")])
    assert len(calls.texts) == 2
    assert np.ptp(answers[0][:3], axis=0).max() == 0
    tally = scoring.tally(0)
    assert (tally.unique, tally.forwarded) == (4, 2)


def test_two_lanes_may_share_a_memory_that_is_renewed_between():
    table = Words()
    scoring = Scoring(toy.victim(), remember=2)
    bases = [Text.of("a good film", table, owner) for owner in (0, 1)]
    groups = [[edit(base, 1, "bad", "great", "fine", "poor")] for base in bases]
    ask(scoring, [edit(bases[0], 0, "x", "y", "z")])
    first = scoring.begin([groups[0]])
    second = scoring.begin([groups[1]])
    expected = toy.predict([str(text) for text in groups[0][0].texts()])
    for pending in (second, first):
        np.testing.assert_allclose(scoring.finish(pending)[0][0], expected, atol=1e-6)
    np.testing.assert_allclose(ask(scoring, groups[0])[0][0], expected, atol=1e-6)


def test_a_small_memory_forgets_the_older_half():
    memory = Memory()
    memory.extend([5, 6, 7, 8], np.arange(8, dtype=np.float32).reshape(4, 2))
    newer = memory.newer_half()
    assert sorted(newer.rows) == [7, 8]
    assert newer.values[newer.rows[7]].tolist() == [4, 5]
    assert len(Memory().newer_half()) == 0


class Raw:
    """A victim that hands its answers on unchecked."""

    name, unknown, labels, fingerprint = "raw", "?", None, ""

    def __init__(self, *answers) -> None:
        self.answers = iter(answers)

    def classes(self, table):
        return None

    def begin(self, pool, wanted):
        return len(wanted)

    def finish(self, begun):
        return next(self.answers)

    def predict(self, texts):
        return next(self.answers)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([np.zeros((2, 2))], r"answered 1 texts with shape \(2, 2\); expected \(1, labels\)"),
        ([np.zeros(1)], r"shape \(1,\)"),
        ([np.zeros((1, 0))], r"shape \(1, 0\)"),
        ([np.full((1, 2), np.nan)], "not finite"),
        ([np.zeros((1, 2)), np.zeros((1, 3))], "gave 3 scores a text where it gave 2 before"),
    ],
)
def test_scores_are_checked(answers, message):
    scoring, table = Scoring(Raw(*answers)), Words()
    *fine, last = ([Variants.itself(Text.of("one", table, owner))] for owner in range(len(answers)))
    for group in fine:
        ask(scoring, group)
    with pytest.raises(VictimError, match=message):
        ask(scoring, last)


def test_the_number_of_labels_is_remembered_over_tables():
    scoring = Scoring(Raw(np.zeros((1, 2)), np.zeros((1, 3))))
    ask(scoring, [Variants.itself(Text.of("one", Words(), 0))])
    with pytest.raises(VictimError, match="3 scores"):
        ask(scoring, [Variants.itself(Text.of("one", Words(), 0))])


def test_fresh_asks_every_time_by_the_plain_road():
    calls, table = toy.Calls(), Words()
    fresh, text = UncachedScoring(toy.victim(calls)), Text.of("a good film", table, 0)
    for _ in range(2):
        ((scores,), nothing) = fresh.finish(fresh.begin([[text], []]))
        assert scores.tolist() == pytest.approx(toy.predict(["a good film"])[0])
        assert nothing == []
    assert calls.texts == ["a good film"] * 2
    broken = UncachedScoring(Raw(np.full((1, 2), np.inf)))
    with pytest.raises(VictimError, match="not finite"):
        broken.finish(broken.begin([[text]]))


def test_batched_asks_each_key_once_sorted_by_size():
    seen: list[list[str]] = []

    def lengths(items):
        seen.append(list(items))
        return [len(item) for item in items]

    service = FunctionService(lengths, key=str.lower, size=len)
    assert service.finish(service.begin([["ccc", "A", "a"], [], ["bb", "CCC"]])) == [[3, 1, 1], [], [2, 3]]
    assert service.finish(service.begin([["B", "a"]])) == [[1, 1]]
    assert seen == [["A", "bb", "ccc"], ["B"]]


def test_batched_remembers_the_most_recently_used():
    seen: list[str] = []

    def note(items):
        seen.extend(items)
        return [item.upper() for item in items]

    service = FunctionService(note, remember=2)
    for item in ("a", "b", "a", "c", "a", "b"):
        assert service.finish(service.begin([[item]])) == [[item.upper()]]
    assert seen == ["a", "b", "c", "b"]


def test_batched_answers_more_items_than_it_remembers_and_refuses_short_answers():
    service = FunctionService(lambda items: [-n for n in items], remember=1)
    assert service.finish(service.begin([[1, 2, 3, 2]])) == [[-1, -2, -3, -2]]
    short = FunctionService(lambda items: items[:1])
    with pytest.raises(RuntimeError, match="answered 1 of 2"):
        short.finish(short.begin([[1, 2]]))


def test_recent_forgets_the_least_recently_used():
    recent = Recent(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.get("a") == 1
    recent.put("c", 3)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (1, None, 3)


def score(texts):
    return np.asarray(toy.predict([text[0] for text in texts]), np.float32)


def pieces_of(predict):
    """The function's answers as one piece."""
    return lambda texts: [(range(len(texts)), predict(texts))]


def test_disk_asks_nothing_twice_and_forgets_another_victim(tmp_path):
    calls, path = toy.Calls(score), tmp_path / "deep" / "scores.sqlite"
    texts = [("a good film",), ("bad",), ("a good film",)]
    first = Disk(path, "one")
    answers = first.wrap(pieces_of(calls))(texts)
    first.close()
    assert calls.texts == [("a good film",), ("bad",)]
    second = Disk(path, "one")
    np.testing.assert_array_equal(second.wrap(pieces_of(calls))(texts[::-1]), answers[::-1])
    assert len(calls.texts) == 2
    assert len(second.wrap(pieces_of(calls))([("bad",), ("new",)])) == 2
    assert calls.texts[2:] == [("new",)]
    second.close()
    other = Disk(path, "two")
    other.wrap(pieces_of(calls))(texts)
    other.close()
    assert len(calls.texts) == 5


def test_disk_keeps_fields_apart(tmp_path):
    calls = toy.Calls(lambda texts: np.asarray([[len(t), 0] for t in texts], np.float32))
    disk = Disk(tmp_path / "scores", "one")
    cached = disk.wrap(pieces_of(calls))
    assert [cached([fields])[0, 0] for fields in [("a\x1eb",), ("a", "b"), ("a", "", "b")]] == [1, 2, 3]
    disk.close()


def test_disk_wants_a_fingerprint_and_a_whole_file(tmp_path):
    with pytest.raises(RecordError, match="fingerprint"):
        Disk(tmp_path / "scores", "")
    broken = tmp_path / "broken"
    broken.write_bytes(b"this is no data base" * 300)
    with pytest.raises(RecordError, match="broken cannot be"):
        Disk(broken, "one")
    with pytest.raises(RecordError, match="cannot be opened"):
        Disk(tmp_path, "one")


def test_disk_says_so_when_the_file_breaks_later(tmp_path):
    path = tmp_path / "scores"
    disk = Disk(path, "one")
    disk.wrap(pieces_of(score))([(f"text {n}",) for n in range(400)])
    disk.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    later = Disk(path, "one")
    with pytest.raises(RecordError, match="cannot be read"):
        later.wrap(pieces_of(score))([("text 7",)])
    later.close()


def test_guesses_are_scored_and_remembered_but_not_asked():
    calls, table = toy.Calls(), Words()
    scoring = Scoring(toy.victim(calls))
    base, other = (Text.of("a good film", table, owner) for owner in (0, 1))
    first = [edit(base, 1, "fine"), Guess(edit(base, 1, "nice", "fine"))]
    answers = ask(scoring, first, [edit(other, 1, "poor")])
    assert [answer is None for answer in answers[0]] == [False, True]
    np.testing.assert_allclose(answers[1][0], toy.predict(["a poor film"]), atol=1e-6)
    assert sorted(calls.texts) == ["a fine film", "a nice film", "a poor film"]
    assert (scoring.tallies[0].unique, scoring.tallies[0].forwarded) == (1, 2)
    ((nice,),) = ask(scoring, [edit(base, 1, "nice")])
    np.testing.assert_allclose(nice, toy.predict(["a nice film"]), atol=1e-6)
    assert len(calls.texts) == 3
    assert (scoring.tallies[0].unique, scoring.tallies[0].forwarded) == (2, 2)
