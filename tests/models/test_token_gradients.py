"""Slopes at tokens: where words lie, what swaps gain, and victims that offer it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from malaprop.core.capability import Capability
from malaprop.core.errors import CapabilityError, VictimError
from malaprop.core.gradient import Aim, CharLook, WordLook
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.models.gradients.layout import ByOffsets, ByParts
from malaprop.models.gradients.tokens import TokenGradients
from malaprop.models.tokens.splice import Frame
from malaprop.models.tokens.vocab import UNK, Vocab
from malaprop.models.tokens.wordpieces import WordPieces
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.blocks.lstm import WordLSTM

VOCAB = Vocab.build(["the good film , a bad one", "well made and not so dull", "nice"])


def gradients(kind=WordCNN, limit=20) -> TokenGradients:
    torch.manual_seed(0)
    model = kind(len(VOCAB), 3, dim=6).eval().requires_grad_(False)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    layout = ByParts(cut=VOCAB.cut, frame=Frame(limit=limit))
    return TokenGradients(module=model, forward=model, embedding=model.embedding, layout=layout, unknown=UNK)


def swaps(string, words, table=None):
    table = table or Words()
    text = Text.of(string, table)
    return Variants.each(text, np.arange(text.slots), [table.ids(words)] * text.slots)


def exact(model, variants, label):
    """The log loss of each variant and of the base, read as strings."""
    texts = [*variants.texts(), variants.base]
    rows = VOCAB.encode([t.values() for t in texts])
    losses = [
        torch.nn.functional.cross_entropy(
            model(torch.tensor([r]), torch.tensor([len(r)])), torch.tensor([label]), reduction="none"
        )
        for r in rows
    ]
    return torch.cat(losses).numpy()


@pytest.mark.parametrize("kind", [WordCNN, WordLSTM])
def test_gains_are_slopes_along_the_swap(kind):
    found = gradients(kind)
    variants = swaps("the good film", ["bad", "dull", "nice"])
    (seen,) = found.words([WordLook(variants=variants, aim=Aim(label=1))])
    model, step = found.module, 1e-3
    ids, lengths = torch.tensor(VOCAB.encode([("the good film",)])), torch.tensor([3])
    table = model.embedding.weight
    vectors = model.embedding(ids)
    strings = variants.base.table.strings

    def loss(at):
        return torch.nn.functional.cross_entropy(model.from_vectors(at, ids, lengths), torch.tensor([1]))

    for slot, word, gain in zip(variants.slots.tolist(), variants.words.tolist(), seen.gains.tolist(), strict=True):
        way = torch.zeros_like(vectors)
        way[0, slot] = table[VOCAB.index[strings[word]]] - vectors[0, slot]
        slope = (loss(vectors + step * way) - loss(vectors - step * way)) / (2 * step)
        assert float(slope) == pytest.approx(gain, abs=5e-3)
    assert np.abs(seen.gains).max() > 0.01
    assert seen.answer == pytest.approx(model(ids, lengths).softmax(-1)[0].numpy(), abs=1e-6)


def test_gains_agree_with_losses_in_order():
    found = gradients()
    variants = swaps("the good film , a bad one", ["bad", "dull", "nice", "well", "not"])
    (seen,) = found.words([WordLook(variants=variants, aim=Aim(label=0))])
    losses = exact(found.module, variants, 0)
    change = losses[:-1] - losses[-1]
    ranks = [np.argsort(np.argsort(x)) for x in (seen.gains, change)]
    assert np.corrcoef(*ranks)[0, 1] > 0.7


def test_a_batch_answers_as_each_text_alone():
    found, table = gradients(WordLSTM), Words()
    looks = [
        WordLook(variants=swaps(s, ["bad", "made"], table), aim=Aim(label=i % 3, away=i != 1, odds=i == 2))
        for i, s in enumerate(["good", "the good film , a bad one", "well-made , not dull"])
    ]
    together = found.words(looks)
    for look, seen in zip(looks, together, strict=True):
        (alone,) = found.words([look])
        assert alone.gains == pytest.approx(seen.gains, abs=1e-5)
        assert alone.answer == pytest.approx(seen.answer, abs=1e-6)


def test_towards_is_the_other_way():
    found = gradients()
    variants = swaps("the good film", ["bad"])
    away, towards = found.words([WordLook(variants=variants, aim=Aim(label=1, away=a)) for a in (True, False)])
    assert away.gains == pytest.approx(-towards.gains)


def test_words_of_several_tokens_and_words_not_known():
    found = gradients()
    variants = swaps("well-made film", ["nice", "not-so-dull", "zebra", ""])
    (free,) = found.words([WordLook(variants=variants, aim=Aim(label=1))])
    (known,) = found.words([WordLook(variants=variants, aim=Aim(label=1), known=True)])
    assert np.isfinite(free.gains).all()
    assert np.isfinite(known.gains).tolist() == [True, True, False, False] * 2
    laid = found.layout.lay([variants.base])[0]
    assert laid.size.tolist() == [2, 1]
    assert [t.tolist() for t in found.layout.tokens(variants.base, np.asarray([0]), variants.words[1:2])] == [
        [VOCAB.index[w] for w in ("not", "so", "dull")]
    ]


def test_what_lies_behind_the_cut_is_barred():
    found = gradients(limit=2)
    (seen,) = found.words([WordLook(variants=swaps("the good film", ["bad"]), aim=Aim(label=1))])
    assert np.isfinite(seen.gains).tolist() == [True, True, False]


def test_a_model_of_words_has_no_characters():
    found, text = gradients(), Text.of("good", Words())
    with pytest.raises(CapabilityError, match="does not read characters"):
        found.chars([CharLook(text=text, aim=Aim(label=0), slots=np.arange(1))])
    assert Capability.CHARACTERS not in found.offers


def test_a_cutter_that_reaches_over_words_says_so():
    layout = ByParts(cut=lambda strings: [[len(s)] for s in strings], frame=Frame(limit=9), whole=True)
    with pytest.raises(VictimError, match="over the edge of a word"):
        layout.lay([Text.of("two words", Words())])


def wordpiece():
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "film", "##s", "##ing", "bad", "a", "b", ",", "'", "s", "the"]
    own = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    own.normalizer = normalizers.BertNormalizer()
    own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return own, words


def bytelevel():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    own = Tokenizer(models.BPE())
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    own.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, vocab_size=300)
    own.train_from_iterator(["a good film, the good films", "films good good", "a b"] * 20, trainer)
    own.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return own


@pytest.mark.parametrize("string", ["a good film", "The films,  filming 'good' film's", "good", "Ωmega 👍 good"])
@pytest.mark.parametrize("make", [lambda: wordpiece()[0], bytelevel], ids=["wordpiece", "byte-level"])
def test_the_tokens_of_a_word_are_exact(make, string):
    tokenizer = WordPieces.of(make())
    frame = Frame(limit=50, head=tokenizer.head, tail=tokenizer.tail)
    layout = ByOffsets(tokenizer=tokenizer, frame=frame)
    text = Text.of({"one": string, "two": "a film"}, Words())
    (laid,) = layout.lay([text])
    assert laid.row.tolist() == tokenizer.rows([text.values()], 50)[0]
    own = layout.tokens(text, np.arange(text.slots), text.words)
    for slot, tokens in enumerate(own):
        begin, size = int(laid.start[slot]), int(laid.size[slot])
        assert laid.row[begin : begin + size].tolist() == tokens.tolist(), text.strings[slot]


def test_the_cut_of_a_long_text_bars_its_end():
    tokenizer = WordPieces.of(wordpiece()[0])
    layout = ByOffsets(tokenizer=tokenizer, frame=Frame(limit=4, head=(2,), tail=(3,)))
    (laid,) = layout.lay([Text.of("good films bad", Words())])
    assert laid.row.tolist() == [2, 4, 5, 3]
    assert laid.size.tolist() == [1, -1, -1]


def test_transformers_offer_gradients_of_whole_words():
    transformers = pytest.importorskip("transformers")
    from malaprop.models.victims.hf import wrap_transformers

    own, words = wordpiece()
    names = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep")}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=own, model_max_length=32, **names)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        num_labels=2,
    )
    model = transformers.BertForSequenceClassification(config)
    victim = wrap_transformers(model, fast)
    assert Capability.GRADIENTS in victim.offers
    table = Words()
    variants = swaps("the films", ["good", "filming", "zzz"], table)
    seen = victim.gradients.words([WordLook(variants=variants, aim=Aim(label=0), known=True)] * 2)
    assert seen[0].gains == pytest.approx(seen[1].gains)
    assert np.isfinite(seen[0].gains).tolist() == [True, True, False] * 2
    assert seen[0].answer == pytest.approx(victim.predict([("the films",)])[0], abs=1e-5)
    assert all(p.grad is None for p in model.parameters())


def test_a_torch_module_of_ones_own_offers_gradients():
    from malaprop.models.victims.module import wrap_module

    class Mean(torch.nn.Module):
        def __init__(self, twice: bool = False) -> None:
            super().__init__()
            self.table, self.head, self.twice = torch.nn.Embedding(len(VOCAB), 4), torch.nn.Linear(4, 2), twice

        def forward(self, ids):
            vectors = self.table(ids) + (self.table(ids) if self.twice else 0)
            return self.head(vectors.mean(1))

    torch.manual_seed(0)
    victim = wrap_module(Mean(), VOCAB.cut)
    assert Capability.GRADIENTS in victim.offers
    variants = swaps("the good film", ["bad", "nice"])
    (seen,) = victim.gradients.words([WordLook(variants=variants, aim=Aim(label=1, odds=True))])
    scores = victim.predict([t.values() for t in variants.texts()])
    change = np.log(scores[:, 0] / scores[:, 1]) - np.log(seen.answer[0] / seen.answer[1])
    assert seen.gains == pytest.approx(change, abs=1e-4), "the odds of a linear model are what their slope says"
    assert Capability.GRADIENTS not in wrap_module(Mean(twice=True), VOCAB.cut).offers, "which reading would it be?"
