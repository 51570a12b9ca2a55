import json

import numpy as np
import pytest
from malaprop_bench import widen
from malaprop_bench.shapes import word_pieces

import malaprop as mp
from malaprop.core.errors import SettingError

TEXTS = ["a good film", "a bad and very long film of no worth", "what a film"]


@pytest.fixture
def folder(tmp_path):
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=200, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=40, num_labels=2, id2label={0: "bad", 1: "good"}, initializer_range=0.3,
    )  # fmt: skip
    made = tmp_path / "small-bert"
    BertForSequenceClassification(config).save_pretrained(made)
    word_pieces(iter(TEXTS), 200).save(str(made / "tokenizer.json"))
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 40, "pad_token": "[PAD]"}
    (made / "tokenizer_config.json").write_text(json.dumps(about))
    return made


def scores(folder):
    return np.asarray(mp.victim(str(folder), precision="fp32").predict(TEXTS))


def test_a_wide_roberta_answers_as_the_small_bert(folder, tmp_path):
    made = widen.widen(folder, tmp_path / "RoBERTa", "roberta")
    config = json.loads((made / "config.json").read_text())
    assert (config["hidden_size"], config["intermediate_size"], config["model_type"]) == (64, 128, "roberta")
    assert config["id2label"] == {"0": "bad", "1": "good"}
    np.testing.assert_allclose(scores(made), scores(folder), atol=1e-5)


def test_a_wide_distilbert_has_the_linear_part_of_the_head(folder, tmp_path):
    import torch
    from transformers import AutoModelForSequenceClassification

    made = AutoModelForSequenceClassification.from_pretrained(widen.widen(folder, tmp_path / "D", "distilbert")).eval()
    small = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    small.bert.pooler.activation = torch.nn.Identity()
    ids = torch.arange(5, 25).view(2, 10)
    with torch.inference_mode():
        torch.testing.assert_close(made(ids).logits, small(ids).logits, atol=1e-4, rtol=1e-4)


def test_other_architectures_are_refused(folder, tmp_path, capsys):
    with pytest.raises(SettingError, match="did you mean roberta or distilbert"):
        widen.widen(folder, tmp_path / "out", "robert")
    wide = widen.widen(folder, tmp_path / "RoBERTa", "roberta")
    assert widen.main([str(wide), str(tmp_path / "out"), "roberta"]) == 2
    assert "holds a model of type roberta; name a folder with a BERT" in capsys.readouterr().err
    assert widen.main([]) == 2
