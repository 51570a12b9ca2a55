"""The sentence encoder and the language model, over tiny random weights."""

import numpy as np
import pytest
import torch

from malaprop.core.errors import AssetError
from malaprop.models.encoders.encoder import SentenceEncoder
from malaprop.models.encoders.language_model import LanguageModel, load_language_model
from malaprop.models.tokens.batches import Bounds

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "good", "bad", "film", "the"]
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24}
STRINGS = ["the good film", "bad", "", "the bad film the bad film the bad film", "good film"]


def tokenizer(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    own = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    own.pre_tokenizer = pre_tokenizers.Whitespace()
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=own, pad_token="[PAD]", unk_token="[UNK]", bos_token="[CLS]", eos_token="[SEP]"
    )
    fast.save_pretrained(folder)
    return fast


@pytest.fixture
def folder(tmp_path):
    tokenizer(tmp_path)
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(WORDS), max_position_embeddings=12, **SMALL)
    transformers.BertModel(config).save_pretrained(tmp_path)
    return tmp_path


def test_unit_vectors_that_do_not_depend_on_neighbours(folder):
    encoder = SentenceEncoder(folder, bounds=Bounds(rows=3, waste=1.0))
    together = encoder.encode(STRINGS)
    assert together.shape == (5, 16)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for string, row in zip(STRINGS, together, strict=True):
        assert np.allclose(encoder.encode([string])[0], row, atol=1e-6)
    assert encoder.encode([]).shape == (0, 16)
    assert len(encoder.fingerprint) == 16


@torch.inference_mode()
def test_it_is_the_mean_over_the_tokens(folder):
    encoder = SentenceEncoder(folder)
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    states = model(torch.tensor([[2, 7, 4, 6, 3]])).last_hidden_state[0].mean(0)
    assert np.allclose(encoder.encode(["the good film"])[0], (states / states.norm()).numpy(), atol=1e-6)


@torch.inference_mode()
def test_tokens_have_vectors_of_their_own(folder):
    encoder = SentenceEncoder(folder)
    together, alone = encoder.encode_tokens(["the good film", *STRINGS]), encoder.encode_tokens(["the good film"])
    states = encoder.model(torch.tensor([[2, 7, 4, 6, 3]])).last_hidden_state[0][1:-1]
    assert np.allclose(together[0], (states / states.norm(dim=1, keepdim=True)).numpy(), atol=1e-5)
    assert np.allclose(together[0], alone[0], atol=1e-5)
    assert encoder.encode_tokens([""])[0].shape == (0, encoder.dim)


@torch.inference_mode()
def test_mpnet_is_an_encoder_too(tmp_path):
    tokenizer(tmp_path)
    torch.manual_seed(0)
    config = transformers.MPNetConfig(vocab_size=len(WORDS), max_position_embeddings=40, pad_token_id=0, **SMALL)
    model = transformers.MPNetModel(config).eval()
    model.save_pretrained(tmp_path)
    encoder = SentenceEncoder(tmp_path)
    states = model(torch.tensor([[2, 7, 4, 6, 3]])).last_hidden_state[0].mean(0)
    together = encoder.encode(STRINGS)
    assert np.allclose(together[0], (states / states.norm()).numpy(), atol=1e-6)


def test_products_without_padding_give_what_the_library_gives(tmp_path):
    tokenizer(tmp_path)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), max_position_embeddings=12, **SMALL | {"num_hidden_layers": 3}
    )
    transformers.BertModel(config).save_pretrained(tmp_path)
    ours, library = (SentenceEncoder(tmp_path, bounds=Bounds(rows=3, waste=1.0), fast=fast) for fast in (True, False))
    assert np.allclose(ours.encode(STRINGS), library.encode(STRINGS), atol=1e-6)
    for one, two in zip(ours.encode_tokens(STRINGS), library.encode_tokens(STRINGS), strict=True):
        assert np.allclose(one, two, atol=1e-5)


def test_sketches_are_near_the_plain_vectors(folder, monkeypatch):
    from malaprop.attacks.constraints.similarity import ROUGH
    from malaprop.models.encoders import encoder as module

    monkeypatch.setattr(module, "worthwhile", lambda device: True)
    sketcher = SentenceEncoder(folder, bounds=Bounds(rows=3, waste=1.0))
    plain, rough = sketcher.encode(STRINGS), sketcher.sketch(STRINGS)
    assert not np.array_equal(plain, rough)
    assert np.abs(plain @ plain.T - rough @ rough.T).max() < ROUGH
    monkeypatch.setattr(module, "worthwhile", lambda device: False)
    assert np.array_equal(SentenceEncoder(folder).sketch(STRINGS), SentenceEncoder(folder).encode(STRINGS))


@pytest.fixture
def causal(tmp_path):
    fast = tokenizer(tmp_path)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(WORDS), max_position_embeddings=64, num_key_value_heads=2, pad_token_id=0, **SMALL
    )
    model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(tmp_path)
    return tmp_path, model.eval(), fast


def test_perplexity_does_not_depend_on_neighbours(causal):
    folder, model, fast = causal
    lm = LanguageModel(model, fast, bounds=Bounds(rows=3, waste=1.0))
    together = lm.perplexity(STRINGS)
    assert together.dtype == np.float32
    assert together[2] == 1  # nothing to be surprised by
    alone = [lm.perplexity([s])[0] for s in STRINGS]
    assert np.allclose(together, alone, rtol=1e-5)
    assert np.allclose(load_language_model(folder).perplexity(STRINGS), together, rtol=1e-5)
    assert lm.perplexity([]).shape == (0,)


@torch.inference_mode()
def test_perplexity_by_hand(causal):
    _, model, fast = causal
    chances = model(torch.tensor([[2, 4, 6]])).logits[0].softmax(-1)
    expected = (chances[0, 4] * chances[1, 6]) ** -0.5
    assert LanguageModel(model, fast).perplexity(["good film"])[0] == pytest.approx(float(expected), rel=1e-5)


def test_a_folder_that_holds_no_model(tmp_path):
    with pytest.raises(AssetError, match="cannot be read as a language model") as error:
        load_language_model(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.assets
def test_use_knows_what_is_alike(real_asset):
    real_asset("use")
    from malaprop.models.encoders.encoder import open_encoder

    a, b, c = open_encoder("use").encode(
        ["A man is eating food.", "A man is eating a piece of bread.", "The stock market fell today."]
    )
    assert a @ b == pytest.approx(0.735, abs=0.01)
    assert a @ c < 0.2


@pytest.mark.assets
def test_minilm_knows_what_is_alike(real_asset):
    real_asset("minilm")
    from malaprop.models.encoders.encoder import open_encoder

    a, b, c = open_encoder().encode(
        ["A man is eating food.", "A man is eating a piece of bread.", "The stock market fell today."]
    )
    assert a @ b == pytest.approx(0.755, abs=0.01)
    assert a @ c < 0.2
