"""Words read by their characters: new words get numbers and vectors of their own, known ones keep theirs."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.text import BREAK
from malaprop.models.tokens.vocab import BEGIN, BLANK, END, OTHER, SEP, UNK, OpenVocab, Vocab
from malaprop.zoo.blocks.charwords import CharWords

TEXTS = ["good film", "bad film", "a good bad idea"]


def closed() -> Vocab:
    return Vocab.build(TEXTS)


def block(**settings) -> CharWords:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        words = CharWords(**{"dim": 5, "char_dim": 4, "widths": (2, 3), "filters": 3, **settings}).eval()
    words.open_to(closed())
    return words


def test_known_words_keep_their_numbers_and_new_ones_get_the_next():
    vocab, open_ = closed(), OpenVocab(closed())
    assert open_.encode([("a good film",)]) == vocab.encode([("a good film",)])
    assert open_.cut(["goood", "film", "goood", "fiilm"]) == [[len(vocab)], vocab.numbers("film"), [len(vocab)], [9]]
    assert (len(vocab), len(open_), open_.size) == (8, 10, 8)
    assert open_.encode([("bad", "film")]) == [[open_.number("bad"), SEP, open_.number("film")]]
    assert open_.numbers(f"unk{BREAK}") == [UNK, SEP]


def test_forgetting_leaves_the_fixed_words():
    open_ = OpenVocab(closed())
    before = open_.numbers("goood bad")
    open_.forget()
    assert len(open_) == open_.size
    assert open_.numbers("baad bad") == before


def test_a_word_is_spelled_between_two_ends():
    open_ = OpenVocab(closed())
    o, d = open_.sign["o"], open_.sign["d"]
    assert open_.spell(open_.number("odd")) == (BEGIN, o, d, d, END)
    assert open_.spell(open_.number("od\u0436")) == (BEGIN, o, d, OTHER, END)
    assert open_.spell(UNK) == (BEGIN, BLANK, END)
    assert open_.spell(0) == ()
    assert "".join(open_.alphabet) == "adibefglmo"  # a, d in three words, i in two
    table = open_.spelled(len(closed()))
    assert table.shape == (2, 24)
    assert table[0, :6].tolist() == [BEGIN, o, d, d, END, 0]


def test_long_words_are_cut_and_alphabets_bounded():
    open_ = OpenVocab(closed(), symbols=8, most=5)
    assert len(open_.alphabet) == 8
    assert len(open_.spell(open_.number("a" * 1000))) == 5
    for wrong in ({"symbols": 6}, {"most": 3}):
        with pytest.raises(SettingError, match="open vocabulary"):
            OpenVocab(closed(), **wrong)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=6))
def test_what_came_before_changes_no_spelling(strings):
    one, other = OpenVocab(closed()), OpenVocab(closed())
    other.cut(strings[::-1])
    rows, others = one.cut(strings), other.cut(strings)
    assert [[one.words[i] for i in row] for row in rows] == [[other.words[i] for i in row] for row in others]
    assert [[one.spell(i) for i in row] for row in rows] == [[other.spell(i) for i in row] for row in others]
    assert len(set(one.words)) == len(one.words)


@torch.no_grad()
def test_new_words_get_vectors_of_their_own():
    words = block()
    good, typo, again = (words(words.extend([w]))[0] for w in ("good", "gaod", "gaod"))
    assert not torch.allclose(good, typo)
    assert torch.equal(typo, again)
    assert torch.equal(words(torch.tensor([[0, 0]])), torch.zeros(1, 2, 5))
    assert words(torch.zeros(2, 0, dtype=torch.int64)).shape == (2, 0, 5)


@torch.no_grad()
def test_a_vector_does_not_depend_on_the_words_beside_it():
    words = block()
    ids = words.extend(["a", "good", "incomprehensibilities", "x"])
    together = words._vectors(ids)
    for number, row in zip(ids, together, strict=True):
        assert torch.allclose(words._vectors(number[None])[0], row, atol=1e-6)


@torch.inference_mode()
def test_remembered_vectors_are_those_composed_anew():
    words = block()
    few = words(words.extend(["good", "typpo"]))
    assert torch.allclose(few, words._vectors(words.extend(["good", "typpo"])), atol=1e-6)
    words.extend([f"word{i}" for i in range(50)])
    table = words.table()
    assert table.shape == (len(words.vocab), 5)
    assert torch.equal(table[0], torch.zeros(5))
    assert torch.allclose(table, words._vectors(torch.arange(len(table))), atol=1e-6)


def test_remembered_vectors_can_be_read_and_added_to_in_any_mode():
    words = block()
    with torch.inference_mode():
        first = words(words.extend(["good"]))
    with torch.no_grad():
        assert torch.equal(words(words.extend(["good", "neww"]))[:1], first)
    assert words(words.extend(["good"])).requires_grad
    assert words.table().requires_grad


def test_changed_weights_are_noticed():
    words = block()
    with torch.no_grad():
        before = words(words.extend(["good"])).clone()
        words.last.weight += 1.0
        after = words(words.extend(["good"]))
        assert not torch.allclose(before, after)
        assert torch.allclose(after, words._vectors(words.extend(["good"])))
        words.load_state_dict(block().state_dict())
        assert torch.allclose(before, words(words.extend(["good"])))
        words.double()
        assert words(words.extend(["good"])).dtype == torch.float64


@torch.no_grad()
def test_a_forgotten_number_is_read_as_its_new_word():
    words = block()
    old = words(words.extend(["onee"]))
    words.vocab.forget()
    number = words.extend(["twoo"])
    assert number.item() == words.vocab.size
    fresh = block()
    assert not torch.allclose(words(number), old)
    assert torch.allclose(words(number), fresh(fresh.extend(["twoo"])))


def test_gradients_reach_characters():
    """First order, HotFlip's gain of a flip, against the real one for a small step of the embedding."""
    words = block().double()
    ids = words.extend(["good", "film"])[None]
    embedded = words.char_embeddings(ids)
    assert embedded.shape == (1, 2, 24, 4)
    composed = words.compose(embedded, words.signs(ids))
    assert torch.allclose(composed, words(ids))
    (gradient,) = torch.autograd.grad(composed.sum(), embedded)
    step = torch.zeros_like(embedded)
    step[0, 1, 2] = words.embedding.weight[words.vocab.sign["a"]] - embedded[0, 1, 2]
    moved = words.compose(embedded + 1e-6 * step, words.signs(ids)).sum() - composed.sum()
    assert torch.allclose(moved / 1e-6, (gradient * step).sum(), atol=1e-4)
    words(ids).sum().backward()
    assert words.embedding.weight.grad.abs().sum() > 0


def test_training_reads_some_words_as_unknown_and_some_characters_as_other():
    words = block(blanks=1.0)
    unknown, other = words._vectors(torch.tensor([UNK])), words._vectors(words.extend(["\u0436" * 4]))
    words.train()
    assert torch.allclose(words(torch.tensor([[3, 4, 0]]))[0], torch.cat([unknown, unknown, torch.zeros(1, 5)]))
    assert torch.allclose(words._vectors(words.extend(["good"])), other)


def test_state_travels_without_its_words():
    words, other = block(), block()
    for parameter in other.parameters():
        torch.nn.init.ones_(parameter)
    assert not any(name.startswith("chars") for name in words.state_dict())
    other.load_state_dict(words.state_dict())
    with torch.no_grad():
        assert torch.equal(words(words.extend(["godo"])), other(other.extend(["godo"])))
    twin = copy.deepcopy(words)
    assert twin.vocab is words.vocab


def test_no_words_no_vectors():
    with pytest.raises(VictimError, match="open_to"):
        CharWords()(torch.tensor([[3]]))
    with pytest.raises(SettingError, match="most=4"):
        CharWords(widths=(6,), most=4)


@torch.no_grad()
def test_the_strongest_window_by_hand():
    """One filter of width two that adds one-dimensional characters up: of B o d E the strongest pair is o d."""
    words = CharWords(dim=None, char_dim=1, widths=(2,), filters=1, highways=0).eval()
    words.open_to(closed())
    words.embedding.weight[:, 0] = torch.zeros(128)
    for char, value in (("o", 0.1), ("d", 0.3), ("a", -0.2)):
        words.embedding.weight[words.vocab.sign[char]] = value
    words.convs[0].weight.fill_(1)
    words.convs[0].bias.zero_()
    found = words(words.extend(["od", "dd", "aa"]))[:, 0]
    assert torch.allclose(found, torch.tensor(np.tanh([0.4, 0.6, -0.2], dtype=np.float32)))


def test_training_with_a_fused_optimiser_is_seen_in_evaluation():
    vocab = Vocab.build(["one two three four"])
    block = CharWords(dim=6, char_dim=4, filters=5, widths=(2, 3))
    ids = torch.tensor([block.open_to(vocab).numbers("one two three")])
    block.eval()
    with torch.no_grad():
        before = block(ids)
    block.train()
    optimiser = torch.optim.AdamW(block.parameters(), lr=0.1, fused=True)
    block(ids).square().sum().backward()
    optimiser.step()
    block.eval()
    with torch.no_grad():
        after = block(ids)
    assert not torch.allclose(before, after)
    assert torch.allclose(after, block(ids), atol=1e-6)
