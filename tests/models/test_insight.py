"""What victims show beside their scores: attention received, zero vectors, and the vector the classifier reads."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_hf import bert, tokenizer

from malaprop.core.capability import Capability
from malaprop.core.errors import SettingError, VictimError
from malaprop.core.insight import Apart, Blank, Focus
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.frame.runs.load_victim import wrap
from malaprop.models.embeddings import last_linear, read_by
from malaprop.models.gradients.layout import ByParts
from malaprop.models.inside import WordAttention
from malaprop.models.tokens.splice import Frame
from malaprop.models.tokens.vocab import Vocab
from malaprop.training.seeds import seeded
from malaprop.zoo.special_models import SPECIAL_MODELS
from malaprop.zoo.victim import gradients_of, padding_of

LETTERS = "abcdefgh"
GIVEN = torch.tensor(
    [
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.0, 0.5, 0.3, 0.2, 0.0],
        [0.1, 0.1, 0.1, 0.7, 0.0],
        [0.0, 0.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 0.0, 0.0],
    ]
)


def letters(strings):
    """One token a letter; gaps have none."""
    return [[LETTERS.index(c) + 2 for c in string if c in LETTERS] for string in strings]


def looks(**more) -> WordAttention:
    """Tokens of `ab c`: head, a, b, c, tail. Two heads, of which the second sees nothing but the head token."""
    blind = torch.zeros(5, 5)
    blind[:, 0] = 1
    layers = torch.stack([torch.stack([GIVEN, blind]), torch.stack([blind, blind])])
    layout = ByParts(cut=letters, frame=Frame(limit=9, head=(0,), tail=(1,)))
    return WordAttention(
        layout=layout, weigh=lambda ids, _: layers[:, None].expand(-1, len(ids), -1, -1, -1), first=True, **more
    )


def test_attention_received_is_the_mean_over_tokens_and_heads_added_up_over_the_word():
    text = Text.of("ab c", Words())
    received, cls, last = looks().focus(
        [Focus(text=text), Focus(text=text, direction="cls"), Focus(text=text, layer=-1)]
    )
    # to a and b: (.2+.2 + .5+.3 + .1+.1) / 5 tokens / 2 heads; to c: (.2+.2+.7+1) / 10
    np.testing.assert_allclose(received, [0.14, 0.21], atol=1e-6)
    np.testing.assert_allclose(cls, [0.2, 0.1], atol=1e-6)
    np.testing.assert_allclose(last, [0, 0], atol=1e-6)


def test_a_layer_that_is_not_there_and_a_first_token_that_is_not_there():
    text = Text.of("ab c", Words())
    with pytest.raises(SettingError, match="from 0 to 1"):
        looks().focus([Focus(text=text, layer=2)])
    from dataclasses import replace

    with pytest.raises(SettingError, match="received"):
        replace(looks(), first=False).focus([Focus(text=text, direction="cls")])


def test_words_beyond_the_limit_have_no_attention():
    one = WordAttention(
        layout=ByParts(cut=letters, frame=Frame(limit=2)),
        weigh=lambda ids, _: torch.full((1, len(ids), 1, 1, 2), 0.5),
    )
    (found,) = one.focus([Focus(text=Text.of("a b c", Words()))])
    np.testing.assert_allclose(found, [0.5, 0.5, np.nan])


VOCAB = Vocab.build(["a good film , and a bad one", "nobody sleeps", "the man is not asleep"])
SMALL = {"Transformer": {"dim": 16, "heads": 4, "inner": 32}}
MIXED = ["a good film", "bad", "the man is not asleep , and a bad one", "what-ever it is"]


def network(name: str) -> torch.nn.Module:
    shape = next((shape for part, shape in SMALL.items() if part in name), {"dim": 12, "hidden": 8})
    with seeded(0):
        return SPECIAL_MODELS[name].network(len(VOCAB), 2, **shape).eval().requires_grad_(False)


@pytest.mark.parametrize("name", ["BiLSTM-Attention", "Transformer-3"])
def test_attention_of_many_texts_is_that_of_each_alone(name):
    model, table = network(name), Words()
    one = WordAttention(layout=ByParts(cut=VOCAB.cut, frame=Frame(limit=20)), weigh=model.attention)
    asked = [Focus(text=Text.of(text, table, i)) for i, text in enumerate(MIXED)]
    for together, look in zip(one.focus(asked), asked, strict=True):
        np.testing.assert_allclose(together, one.focus([look])[0], atol=1e-6)
        np.testing.assert_allclose(np.nansum(together), one.words(look.text)[0].mean(0).mean(0).sum(), atol=0.2)


@pytest.mark.parametrize("name", ["BiLSTM-Attention", "Transformer-3"])
def test_zero_vectors_stand_in_a_words_place(name):
    model, table = network(name), Words()
    zeros = padding_of(gradients_of(model, VOCAB, 20, "cpu"), 2)
    text = Text.of("a good what-ever film", table)
    other = Text.of("bad one", table, 1)
    found, second = zeros.blanked(
        [Blank(text=text, slots=np.asarray([1, 2])), Blank(text=other, slots=np.asarray([0]))]
    )
    ids, lengths = torch.tensor(VOCAB.cut(["a good what-ever film"])), torch.tensor([5])
    for row, places in zip(found, ([1], [2, 3]), strict=True):
        vectors = model.embedding(ids).clone()
        vectors[0, places] = 0
        expected = model.from_vectors(vectors, ids, lengths).softmax(-1)[0]
        np.testing.assert_allclose(row, expected.numpy(), atol=1e-5)
    assert second.shape == (1, 2)
    assert not model.embedding._forward_hooks, "the model is left as it was"


def test_a_word_beyond_the_limit_cannot_be_blanked():
    model = network("BiLSTM-Attention")
    zeros = padding_of(gradients_of(model, VOCAB, 2, "cpu"), 2)
    (found,) = zeros.blanked([Blank(text=Text.of("a good film", Words()), slots=np.asarray([0, 2]))])
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


@pytest.mark.filterwarnings("ignore")  # of the library's own
def test_a_transformer_shows_all_three(tmp_path):
    model = bert()
    victim = wrap(model, tokenizer(tmp_path))
    assert {Capability.ATTENTION, Capability.EMBEDDINGS, Capability.PADDING} <= victim.offers
    table = Words()
    text = Text.of("the good film.", table)
    other = Variants.at(text, 1, table.ids(["film", "the", "good"]))
    (apart,) = victim.parts[Capability.EMBEDDINGS].apart([Apart(origin=text, variants=other)])
    rows = [[2, *victim.cut([f"the {word} film."])[0], 3] for word in ("good", "film", "the", "good")]
    with torch.inference_mode():
        states = [model.bert(input_ids=torch.tensor([row])).pooler_output[0].numpy() for row in rows]
    np.testing.assert_allclose(apart, [np.abs(s - states[0]).sum() for s in states[1:]], atol=1e-4)
    assert apart[2] == pytest.approx(0, abs=1e-5)

    (scores,) = victim.padding.blanked([Blank(text=text, slots=np.asarray([1]))])
    with torch.inference_mode():
        words = model.bert.embeddings.word_embeddings(torch.tensor([rows[0]]))
        words[0, 2] = 0
        expected = model(inputs_embeds=words).logits.softmax(-1)
    np.testing.assert_allclose(scores, expected.numpy(), atol=1e-5)

    (received,) = victim.attention.focus([Focus(text=text)])
    with torch.inference_mode():
        model.set_attn_implementation("eager")
        first = model(input_ids=torch.tensor([rows[0]]), output_attentions=True).attentions[0]
    np.testing.assert_allclose(received, first[0].mean(0).mean(0)[1:4].numpy(), atol=1e-6)


def test_distances_of_pooled_vectors_for_bases_of_several_owners():
    model, table = network("BiLSTM-Attention"), Words()
    from malaprop.models.victims.tokens import TokenVictim

    victim = TokenVictim(
        name="v", cut=VOCAB.cut, encode_whole=VOCAB.encode, forward=model, labels=2, limit=20, context_free=True,
        pooled=model.pooled,
    )  # fmt: skip
    texts = [Text.of(text, table, i) for i, text in enumerate(MIXED)]
    words = table.ids(["bad", "good", "sleeps"])
    found = victim.parts[Capability.EMBEDDINGS].apart(
        [Apart(origin=t, variants=Variants.at(t, 0, words)) for t in texts]
    )

    def pooled(text: Text) -> np.ndarray:
        row = torch.tensor(VOCAB.encode([text.values()]))
        return model.pooled(row, torch.tensor([row.shape[1]]))[0].numpy()

    for text, row in zip(texts, found, strict=True):
        expected = [np.abs(pooled(text.put(0, int(w))) - pooled(text)).sum() for w in words]
        np.testing.assert_allclose(row, expected, atol=1e-4)
    assert victim.parts[Capability.EMBEDDINGS].apart([]) == []


def test_a_classifier_that_does_not_read_one_vector_a_text_says_so():
    layer = torch.nn.Linear(4, 2)
    tokens = read_by(layer, lambda ids, _: layer(torch.zeros(*ids.shape, 4)).mean(1))
    with pytest.raises(VictimError, match="one vector a text"):
        tokens(torch.zeros(2, 3, dtype=torch.long), torch.tensor([3, 3]))

    class Decoder:
        score = layer

    assert last_linear(Decoder()) is None


def test_a_module_of_ones_own_can_be_blanked():
    class Small(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words = torch.nn.Embedding(12, 4)
            self.head = torch.nn.Linear(4, 2)

        def forward(self, ids):
            return self.head(self.words(ids).mean(1))

    torch.manual_seed(0)
    model = Small()
    victim = wrap(model, letters)
    assert Capability.PADDING in victim.offers
    assert Capability.EMBEDDINGS not in victim.offers
    (found,) = victim.padding.blanked([Blank(text=Text.of("ab c", Words()), slots=np.asarray([0]))])
    with torch.inference_mode():
        expected = model.head(model.words(torch.tensor([4])).sum(0) / 3).softmax(-1)
    np.testing.assert_allclose(found[0], expected.numpy(), atol=1e-5)
