"""The judge of meaning: what differs between two texts, and chances that do not depend on the batch."""

import json
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
import pytest
import torch

from malaprop.core.errors import AssetError
from malaprop.core.judgement import CHANGED, KEPT, Judgement, Labelled, verdict
from malaprop.models.encoders import differences
from malaprop.models.encoders.differences import (
    LONGEST,
    NAMES,
    Relation,
    describe,
    find_changes,
    find_words,
    has_unlikely_synonym,
    pair_sentences,
)
from malaprop.models.encoders.entailment import Entailment
from malaprop.models.encoders.judge import DOUBT, Head, PackagedJudge, Reference, Referred, _packaged_head
from malaprop.models.tokens.batches import Bounds

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "good", "bad", "film", "the", "is", "not", "a", "great", "."]
PAIRS = [
    Judgement("the film is good", "the film is great"),
    Judgement("the film is good", "the film is not good"),
    Judgement("good", "bad"),
    Judgement("the film is good . " * 30, "the film is good . " * 29 + "the film is bad ."),
    Judgement("a film", "a film"),
]


@pytest.fixture(autouse=True)
def small_wordnet(monkeypatch):
    """Stand in for WordNet: good and great share a sense, good and bad are opposed."""

    def relate(one, two):
        near, far = {one, two} <= {"good", "great"}, {one, two} == {"good", "bad"}
        return Relation(near, float(near), near, far, one == two, same_part=True, other_form=False)

    monkeypatch.setattr(differences, "relate", relate)
    monkeypatch.setattr(differences, "is_known", lambda word: word.isalnum())


def changes(old, new):
    found = find_changes(find_words(old), find_words(new))
    return [(c.old and c.old.lower, c.new and c.new.lower) for c in found]


@pytest.mark.parametrize(
    ("old", "new", "unlikely"),
    [
        ("the overall vibe", "the boilersuit vibe", True),
        ("a mesmerizing poem", "a mesmerizing offset", True),
        ("a good film", "a good movie", False),
        ("two men", "2 men", False),
        ("a good film", "a good filmm", False),
        ("a good film", "a truly good celluloid", False),
        ("it is good", "he is good", False),
    ],
    ids=["sense", "another word", "synonym", "number", "misspelling", "more words", "grammar"],
)
def test_a_word_that_the_table_of_synonyms_would_not_offer_is_unlikely(old, new, unlikely, monkeypatch):
    monkeypatch.setattr(differences, "is_known", lambda word: word != "filmm")
    assert has_unlikely_synonym(old, new) == unlikely


def test_a_judge_is_not_sure_of_a_text_with_an_unlikely_synonym(judge):
    pair = Judgement("the film is good", "the film is bad")
    assert judge.kept([pair])[0] <= DOUBT
    assert verdict(DOUBT) == "unsure"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("A good film.", "A great film.", [("good", "great")]),
        ("It is good", "It isn't good", [(None, "n't")]),
        ("He never left", "He left", [("never", None)]),
        ("Tall, old men", "old men, tall", []),
        ("THE FILM", "the film!", []),
    ],
)
def test_changes_are_words_replaced_dropped_and_put_in(old, new, expected):
    assert changes(old, new) == expected


def test_lexical_numbers_say_what_differs():
    found = dict(zip(NAMES, describe("two good films", "3 bad films", {"good": 1.0, "bad": -1.0}), strict=True))
    assert found["replaced"] == 2
    assert found["worst_number"] == 1
    assert found["worst_opposed"] == 1
    assert found["polarity_shift"] == 2
    same = dict(zip(NAMES, describe("two films", "2 films", {}), strict=True))
    assert (same["digits"], same["worst_number"], same["worst_synonym"]) == (0, 0, 1)


def test_long_texts_are_read_by_the_sentences_that_changed():
    long = "One sentence stands here for all of them. " * 6
    assert pair_sentences(long + "It is good.", long + "It is bad.") == [("It is good.", "It is bad.")]
    assert pair_sentences("It is good.", "It is bad.") == [("It is good.", "It is bad.")]
    joined = pair_sentences(long + "It is good. We like it.", long + "It is bad, and we like it.")
    assert joined == [("It is good. We like it.", "It is bad, and we like it.")]
    (pair,) = pair_sentences(long + "It is good.", long.strip())
    assert pair[0] == "It is good."
    assert not pair[1]


def test_a_long_sentence_is_cut_at_the_same_places_where_words_come_or_go():
    words = [f"w{n}" for n in range(130)]
    for changed, expected in (
        (["new", *words], ("w0", "new w0")),
        ([*words[:50], *words[51:]], ("w40", "w40")),
        ([*words[:129], "new"], ("w120", "w120")),
    ):
        (pair,) = pair_sentences(" ".join(words), " ".join(changed))
        assert all(side.startswith(start) for side, start in zip(pair, expected, strict=True))
        assert max(len(side.split()) for side in pair) <= LONGEST + 1
    assert [len(a.split()) for a, _ in pair_sentences(" ".join(words), "other words " * 30)] == [40, 40, 40, 10]


def test_long_texts_are_aligned_a_window_at_a_time(monkeypatch):
    sizes = []

    def align(junk, old, new, autojunk):
        sizes.append(max(len(old), len(new)))
        return SequenceMatcher(junk, old, new, autojunk)

    monkeypatch.setattr("malaprop.models.encoders.differences.SequenceMatcher", align)
    words = [f"w{n * n % 7}" for n in range(3000)]
    changed = [*words[:1500], "new", *words[1500:]]
    ((old, new),) = pair_sentences(" ".join(words), " ".join(changed))
    assert old in new.replace(" new", "")
    assert pair_sentences(". ".join(words), ". ".join(changed)) == [("", "new.")]
    ((old, new),) = pair_sentences(" ".join(words), " ".join([*words, *["new"] * 2000]))
    assert new == old + " new" * 2000
    assert max(sizes) <= 1000


def test_words_of_a_million_letters_are_compared_by_their_beginnings():
    one, two = ("a" * 1_000_000 + end for end in "bc")
    assert dict(zip(NAMES, describe(one, two, {}), strict=True))["worst_spelling"] == 1


def deberta(**settings):
    """A tiny encoder of the judge's kind; distances from 4 on share their vectors."""
    torch.manual_seed(0)
    config = transformers.DebertaV2Config(
        vocab_size=len(WORDS), hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8,
        type_vocab_size=0, norm_rel_ebd="layer_norm", pos_att_type=["p2c", "c2p"], position_biased_input=False,
        position_buckets=8, relative_attention=True, share_att_key=True, max_position_embeddings=32,
        initializer_range=0.5, **settings,
    )  # fmt: skip
    return transformers.DebertaV2Model(config).eval()


@pytest.mark.parametrize("many", [1, 3, 30])
@torch.inference_mode()
def test_the_encoder_computes_what_the_library_computes(many):
    model = deberta()
    ids = torch.randint(1, len(WORDS), (3, many))
    ids[1, many // 2 + 1 :] = 0
    wanted = model(input_ids=ids, attention_mask=(ids != 0).long()).last_hidden_state[:, 0]
    torch.testing.assert_close(Entailment.of(model).first(ids), wanted, atol=1e-5, rtol=1e-4)


@pytest.fixture
def judge(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    own = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    own.pre_tokenizer = pre_tokenizers.Whitespace()
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    own.save(str(tmp_path / "tokenizer.json"))
    deberta().save_pretrained(tmp_path)
    return PackagedJudge(tmp_path, Head(write_head(tmp_path / "head.npz", 8)), bounds=Bounds(rows=3, waste=1.0))


def write_head(path, dim, names=NAMES):
    rng, size = np.random.default_rng(0), 2 * dim + len(names)
    many = len(names)
    np.savez(
        path,
        weight=rng.normal(size=size),
        mean=np.zeros(size),
        scale=np.ones(size),
        bias=np.float32(0),
        low=np.zeros(many),
        high=np.ones(many),
        words=np.frombuffer(b"good\nbad", np.uint8),
        polarity=np.asarray([100, -100], np.int8),
        polarity_scale=np.float32(0.01),
        names=np.frombuffer(json.dumps(names).encode(), np.uint8),
    )
    return path


def test_a_chance_does_not_depend_on_the_batch(judge):
    together = judge.kept(PAIRS)
    assert together == [judge.kept([one])[0] for one in PAIRS]
    assert together[::-1] == judge.kept(PAIRS[::-1])
    assert together[-1] == 1  # nothing changed
    assert together[3] == judge.kept([Judgement("the film is good .", "the film is bad .")])[0]
    assert judge.kept([]) == []


def test_a_reference_lowers_the_chance_where_it_sees_the_label_go(judge):
    def reads(texts):
        return [(0.9, 0.1) if "not" in text or "bad" in text else (0.2, 0.8) for (text,) in texts]

    def labelled(name, number):
        return [replace(one, label=name, labelled=Labelled((one.original,), (one.changed,), number)) for one in PAIRS]

    reference = Reference(ask=reads, column=lambda name, number: {"pos": 1, "neg": 0}.get(name, number))
    plain, asked = judge.kept(PAIRS), Referred(judge, [reference])
    for pairs in (labelled("pos", 0), labelled(None, 1)):  # by its name, or by its number
        found = asked.kept(pairs)
        assert found[0] == plain[0]
        assert found[1] == pytest.approx(plain[1] / 8, abs=1e-4)
    assert asked.kept(labelled("neg", 1))[:3] == plain[:3], "the reference gives the original another label"
    assert asked.kept(PAIRS) == plain


def test_bands_leave_room_for_doubt():
    assert [verdict(p) for p in (0.0, CHANGED, KEPT, 1.0)] == ["changed", "unsure", "kept", "kept"]


def test_what_cannot_be_opened_is_said_in_one_line(tmp_path):
    with pytest.raises(AssetError, match="other lexical numbers"):
        Head(write_head(tmp_path / "other.npz", 8, NAMES[:-1]))
    (tmp_path / "bad.npz").write_bytes(b"no")
    with pytest.raises(AssetError, match=r"bad\.npz cannot be read"):
        Head(tmp_path / "bad.npz")


def test_the_packaged_head_is_of_this_version():
    assert _packaged_head().polarity["awful"] < -0.5 < 0.5 < _packaged_head().polarity["wonderful"]


def test_the_pages_say_what_was_measured():
    docs = Path(__file__).parents[2] / "docs"
    page, appendix = (
        " ".join((docs / n).read_text(encoding="utf-8").split()) for n in ("judge.md", "appendix/attacks.md")
    )
    found = json.loads((docs / "measured/judge.json").read_text(encoding="utf-8"))
    held = [one["auc"] for name, one in found["sources"].items() if "textfooler" not in name]
    assert f"its AUC is {min(held):.3f} to {max(held):.3f}" in page
    for left in found["left_out"].values():
        assert f"{left:.3f} (" in appendix
    rated = found["human"]
    assert f"attack with {found['sources']['textfooler, read blind']['auc']:.2f}." in appendix
    assert f"rank correlation is {rated['spearman']:.2f} ({rated['interval'][0]:.2f} to" in page
    cost, fluent = found["cost"], found["human_with_fluency"]
    assert f"{cost['own_ms']:.0f} ms of one CPU core a pair, in batches of {cost['batch']}" in appendix
    assert (
        f"takes {cost['library_ms']:.0f} ms in the same run: {cost['ratio']} times as long ({cost['pairs']}" in appendix
    )
    assert (
        f"samples of {' and '.join(map(str, cost['compared']))} pairs of the kinds above no verdict differs" in appendix
    )
    low, high = min(found["smollm2"]["successes"]), max(found["smollm2"]["successes"])
    assert f"gave all of seven successes of `textfooler` {low:.2f} to {high:.2f}" in page
    assert cost["verdicts_that_differ"] == 0
    assert cost["ratio"] == pytest.approx(cost["library_ms"] / cost["own_ms"], abs=0.01)
    low, high = fluent["interval"]
    assert f"reaches {fluent['spearman']:.2f} ({low:.2f} to {high:.2f}); log-probability" in appendix
    assert f"alone reaches {fluent['log_probability_alone']:.2f}" in appendix
    valid = found["valid_against_paper"]
    for way in ("valid", "paper"):
        assert " and ".join(map(str, valid[f"{way}_cpu_seconds"])) + " s" in appendix
    assert f"it found {valid['valid_successes']} successes, `paper` {valid['paper_successes']}" in appendix
    assert f"leave {valid['valid_model_calls']:.0f} of {valid['paper_model_calls']:.0f} model calls" in appendix
