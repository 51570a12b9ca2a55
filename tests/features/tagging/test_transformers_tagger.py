"""Token-classification folders of transformers as victims: sub-words, lengths, and other tasks' folders."""

from __future__ import annotations

import numpy as np
import pytest

from malaprop.core.errors import VictimError
from malaprop.features.tagging.transformers_tagger import load_transformers

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "anna", "went", "to", "par", "##is", "."]
TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def folder(path, kind, task="TokenClassification"):
    import torch
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    own = Tokenizer(models.WordPiece({word: i for i, word in enumerate(PIECES)}, unk_token="[UNK]"))
    own.normalizer = normalizers.BertNormalizer()
    own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")}
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=own, model_max_length=12, **names)
    torch.manual_seed(0)
    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(PIECES), max_position_embeddings=16, id2label=dict(enumerate(TAGS)), **shape
    )
    model = getattr(transformers, f"{kind}For{task}")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter))
    model.save_pretrained(path)
    fast.save_pretrained(path)
    return path


@pytest.mark.parametrize("kind", ["Bert", "DistilBert"])
def test_a_token_has_the_scores_of_its_first_sub_word(kind, tmp_path):
    import torch

    tagger = load_transformers(folder(tmp_path / "model", kind))
    assert tagger.tags == TAGS
    sentence, other = ["Anna", "went", "to", "Paris", "\u200b", "."], ["Paris", "."]
    both = tagger.scores([sentence, other])
    ids = torch.tensor([[2, 5, 6, 7, 8, 9, 10, 3]])  # the sign without a sub-word is left out
    with torch.no_grad():
        rows = tagger.model(input_ids=ids).logits[0].softmax(-1).numpy()
    np.testing.assert_allclose(both[0][[0, 1, 2, 3, 5]], rows[[1, 2, 3, 4, 6]], atol=1e-5)
    assert both[0][4].tolist() == [1, 0, 0, 0, 0]
    assert [[TAGS[i] for i in row.argmax(1)] for row in both] == tagger.tag([sentence, other])


def test_what_cannot_be_read_is_said(tmp_path):
    tagger = load_transformers(folder(tmp_path / "model", "Bert"))
    with pytest.raises(VictimError, match="has 22 sub-words, model reads 12"):
        tagger.scores([["Anna"] * 20])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/config.json").write_text("{}")
    with pytest.raises(VictimError, match="cannot be loaded as a model of token classification"):
        load_transformers(tmp_path / "broken")
    other = folder(tmp_path / "classifier", "Bert", "SequenceClassification")
    with pytest.raises(VictimError, match="is no model of token classification"):
        load_transformers(other)
