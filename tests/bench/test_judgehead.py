"""The head of the judge of meaning is made by one command, and the page says how it compares with the packaged one."""

from __future__ import annotations

import gzip
import json
import random
from hashlib import blake2b
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("sklearn")
from malaprop_bench import compareheads, judgehead, judgepairs
from malaprop_bench.judgepairs import Pair

from malaprop.models.encoders import differences
from malaprop.models.encoders.differences import NAMES, Relation, describe
from malaprop.models.encoders.judge import Head

DOCS = Path(__file__).parents[2] / "docs"
ARRAYS = ["bias", "high", "low", "mean", "names", "polarity", "polarity_scale", "scale", "weight", "words"]
NOUNS = [f"noun{n}" for n in range(40)]


@pytest.fixture(autouse=True)
def small_wordnet(monkeypatch):
    """Stand in for WordNet: good and great share a sense, good and bad are opposed; it knows words of letters."""

    def relate(one, two):
        near, far = {one, two} == {"good", "great"}, {one, two} == {"good", "bad"}
        return Relation(near, float(near), near, far, one == two, same_part=True, other_form=False)

    monkeypatch.setattr(differences, "relate", relate)
    monkeypatch.setattr(differences, "is_known", str.isalpha)
    monkeypatch.setattr(judgepairs, "is_known", lambda word: word in ("film", "good"))


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


@pytest.fixture
def data(tmp_path):
    """A folder with some pairs of each source; `good` to `great` keeps the meaning, `good` to `bad` changes it."""
    both = [(f"the {noun} is good .", f"the {noun} is {new} .", new) for noun in NOUNS for new in ("great", "bad")]
    nli = [{"premise": a, "hypothesis": b, "label": 0 if new == "great" else 2} for a, b, new in both]
    write(tmp_path / "nli/breaking_nli.jsonl.gz", [*nli, {"premise": "a", "hypothesis": "b", "label": 1}])
    sick = [
        {"original": a, "changed": b, "entailment": "ENTAILMENT", "relatedness": 4.8 if new == "great" else 1.2}
        for a, b, new in both
    ]
    write(tmp_path / "meaning/sick.jsonl.gz", sick)
    sts = [{"original": a, "changed": b, "similarity": 4.6 if new == "great" else 1} for a, b, new in both]
    write(tmp_path / "meaning/sts_train.jsonl.gz", sts[:40])
    write(tmp_path / "meaning/sts_test.jsonl.gz", sts[40:])
    reviews = [{"original": f"we say that {a}", "changed": f"we say that {b}"} for a, b, new in both if new == "bad"]
    write(tmp_path / "meaning/counterfactual_train.jsonl.gz", reviews)
    for file, fields in judgepairs._SENTENCES.items():
        write(tmp_path / file, [dict.fromkeys(fields, f"a {noun} is a good one") for noun in NOUNS])
    return tmp_path


class Reader:
    """Stand in for the encoder: one number tells whether a text says bad, the others are noise."""

    def read(self, pairs):
        noise = [np.frombuffer(blake2b(repr(pair).encode(), digest_size=4).digest(), np.uint8) / 255 for pair in pairs]
        bad = np.asarray([["bad" in pair[0] or "bad" in pair[1]] for pair in pairs])
        return np.concatenate([bad, np.asarray(noise)], 1, dtype=np.float32)


@pytest.fixture
def without_assets(monkeypatch):
    def made_pairs(sentences, seed):
        for text in sentences:
            yield Pair("swaps", text, text, text.replace("good", "great"), kept=True)
            yield Pair("swaps", text, text, text.replace("good", "bad"), kept=False)

    monkeypatch.setattr(judgepairs, "made_pairs", made_pairs)
    monkeypatch.setattr(judgehead, "open_judge", Reader)


def test_the_command_makes_a_head_that_tells_kept_from_changed(data, tmp_path, without_assets, capsys):
    paths = [tmp_path / name for name in ("one.npz", "two.npz", "other.npz")]
    for path, seed in zip(paths, "001", strict=True):
        judgehead.main([str(path), "--data", str(data), "--seed", seed])
    assert "pairs" in capsys.readouterr().out
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].read_bytes() != paths[2].read_bytes()
    with np.load(paths[0], allow_pickle=False) as held:
        assert sorted(held.files) == ARRAYS
        assert held["weight"].shape == held["mean"].shape == (10 + len(NAMES),)
        assert held["low"].shape == held["high"].shape == (len(NAMES),)
    head = Head(paths[0])
    assert head.polarity["awful"] < -0.4 < 0.4 < head.polarity["excellent"]
    texts = [("the dog is good .", "the dog is great ."), ("the dog is good .", "the dog is bad .")]
    both = Reader().read([*texts, *((two, one) for one, two in texts)])
    lexical = np.stack([describe(*pair, head.polarity) for pair in texts])
    kept, changed = head.chance(np.concatenate([both[:2], both[2:]], 1), lexical)
    assert kept > 0.9 > 0.1 > changed


def test_pairs_are_as_many_as_wanted_and_a_group_is_in_one_part(data, without_assets):
    wanted = {
        ("breaking_nli", True): (1, 0),
        ("sick", False): (20, 8),
        ("sts", True): (99, 99),
        ("swaps", True): (5, 5),
    }
    pairs = judgepairs.draw(data, wanted=wanted)
    assert pairs == judgepairs.draw(data, wanted=wanted)
    assert pairs != judgepairs.draw(data, seed=1, wanted=wanted)
    counts = {key: [0, 0] for key in wanted}
    for pair in pairs:
        counts[pair.source, pair.kept][pair.held] += 1
    assert counts == {**wanted, ("breaking_nli", True): [1, 0], ("sick", False): [20, 8], ("sts", True): [20, 20],
                      ("swaps", True): [5, 5]}  # fmt: skip
    parts = {}
    for pair in judgepairs.draw(data):
        parts.setdefault((pair.source, pair.group), set()).add(pair.held)
    assert {len(held) for held in parts.values()} == {1}


def test_labels_of_people_become_kept_and_changed(data):
    rows = [*judgepairs.read_rows(data / "nli/breaking_nli.jsonl.gz")]
    found = [*judgepairs.breaking_pairs([rows[0], rows[1], rows[-1]])]
    assert [(pair.group, pair.kept) for pair in found] == [("good great", True), ("bad good", False)]
    sick = [("ENTAILMENT", 4.5), ("ENTAILMENT", 4.4), ("NEUTRAL", 5), ("CONTRADICTION", 4), ("NEUTRAL", 2)]
    rows = [{"original": "b", "changed": "a", "entailment": one, "relatedness": near} for one, near in sick]
    assert [(pair.group, pair.kept) for pair in judgepairs.sick_pairs(rows)] == [
        ("a", True),
        ("a", False),
        ("a", False),
    ]
    rows = [
        {"original": "a b", "changed": two, "similarity": near} for two, near in (("c", 5), ("d", 3), ("e " * 41, 0))
    ]
    assert [(pair.changed, pair.held) for pair in judgepairs.sts_pairs(rows, held=True)] == [("c", True)]


def test_made_pairs_replace_misspell_recase_and_negate(monkeypatch):
    monkeypatch.setattr(judgepairs, "find_part", lambda word: "n" if word in ("film", "good") else None)
    words = SimpleNamespace(
        synonyms={"film": ["movie"], "good": ["fine"]}.__getitem__, opposites={"film": [], "good": ["bad"]}.__getitem__,
        sisters=lambda word: [], others=lambda word: [],
    )  # fmt: skip
    kept = {judgepairs.swap("A good Film !", words, random.Random(n), keep=True) for n in range(20)}
    assert kept == {"A fine Film !", "A good Movie !", "A fine Movie !"}
    changed = {judgepairs.swap("A good Film !", words, random.Random(n), keep=False) for n in range(20)}
    assert changed == {"A bad Film !", "A bad Movie !"}
    assert judgepairs.swap("Nothing here", words, random.Random(0), keep=True) is None
    for n in range(20):
        text = judgepairs.misspell("the sentence of it", random.Random(n))
        assert text is not None
        assert abs(len(text) - len("the sentence of it")) <= 1
        assert text != "the sentence of it"
        assert text.startswith("the s")
        assert judgepairs.recase("the Film", random.Random(n)).lower() == "the film"
    assert judgepairs.negate("it is good") == "it is not good"
    assert judgepairs.negate("it is not good") == "it is good"
    assert judgepairs.negate("it isn't good") is None
    assert judgepairs.negate("a good film") is None


def test_edits_are_put_where_they_fit_in_their_order():
    ways = compareheads.put_edits("a film of films, a film", [("a", "one"), ("film", "movie")])
    assert [*ways] == ["one movie of films, a film", "one film of films, a movie", "a film of films, one movie"]
    assert [*compareheads.put_edits("a film", [("films", "movies")])] == []


def test_two_heads_are_compared_on_the_same_pairs(data, tmp_path, without_assets):
    """A head beside itself differs in nothing."""
    path = tmp_path / "head.npz"
    judgehead.main([str(path), "--data", str(data)])
    judge, head = Reader(), Head(path)
    judge.head = head
    pairs = [pair for pair in judgepairs.draw(data) if pair.held]
    found = compareheads.compare(judge, head, pairs, judgehead.read_vectors(judge, pairs))
    whole = found["sources"]["all"]
    assert (whole["kept"] + whole["changed"], whole["alike"]) == (len(pairs), len(pairs))
    assert whole["shipped"]["auc"] == whole["new"]["auc"] == 1
    assert whole["difference"] == {"auc": 0, "interval": [0, 0]}
    assert sum(band["pairs"] for band in found["reliability"]["new"]) == len(pairs)
    assert sum(sum(row.values()) for row in found["verdicts"].values()) == len(pairs)


def say(values):
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}"


def test_what_the_page_says_of_the_two_heads_is_in_the_record():
    runs = json.loads((DOCS / "measured/judge-head.json").read_text(encoding="utf-8"))["runs"]
    page = " ".join((DOCS / "appendix/attacks.md").read_text(encoding="utf-8").split())
    (trained,), (held,) = ({run[name] for run in runs} for name in ("trained", "held_out"))
    assert f"{trained:,} pairs of the same kinds, which it draws and makes anew" in page
    alike = [f"{run['sources']['all']['alike'] / held:.1%}" for run in runs]
    seeds = say(run["seed"] for run in runs)
    told = (
        f"With the seeds {seeds}, each on {held:,} pairs that it holds out, it gives the verdict of the packaged head"
    )
    assert f"{told} in {say(alike)}." in page
    intervals = {
        (name, run["seed"]): one["difference"]["interval"] for run in runs for name, one in run["sources"].items()
    }
    assert {key for key, (_, high) in intervals.items() if high < 0} == {("breaking_nli", 1), ("sts", 1)}
    assert all(low > 0 for (name, _), (low, _) in intervals.items() if name == "word swaps")


def test_what_the_page_says_of_the_two_heads_on_successes_is_in_the_record():
    runs = json.loads((DOCS / "measured/judge-head.json").read_text(encoding="utf-8"))["runs"]
    page = " ".join((DOCS / "appendix/attacks.md").read_text(encoding="utf-8").split())
    read = [run["textfooler"] for run in runs]
    assert (
        f"Neither doubt holds for {read[0]['put_together']} of the {read[0]['read']} successes of `textfooler`" in page
    )
    found = say(f"{one['new']['auc']:.3f}" for one in read)
    assert f"There the AUC is {found}, against {read[0]['shipped']['auc']:.3f}: lower with each seed" in page
    for one in read:
        low, high = one["difference"]["interval"]
        assert one["difference"]["auc"] < 0
        assert low < 0 < high
    stricter = [say(run["verdicts"]["unsure"]["changed"] for run in part) for part in (runs, read)]
    assert f"the new one calls {stricter[0]} changed; of the successes {stricter[1]}." in page
    counts = {name: [one["labels"][name]["changed"]["kept"] for one in read] for name in ("shipped", "new")}
    told = f"Of the {read[0]['kept']} successes that the reader calls kept, it calls {say(counts['new'])} changed"
    assert f"{told}; the packaged head {counts['shipped'][0]}." in page
