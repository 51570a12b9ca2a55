"""Transformers take vectors in the place of their pieces', so that noise reaches them too."""

import numpy as np
import pytest
import torch

from malaprop.features.hardening.perturbed import Miyato
from malaprop.training.seeds import seeded
from malaprop.zoo.finetune import TransformerClassifier
from malaprop.zoo.training import Batch

transformers = pytest.importorskip("transformers")

TINY = {
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 20,
    "num_labels": 2,
}


def network(kind):
    config = {"bert": transformers.BertConfig, "roberta": transformers.RobertaConfig}[kind](**TINY)
    made = {"bert": "BertForSequenceClassification", "roberta": "RobertaForSequenceClassification"}[kind]
    with seeded(0):
        return TransformerClassifier(getattr(transformers, made)(config), separator=5 if kind == "bert" else None)


def batch(pad):
    ids = torch.tensor([[2, 7, 8, 5, 9, 3], [2, 10, 3, pad, pad, pad]])
    return Batch(ids, torch.tensor([6, 3]), torch.tensor([0, 1]), np.arange(2))


@pytest.mark.parametrize(("kind", "pad"), [("bert", 0), ("roberta", 1)])
def test_its_own_vectors_give_its_own_answer(kind, pad):
    model, given = network(kind).eval(), batch(pad)
    with torch.no_grad():
        expected = model(given.ids, given.lengths)
        assert torch.allclose(
            model.from_vectors(model.embedding(given.ids), given.ids, given.lengths), expected, atol=1e-6
        )


@pytest.mark.parametrize("virtual", [False, True])
def test_noise_reaches_them_also_where_the_table_stays(virtual):
    model, given = network("bert").train(), batch(0)
    model.embedding.weight.requires_grad_(False)
    Miyato(virtual=virtual).loss(model, given).backward()
    assert model.model.classifier.weight.grad.any()
    assert model.embedding.weight.grad is None
