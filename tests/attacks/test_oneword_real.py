"""One-word attacks on small networks of the zoo, through the services a run makes: the same at any width."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from malaprop.attacks.recipes import RECIPES
from malaprop.core.example import number_rows
from malaprop.frame.records.outcome import compare_key
from malaprop.frame.runs.local import run
from malaprop.models.gradients.layout import ByParts
from malaprop.models.inside import WordAttention
from malaprop.models.tokens.splice import Frame
from malaprop.models.tokens.vocab import SEP, UNKNOWN, Vocab
from malaprop.models.victims.tokens import TokenVictim
from malaprop.training.seeds import seeded
from malaprop.zoo.special_models import SPECIAL_MODELS
from malaprop.zoo.victim import gradients_of, padding_of

WORDS = ("the", "film", "good", "bad", "okay", "poor", "a", "man", "sleeps", "runs", "well-made", "don't")
SHAPE = {"BiLSTM-Attention": {"dim": 12, "hidden": 8}, "Transformer-3": {"dim": 16, "heads": 4, "inner": 32}}
SHAPE |= {"Pair-BiLSTM-Attention": {"dim": 12, "hidden": 8, "inner": 8}}


def victim(name: str) -> TokenVictim:
    """Random weights, made large and without a favourite label, so that single words turn labels."""
    vocab = Vocab.build([" ".join(WORDS)] * 2)
    with seeded(3):
        model = SPECIAL_MODELS[name].network(len(vocab), 2, **SHAPE[name]).eval().requires_grad_(False)
        model.embedding.weight[3:] *= 8
        ids = torch.randint(3, len(vocab), (200, 9))
        ids[:, 4] = SEP
        last = [m for m in model.head.modules() if isinstance(m, torch.nn.Linear)][-1]
        last.bias -= model(ids, torch.full((200,), 9)).mean(0)
    return TokenVictim(
        name=name, cut=vocab.cut, encode_whole=vocab.encode, forward=model, labels=2, limit=64, context_free=True,
        unknown=UNKNOWN, pooled=model.pooled, padding=padding_of(gradients_of(model, vocab, 64, "cpu"), 2),
        attention=WordAttention(layout=ByParts(cut=vocab.cut, frame=Frame(limit=64)), weigh=model.attention),
    )  # fmt: skip


def rows(target: TokenVictim, pairs: bool) -> list:
    rng = np.random.default_rng(0)
    texts = [[" ".join(rng.choice(WORDS, rng.integers(2, 9))) for _ in range(2)] for _ in range(20)]
    fields = [{"premise": a, "hypothesis": b} if pairs else {"text": a} for a, b in texts]
    labels = target.predict([tuple(f.values()) for f in fields]).argmax(1).tolist()
    return list(number_rows(zip(fields, labels, strict=True), editable=("hypothesis",) if pairs else ()))


@pytest.mark.usefixtures("tiny_assets")
@pytest.mark.parametrize("name", SHAPE)
@pytest.mark.parametrize("recipe", ["gs-gr", "gs-ec", "asmax-gr", "asmin-ec"])
def test_outcomes_are_the_same_at_any_width_and_order(name, recipe):
    target = victim(name)
    examples = rows(target, name.startswith("Pair"))
    attack = RECIPES[recipe](words=2).but(measures=("distance",))
    alone = {o.id: o for o in run(attack, target, examples, width=1)}
    wide = {o.id: o for o in run(attack, victim(name), examples[::-1], width=64, lanes=2)}
    assert {o.status for o in alone.values()} == {"success", "failed"}
    for id, one in alone.items():
        other = wide[id]
        near = one.measures.pop("distance", 0), other.measures.pop("distance", 0)
        assert near[0] == pytest.approx(near[1], abs=1e-3)
        assert compare_key(one, scores=False) == compare_key(other, scores=False)
        if name.startswith("Pair"):
            assert {edit.field for edit in one.edits} <= {"hypothesis"}
