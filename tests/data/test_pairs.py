"""Pairs: TextFooler's files as they are, the made set, and which field attacks may change."""

import gzip
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import DataError, SettingError
from malaprop.data import load, synthetic
from malaprop.data.base import of, reach
from malaprop.data.stream import open_stream

BARE = (
    "entailment\tA person in a black outfit is riding .\ta child rides a bike\n"
    'neutral\tA person said " no " .\tA child rolls down a hill .\r\n'
    "contradiction\tA man in a hat\tA man wearing pads .\n"
)


@pytest.mark.parametrize("name", ["snli", "mnli_matched", "snli.tsv", "snli.gz", "snli.tsv.gz", "my.pairs"])
def test_files_of_pairs_without_a_header_load_as_they_are(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(BARE.encode()) if name.endswith(".gz") else BARE.encode())
    data = load(path)
    assert data.labels == ("entailment", "neutral", "contradiction")
    assert [e.label for e in data] == [0, 1, 2]
    assert data.examples[1].fields == {
        "premise": 'A person said " no " .',
        "hypothesis": "A child rolls down a hill .",
    }
    assert data.examples[0].open == ("hypothesis",)
    assert [e.id for e in open_stream(path)] == [e.id for e in data]


def test_integers_stand_for_the_same_labels(tmp_path):
    numbers = BARE.replace("entailment", "0").replace("neutral", "1").replace("contradiction", "2")
    (tmp_path / "mnli").write_text(numbers)
    data = load(tmp_path / "mnli")
    assert [e.label for e in data] == [0, 1, 2]
    assert data.in_terms_of(("entailment", "neutral", "contradiction")).examples == data.examples


def test_names_of_entailment_keep_their_customary_order(tmp_path):
    (tmp_path / "x.csv").write_text("premise,hypothesis,label\na,b,Neutral\na,c,contradiction\na,d,entailment\n")
    data = load(tmp_path / "x.csv")
    assert data.labels == ("entailment", "Neutral", "contradiction")
    assert [e.label for e in data] == [1, 2, 0]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("snli", "entailment\ta man\ta person\nneutral\ta man\n", "line 2 has 2 columns; expected label, premise, hyp"),
        ("snli", "a man sleeps\n", "ends in nothing known; expected one of .csv"),
        ("x.csv", "premise\na man\n", "has the columns premise; expected text,label or premise,hypothesis,label"),
        ("x.csv", "premise,label\na man,1\n", "has the columns premise, label; expected"),
        ("x.tsv", "hypothesis\tlabel\na man\t1\n", "has the columns hypothesis, label; expected"),
    ],
)
def test_a_file_of_half_pairs_says_so(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=re.escape(said)) as found:
        load(tmp_path / name)
    assert "\n" not in str(found.value)


def test_the_made_set_is_balanced_and_its_parts_are_apart():
    parts = {split: load("entailment-synthetic", split=split) for split in ("train", "validation", "test")}
    assert [len(part) for part in parts.values()] == [9_000, 1_000, 1_000]
    texts = [tuple(e.fields.values()) for part in parts.values() for e in part]
    assert len(set(texts)) == len(texts)
    for part in parts.values():
        shares = [sum(e.label == label for e in part) / len(part) for label in range(3)]
        assert min(shares) > 0.28
        assert part.labels == ("entailment", "neutral", "contradiction")
    assert parts["test"].fingerprint == "f83151220d9a8746"  # the same for good: results are compared across versions


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_label_follows_from_the_words(seed, at):
    """Checked afresh from the sentences: which words say more, which say less, and which exclude each other."""
    premise, hypothesis, label = synthetic.pair(seed, "train", at)
    before, after = _scene(premise), _scene(hypothesis)
    found = {_relation(part, before[part], after[part]) for part in before}
    assert label == (2 if "other" in found else 1 if "stronger" in found else 0)
    assert found != {"same"}


def _scene(sentence):
    plain = sentence[0].lower() + sentence[1:-1]
    found = synthetic.words()
    general = {part: dict(found[part]) for part in ("people", "acts", "things", "places")}
    out = {}
    for part, table in general.items():
        names = sorted([*table, *(kind for row in table.values() for kind in row)], key=len, reverse=True)
        names += ["person"] if part == "people" else []
        out[part] = next((name for name in names if re.search(rf"\b{re.escape(name)}\b", plain)), "")
        plain = re.sub(rf"\b{re.escape(out[part])}\b", "", plain, count=1) if out[part] else plain
    adjectives = [*found["opposites"], *found["opposites"].values()]
    out["opposites"] = next((word for word in adjectives if re.search(rf"\b{word}\b", plain)), "")
    return out


def _relation(part, before, after):
    if before == after:
        return "same"
    if part == "opposites":
        return "stronger" if not before else "weaker" if not after else "other"
    if after in ("", "person"):
        return "weaker"
    table = synthetic.words()[part]
    if before == "" or after in table.get(before, ()):
        return "stronger"
    return "weaker" if before in table.get(after, ()) else "other"


def test_which_fields_may_change():
    data = of([(("a man runs", "a man moves"), 0), (("a", "b"), 1)])
    assert data.opened("premise").examples[0].open == ("premise",)
    assert data.opened("both").examples[0].open == ("premise", "hypothesis")
    assert data.opened("hypothesis, premise").examples[0].open == ("hypothesis", "premise")
    with pytest.raises(SettingError, match="has no field 'text'; it has premise, hypothesis, or say both"):
        data.opened("text")
    with pytest.raises(SettingError, match="names no field"):
        data.opened(" ,")


def test_which_fields_of_a_large_file_may_change(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("premise,hypothesis,label\na man,a person,0\nb,c,1\n")
    stream = open_stream(path).opened("premise")
    assert [e.open for e in stream] == [("premise",)] * 2
    assert list(stream) == list(stream.held()) == list(reach(path).opened("premise"))


@pytest.mark.assets
def test_the_words_are_as_wordnet_has_them(real_asset):
    """Kinds have their general word among their hypernyms, opposites are antonyms."""
    from malaprop.assets import store

    real_asset("wordnet")
    root = store.locate("wordnet") / "wordnet"
    found = synthetic.words()
    nouns, verbs, adjectives = (_Net(root / f"data.{part}") for part in ("noun", "verb", "adj"))
    for part, net in (("people", nouns), ("things", nouns), ("places", nouns), ("acts", verbs)):
        for general, kinds in found[part].items():
            lacking = [kind for kind in kinds if not net.is_a(_base(kind), _base(general))]
            assert not lacking, (general, lacking)
    assert all(nouns.is_a(person, "person") for person in found["people"])
    assert all(adjectives.opposed(*pair) for pair in found["opposites"].items())


def _base(phrase):
    """The noun of a phrase, or the verb of a form in -ing, as WordNet may list them."""
    noun = re.sub(r"^(?:(?:in|on|near) )?(?:(?:a|an|some) )?", "", phrase).replace(" ", "_")
    stem = noun.removesuffix("ing")
    return (noun,) if stem == noun else (noun, stem, stem + "e", stem[:-1])


class _Net:
    """One file of WordNet's database: synsets by word, and their pointers."""

    def __init__(self, path):
        self.senses, self.above, self.against = {}, {}, set()
        for line in path.read_text(encoding="latin-1").splitlines():
            if line.startswith(" "):
                continue
            cells = line.partition("|")[0].split()
            many = int(cells[3], 16)
            for place in range(many):
                self.senses.setdefault(cells[4 + 2 * place].lower(), []).append(cells[0])
            at = 5 + 2 * many
            pointers = [cells[at + 4 * n : at + 4 * n + 4] for n in range(int(cells[at - 1]))]
            self.above[cells[0]] = [to for kind, to, *_ in pointers if kind in ("@", "@i")]
            self.against |= {(cells[0], to) for kind, to, *_ in pointers if kind == "!"}

    def is_a(self, words, generals):
        words, generals = ((x,) if isinstance(x, str) else x for x in (words, generals))
        goal = {sense for general in generals for sense in self.senses.get(general, ())}
        left, seen = [sense for word in words for sense in self.senses.get(word, ())], set()
        while left:
            sense = left.pop()
            if sense in goal:
                return True
            if sense not in seen:
                seen.add(sense)
                left += self.above[sense]
        return False

    def opposed(self, one, other):
        return any((a, b) in self.against for a in self.senses[one] for b in self.senses[other])
