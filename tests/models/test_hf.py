"""transformers classifiers: tiny random ones, saved to a folder and read back."""

import numpy as np
import pytest
import torch

from malaprop.core.errors import VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.data import of
from malaprop.frame.runs.load_victim import load, wrap
from malaprop.models.tokens.wordpieces import WordPieces
from malaprop.models.victims.tokens import TokenVictim

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own

VOCAB = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "aeinorst")]
VOCAB += ["good", "bad", "film", "the", "'", ".", ",", "man"]
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


def tokenizer(folder, inputs=("input_ids", "token_type_ids", "attention_mask")):
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    own = Tokenizer(models.WordPiece({w: i for i, w in enumerate(VOCAB)}, unk_token="[UNK]"))
    own.normalizer = normalizers.BertNormalizer()
    own.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    own.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    own.enable_truncation(8)
    own.enable_padding(length=8)
    names = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")}
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=own, model_max_length=32, model_input_names=[*inputs], **names
    )
    fast.save_pretrained(folder)
    return fast


def bert(labels=3):
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(VOCAB), max_position_embeddings=40, num_labels=labels, **SMALL)
    model = transformers.BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@pytest.fixture(params=[("input_ids", "token_type_ids", "attention_mask"), ("input_ids", "attention_mask")])
def folder(tmp_path, request):
    tokenizer(tmp_path / "m", request.param)
    bert().save_pretrained(tmp_path / "m")
    return tmp_path / "m"


@torch.inference_mode()
def by_library(model, fast, *texts):
    raw = fast(*texts, truncation=True, max_length=32, padding=True, return_tensors="pt")
    return model(**raw).logits.softmax(-1).numpy()


def test_the_layout_of_a_tokenizer(folder):
    pieces = WordPieces.load(folder / "tokenizer.json")
    assert (pieces.head, pieces.between, pieces.tail) == ((2,), (3,), (3,))
    good, film = VOCAB.index("good"), VOCAB.index("film")
    assert pieces.rows([("good film",), ("good", "film"), ("",)], 10) == [
        [2, good, film, 3],
        [2, good, 3, film, 3],
        [2, 3],
    ]
    assert pieces.rows([("good film good",)], 4) == [[2, good, film, 3]]
    assert len(pieces.pieces(["good " * 20])[0]) == 20  # the file's own truncation does not count
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(VictimError, match="cannot be read as a tokenizer"):
        WordPieces.load(folder / "tokenizer.json")


def test_a_folder_answers_as_the_library_does(folder):
    victim = load(folder)
    assert isinstance(victim, TokenVictim)
    assert victim.name == "m"
    assert victim.labels == 3
    model = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    texts = ["the good film.", "", "xyzzy q", "good " * 50, "café, the man's"]
    for text in texts:
        assert np.allclose(victim.predict([(text,)]), by_library(model, fast, [text]), atol=1e-5)
    pair = victim.predict([("the man", "good film")])
    assert np.allclose(pair, by_library(model, fast, ["the man"], ["good film"]), atol=1e-5)
    assert not np.allclose(pair, victim.predict([("the man good film",)]), atol=1e-4)


def test_variants_are_scored_as_their_strings(folder):
    victim = load(folder)
    for source in ("the good film, man's .", {"premise": "the man", "hypothesis": "a good film"}):
        table = Words()
        base = Text.of(source, table)
        words = table.ids(["bad", "", "nooo", "[UNK]", "the man", "good"])
        pool = Pool([Variants.at(base, slot, words) for slot in range(base.slots)] + [Variants.itself(base)])
        every = np.arange(pool.size)
        scores = victim.finish(victim.begin(pool, every))
        assert np.allclose(scores, victim.predict([t.values() for t in pool.texts(every)]), atol=1e-5)


@pytest.mark.parametrize("kind", ["DistilBert", "Roberta", "GPT2"])
def test_other_architectures(tmp_path, kind):
    fast = tokenizer(tmp_path / "m", ("input_ids", "attention_mask"))
    sizes = {
        "DistilBert": {"dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 24, "max_position_embeddings": 40},
        "Roberta": {**SMALL, "max_position_embeddings": 42, "type_vocab_size": 1},
        "GPT2": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 40},
    }[kind]
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(vocab_size=len(VOCAB), num_labels=2, pad_token_id=0, **sizes)
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    victim = wrap(model, fast)
    texts = ["the good film .", "bad", "a good man , a bad film"]
    alone = np.concatenate([by_library(model, fast, [text]) for text in texts])
    assert np.allclose(victim.predict([(t,) for t in texts]), alone, atol=1e-5)
    base = Text.of(texts[0], Words())
    pool = Pool([Variants.at(base, 1, base.table.ids(["bad", "man"]))])
    scores = victim.finish(victim.begin(pool, np.arange(2)))
    assert np.allclose(scores, victim.predict([("the bad film .",), ("the man film .",)]), atol=1e-5)


def test_what_cannot_be_loaded_says_why(tmp_path, folder):
    tokenizer(tmp_path / "bare")
    transformers.BertModel(bert().config).save_pretrained(tmp_path / "bare")
    with pytest.raises(VictimError, match=r"has no trained classifier: weights are missing for classifier\.bias"):
        load(tmp_path / "bare")
    assert "scores" not in wrap(bert(labels=1), tokenizer(tmp_path / "t")).offers  # it gives a number
    with pytest.raises(VictimError, match="needs its tokenizer"):
        wrap(bert())
    (folder / "model.safetensors").write_bytes(b"short")
    with pytest.raises(VictimError, match="cannot be loaded as a transformers classifier") as error:
        load(folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (
            "BertForTokenClassification",
            r"which labels each token \(token classification\); .*: fine-tune it as one first",
        ),
        ("BertForQuestionAnswering", r"which finds answers in passages \(question answering\)"),
        ("BertForMaskedLM", r"which fills in hidden words \(masked language model\)"),
        ("BertForPreTraining", "which is pre-trained and not fine-tuned"),
        ("GPT2LMHeadModel", "which continues texts .*: ask it with a prompt as --victim causal:.*other$"),
        ("Qwen2ForCausalLM", "which continues texts .*: ask it with a prompt as --victim causal:.*other$"),
        (
            "T5ForConditionalGeneration",
            "which writes a text for a text .*: attack a translator with malaprop translate",
        ),
        ("MarianMTModel", "which translates; .*malaprop translate attack --victim .*other$"),
    ],
)
def test_a_folder_of_another_task_says_what_it_is(tmp_path, kind, said):
    where = tmp_path / "other"
    tokenizer(where)
    sizes = {
        "B": SMALL,
        "G": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 40},
        "Q": {**SMALL, "num_key_value_heads": 2},
        "T": {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2},
        "M": {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
              "decoder_attention_heads": 2, "pad_token_id": 0},
    }[kind[0]]  # fmt: skip
    made = getattr(transformers, kind)
    made(made.config_class(vocab_size=len(VOCAB), **sizes)).save_pretrained(where)
    with pytest.raises(VictimError, match=rf"is a {kind}, {said}") as error:
        load(where)
    assert "\n" not in str(error.value)


def test_a_hub_out_of_reach_is_one_line(monkeypatch):
    monkeypatch.setenv("MALAPROP_OFFLINE", "1")
    with pytest.raises(VictimError, match="cannot be loaded as a transformers classifier") as error:
        load("nobody/no-such-model")
    assert "\n" not in str(error.value)


def test_fine_tuning_a_small_encoder(tmp_path, monkeypatch):
    from malaprop.assets import store
    from malaprop.training.splits import splits
    from malaprop.zoo.names import ZooSpec
    from malaprop.zoo.train import TrainingInput, train

    tokenizer(tmp_path / "base")
    transformers.BertModel(bert().config).save_pretrained(tmp_path / "base")
    monkeypatch.setattr(store, "locate", lambda name: tmp_path / "base")
    rows = of(
        [(f"the {w} film {c}", int(w == "good")) for c in "abcdefghijklmnopqrstuvwxyz" * 2 for w in ("good", "bad")]
    )
    folder = tmp_path / "out"
    given = TrainingInput(settings={"epochs": 12, "rate": 5e-3, "batch": 8, "patience": 12})
    card = train(ZooSpec.of("BERT"), splits(lambda spec, split: rows, "toy"), folder, given=given)
    assert card.figures["test_accuracy"] > 0.9
    victim = load(folder)
    assert victim.name == "BERT"
    assert victim.limit == 32  # the tokenizer states less than the checkpoint
    assert victim.predict([("the good film",), ("the bad film",)]).argmax(1).tolist() == [1, 0]
    again = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    fast = transformers.AutoTokenizer.from_pretrained(folder)
    assert np.allclose(victim.predict([("the good film",)]), by_library(again, fast, ["the good film"]), atol=1e-5)
