from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from word_edits import VOCABULARY, cut, groups, many_edits, whole_tokens

from malaprop.core.errors import SettingError
from malaprop.core.pool import Pool
from malaprop.core.variants import Variants
from malaprop.models.scorers import bert, packing
from malaprop.models.scorers.bert import BertScorer, PackedBert, readable
from malaprop.models.scorers.bertweights import Affine, BertWeights, PrepackedAffine, can_prepack
from malaprop.models.scorers.packing import Packing
from malaprop.models.scorers.plain import Plain, make_forward
from malaprop.models.tokens.batches import Bounds
from malaprop.models.tokens.pieces import Pieces
from malaprop.models.tokens.splice import Frame, splice

HEAD, TAIL, SEP = (VOCABULARY,), (2,), 2


def model(**more: Any) -> Any:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24}
    config = transformers.BertConfig(
        vocab_size=VOCABULARY + 1, max_position_embeddings=64, num_labels=3, initializer_range=0.1, **(shape | more)
    )
    return transformers.BertForSequenceClassification(config).eval()


BERT = model()


def alone(pool: Pool, limit: int) -> torch.Tensor:
    """Each text in a batch of one, with the segments that transformers' tokenizer would give it."""
    out = []
    for text in pool.texts(np.arange(pool.size)):
        ids = whole_tokens(text, limit, HEAD, TAIL)
        first = ids.index(SEP) + 1
        types = [0] * first + [1] * (len(ids) - first)
        out.append(BERT(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits)
    return torch.cat(out)


@settings(max_examples=60, deadline=None)
@given(groups(), st.sampled_from([64, 9]), st.builds(Bounds, rows=st.integers(1, 9), waste=st.sampled_from([0.0, 1.0])))
@torch.inference_mode()
def test_scores_are_those_of_each_text_alone(variants: list[Variants], limit: int, bounds: Bounds) -> None:
    pool = Pool(variants)
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=limit, head=HEAD, tail=TAIL))
    expected = alone(pool, limit)
    for scorer in (
        BertScorer(model=BERT, separator=SEP, bounds=bounds),
        Plain(forward=make_forward(BERT, separator=SEP), bounds=bounds),
    ):
        assert (scorer.logits(work) - expected).abs().max() < 1e-5


def spoil(packing: Packing) -> None:
    """Puts what no text should see where filling is."""
    held = packing._recorded(packing.reach(1), torch.device("cpu")).held
    held.ids.fill_(3)
    held.edges.fill_(packing.tokens)


@settings(max_examples=40, deadline=None)
@given(groups(), st.sampled_from([64, 9]), st.sampled_from([64, 100, 300]), st.sampled_from([None, 150]))
@torch.inference_mode()
def test_packed_texts_score_as_each_alone(variants: list[Variants], limit: int, tokens: int, span: int | None) -> None:
    pool = Pool(variants)
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=limit, head=HEAD, tail=TAIL))
    network = PackedBert(weights=BertWeights.of(BERT, dtype=torch.float32), separator=SEP)
    packed = Packing(network=network, tokens=tokens, longest=64)
    spoil(packed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_AT_ONCE", span or packing._AT_ONCE)
        assert (packed.logits(work) - alone(pool, limit)).abs().max() < 1e-5


@torch.inference_mode()
def test_half_precision_is_the_same_in_any_company() -> None:
    pool = Pool(many_edits(6, 20))
    whole = np.arange(pool.size)
    scorer = BertScorer(model=BERT, dtype=torch.bfloat16)
    together, backwards, some = (
        scorer.logits(splice(pool, index, Pieces(cut, pool.table), Frame(limit=64, head=HEAD, tail=TAIL)))
        for index in (whole, whole[::-1].copy(), whole[::7])
    )
    assert (together - backwards.flip(0)).abs().max() < 1e-6
    assert (together[::7] - some).abs().max() < 1e-6, "where scores themselves are off by 1e-3"


def test_half_precision_stays_near() -> None:
    pool = Pool(many_edits(3, 10))
    work = splice(pool, np.arange(pool.size), Pieces(cut, pool.table), Frame(limit=64, head=HEAD, tail=TAIL))
    full, half = (BertScorer(model=BERT, dtype=d).logits(work) for d in (torch.float32, torch.bfloat16))
    assert half.dtype == torch.float32
    assert 0 < (full.softmax(1) - half.softmax(1)).abs().max() < 0.1
    assert BERT.classifier.weight.dtype == torch.float32


@pytest.mark.parametrize("more", [{"hidden_act": "relu"}, {"num_hidden_layers": 1}, {"type_vocab_size": 1}])
@torch.inference_mode()
def test_other_shapes(more: dict[str, Any]) -> None:
    other = model(**more)
    ids = torch.randint(3, VOCABULARY, (4, 11))
    expected = other(input_ids=ids).logits
    assert (BertScorer(model=other).forward(ids, None) - expected).abs().max() < 1e-5


@pytest.mark.parametrize("act", ["gelu", "gelu_new", "relu"])
@torch.inference_mode()
def test_packed_weights_answer_as_plain_ones(act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other, ids = model(hidden_act=act), torch.randint(3, VOCABULARY, (4, 11))
    packed = BertScorer(model=other)
    answer = packed.forward(ids, None)
    monkeypatch.setattr(bert, "can_prepack", lambda: False)
    plain = BertScorer(model=other)
    assert (plain.forward(ids, None) - answer).abs().max() < 1e-6
    kinds = [type(scorer._weights.layers[0].up) for scorer in (packed, plain)]
    assert kinds == [PrepackedAffine if can_prepack() else Affine, Affine]


def kin(kind: str) -> Any:
    """A small classifier of another architecture with the same network, its weights not those it began with."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    shape: dict[str, Any] = {
        "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24,
        "max_position_embeddings": 40, "type_vocab_size": 1, "pad_token_id": 1,
    }  # fmt: skip
    if kind == "DistilBert":
        shape = {"dim": 16, "n_layers": 3, "n_heads": 4, "hidden_dim": 24, "max_position_embeddings": 40}
    config = getattr(transformers, f"{kind}Config")(vocab_size=VOCABULARY, num_labels=3, initializer_range=0.1, **shape)
    made = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight += 0.1 * torch.randn_like(weight)
    return made


@pytest.mark.parametrize("kind", ["DistilBert", "Roberta", "XLMRoberta", "Camembert"])
@torch.inference_mode()
def test_the_kin_of_bert_answer_as_their_own_forward(kind: str) -> None:
    other = kin(kind)
    pad = int(other.config.pad_token_id)
    lengths = torch.tensor([3, 7, 11, 11])
    ids = torch.randint(3, VOCABULARY, (4, 11))
    ids[torch.arange(11)[None] >= lengths[:, None]] = pad
    ids[3, 4] = pad  # as of a text in which the token is written out
    scorer, plain = BertScorer(model=other), make_forward(other)
    assert (scorer.forward(ids, lengths) - plain(ids, lengths)).abs().max() < 1e-5
    copies = ids[2:].repeat(8, 1)  # so alike that their first layer is shared
    expected = plain(copies, torch.full((16,), 11))
    assert (scorer.forward(copies, None) - expected).abs().max() < 1e-5
    nothing = torch.zeros(1, 16)
    assert (scorer.shifted(copies, None, (torch.tensor([0]), torch.tensor([2])), nothing) - expected).abs().max() < 1e-5


def test_other_models_are_refused() -> None:
    assert readable(BERT)
    assert not readable(torch.nn.Linear(1, 1))
    assert not readable(model(is_decoder=True))
    with pytest.raises(SettingError, match="got Linear"):
        BertScorer(model=torch.nn.Linear(1, 1))
