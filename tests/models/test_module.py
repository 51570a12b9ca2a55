"""A torch module of one's own: any forward, any tokenizer, the same scores by every road."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from malaprop.core.errors import VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.models.victims.module import wrap_module
from malaprop.models.victims.strings import StringVictim
from malaprop.models.victims.tokens import TokenVictim

KNOWN = {w: i + 2 for i, w in enumerate(["the", "a", "good", "bad", "film", "plot", "is", "not", ",", ".", "!"])}


def words(strings: list[str]) -> list[list[int]]:
    return [[KNOWN.get(w.lower(), 1) for w in re.findall(r"\w+|[^\w\s]", s)] for s in strings]


def characters(strings: list[str]) -> list[list[int]]:
    return [[2 + ord(c) % 40 for c in s] for s in strings]


class Reader(nn.Module):
    """The last state of a GRU, which padding would change: only a mask can make rows of several lengths safe."""

    def __init__(self, labels: int = 3, wrapped: bool = False) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.read = nn.Embedding(50, 8), nn.GRU(8, 8, batch_first=True)
        self.head, self.wrapped = nn.Linear(8, labels), wrapped
        self.drop = nn.Dropout(0.5)
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, ids: Tensor, mask: Tensor | None = None):
        self.shapes.append(tuple(ids.shape))
        states = self.read(self.drop(self.embed(ids)))[0]
        last = states[:, -1] if mask is None else states[torch.arange(len(ids)), mask.sum(1) - 1]
        logits = self.head(last)
        return SimpleNamespace(logits=logits) if self.wrapped else logits


def pool() -> Pool:
    table = Words()
    first = Text.of("A good film, not bad!", table, 0)
    second = Text.of("the plot", table, 1)
    edits = table.ids(["bad", "", "a good", "unseen", "[UNK]"])
    return Pool([Variants.at(first, 1, edits), Variants.itself(first), Variants.at(second, 1, edits)])


def alone(module: nn.Module, cut, texts: list[str], head=(), tail=()) -> np.ndarray:
    rows = [[*head, *cut([t])[0], *tail] or [0] for t in texts]
    with torch.inference_mode():
        return torch.cat([getattr(a := module(torch.tensor([r])), "logits", a).softmax(-1) for r in rows]).numpy()


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("cut", [words, characters])
def test_every_road_gives_the_module_s_own_answer(cut, masks, wrapped):
    module = Reader(wrapped=wrapped)
    victim = wrap_module(module, cut, masks=masks, head=(45,), tail=(46, 47))
    asked = pool()
    texts = [str(t) for t in asked.texts(np.arange(asked.size))]
    expected = alone(module, cut, texts, (45,), (46, 47))
    assert victim.finish(victim.begin(asked, np.arange(asked.size))) == pytest.approx(expected, abs=1e-6)
    assert victim.predict([(t,) for t in texts]) == pytest.approx(expected, abs=1e-6)
    assert victim.labels == 3
    assert isinstance(victim, TokenVictim if cut is words else StringVictim)


def test_rows_share_a_batch_only_where_lengths_or_masks_allow_it():
    rows = [("the film",), ("good plot",), ("a film is not bad",)]
    module = Reader()
    wrap_module(module, words).predict(rows)
    assert module.shapes[1:] == [(2, 2), (1, 5)]
    module = Reader()
    wrap_module(module, words, masks=True).predict([("a b c d e f",), *rows[2:]])
    assert module.shapes[1:] == [(2, 6)]


@pytest.mark.parametrize("masks", [False, True])
def test_an_empty_text_is_scored(masks):
    assert np.isfinite(wrap_module(Reader(), words, masks=masks).predict([("",), ("a",)])).all()


def test_fields_are_parted_by_the_separator():
    module = Reader()
    victim = wrap_module(module, words, separator=(48, 49), tail=(46,))
    pair = {"premise": "the film", "hypothesis": "bad"}
    expected = alone(module, lambda _: [[*words(["the film"])[0], 48, 49, *words(["bad"])[0]]], [""], tail=(46,))
    assert victim.predict([tuple(pair.values())]) == pytest.approx(expected, abs=1e-6)
    table = Words()
    asked = Pool([Variants.itself(Text.of(pair, table))])
    assert victim.finish(victim.begin(asked, np.arange(1))) == pytest.approx(expected, abs=1e-6)


def test_it_is_put_in_evaluation_mode_and_reads_no_more_than_its_limit():
    module = Reader().train()
    victim = wrap_module(module, words, limit=3)
    assert not module.training
    assert victim.predict([("the film is bad",)]) == pytest.approx(victim.predict([("the film is good !",)]))


def test_the_fingerprint_follows_weights_and_tokenizer():
    module = Reader()
    first = wrap_module(module, words).fingerprint
    assert first == wrap_module(Reader(), words).fingerprint
    assert first != wrap_module(module, lambda s: [row[::-1] for row in words(s)]).fingerprint
    with torch.no_grad():
        module.head.bias += 1
    assert first != wrap_module(module, words).fingerprint
    assert wrap_module(module, words, fingerprint="mine").fingerprint == "mine"


class Odd(nn.Module):
    def __init__(self, answer) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, ids: Tensor):
        return self.answer(ids)


@pytest.mark.parametrize(
    ("module", "cut", "reason"),
    [
        (Odd(lambda ids: ids.float()[None, :, :2]), words, r"Odd answered one text with shape \(1, 1, 2\); expected"),
        (Odd(lambda ids: ids.float()[0]), words, r"with shape \(\d+,\)"),
        (Odd(lambda ids: "no"), words, r"with shape \(\)"),
        (Odd(lambda ids: 1 // 0), words, "Odd could not read a short text: ZeroDivisionError"),
        (Reader(), lambda strings: [[1]], "gave 1 lists of ids for 2 strings|gave 1 lists"),
        (Reader(), lambda strings: strings, "the tokenizer of Reader failed: ValueError"),
        (Reader(), lambda strings: 5, "the tokenizer of Reader failed: TypeError"),
    ],
)
def test_what_does_not_fit_says_why(module, cut, reason):
    with pytest.raises(VictimError, match=reason) as error:
        wrap_module(module, cut)
    assert "\n" not in str(error.value)


def test_why_gradients_are_withheld_is_said():
    from malaprop.core.capability import Capability, check
    from malaprop.core.errors import CapabilityError

    def blank_is_unknown(strings):
        return [[1] if not string.strip() else [2] * len(string.split()) for string in strings]

    class Mean(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = torch.nn.Embedding(4, 4), torch.nn.Linear(4, 2)

        def forward(self, ids):
            return self.head(self.table(ids).mean(1))

    victim = wrap_module(Mean(), blank_is_unknown, name="mine")
    assert Capability.GRADIENTS not in victim.offers
    with pytest.raises(CapabilityError, match="does not offer, because its tokenizer makes tokens of ''"):
        check("hotflip-word", [Capability.GRADIENTS], victim.name, victim.offers, victim.withheld)


ENDS = {
    "a logit": (lambda x: x, False),
    "a logit, squeezed": (lambda x: x.squeeze(1), False),
    "torch.sigmoid": (torch.sigmoid, True),
    "a layer, squeezed": (lambda x: nn.Sigmoid()(x).squeeze(-1), True),
    "F.sigmoid in half": (lambda x: nn.functional.sigmoid(x).float(), True),
    "a gate inside": (lambda x: torch.sigmoid(x) * x, False),
}


class One(nn.Module):
    """One output for two labels."""

    def __init__(self, end) -> None:
        super().__init__()
        self.inner, self.end = Reader(labels=1), end

    def forward(self, ids: Tensor):
        return self.end(self.inner(ids))


@pytest.mark.parametrize("end", ENDS)
def test_one_output_is_the_second_label(end):
    make, probability = ENDS[end]
    module = One(make)
    victim = wrap_module(module, words)
    assert victim.labels == 2
    texts = ["a good film", "the plot is bad", "!"]
    with torch.no_grad():
        said = torch.cat([module(torch.tensor(words([t]))).reshape(1) for t in texts])
        wanted = (said if probability else torch.sigmoid(said)).numpy()
    scores = victim.predict(texts)
    np.testing.assert_allclose(scores[:, 1], wanted, atol=1e-5)
    np.testing.assert_allclose(scores.sum(1), 1, atol=1e-6)
    found = pool()
    fast = victim.finish(victim.begin(found, np.arange(found.size)))
    np.testing.assert_allclose(
        fast, victim.predict([t.values() for t in found.texts(np.arange(found.size))]), atol=1e-5
    )
