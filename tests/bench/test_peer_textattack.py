from types import SimpleNamespace

import numpy as np
import pytest
from malaprop_bench.metered import Meter, attack_all
from malaprop_bench.peer_textattack import attacking, main, outcome, special_tokens, stock_tokenizer


class Toy:
    model = None

    def __call__(self, texts):
        return np.tile([[0.2, 0.8]], (len(texts), 1))


def result(kind, text, queries):
    made = type(kind, (), {})()
    made.perturbed_result = SimpleNamespace(attacked_text=SimpleNamespace(text=text))
    made.num_queries = queries
    return made


def test_what_the_warm_up_left_behind_is_forgotten_once():
    cleared = []

    class Attack:
        def attack(self, text, label):
            return result("SuccessfulAttackResult", text + "!", 3)

        def clear_cache(self):
            cleared.append(True)

    held = attack_all(attacking(Attack()), Meter(Toy()), [("a", 0), ("b", 1)], seconds=60)
    assert held["outcomes"] == [{"status": "success", "text": t, "queries": 3} for t in ("a!", "b!")]
    assert len(cleared) == 1


@pytest.mark.parametrize(
    ("kind", "status"),
    [("SuccessfulAttackResult", "success"), ("FailedAttackResult", "failed"), ("SkippedAttackResult", "skipped")],
)
def test_statuses_are_ours(kind, status):
    assert outcome(result(kind, "x", 7)) == {"status": status, "text": "x", "queries": 7}


def test_an_unknown_recipe_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["v", "r", "no-recipe", "o"])
    assert "textfooler-untagged" in capsys.readouterr().err


def small_folder(kind, folder):
    """A tiny classifier with a tokenizer of its own family: word pieces for DistilBERT, byte-level BPE for RoBERTa."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    if kind == "distilbert":
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "good", "film"]
        own = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
        own.pre_tokenizer = pre_tokenizers.Whitespace()
        ends, pad, unknown = ("[CLS]", "[SEP]"), "[PAD]", "[UNK]"
        config = transformers.DistilBertConfig(
            vocab_size=len(words), dim=8, n_layers=1, n_heads=2, hidden_dim=16, max_position_embeddings=16
        )
        model = transformers.DistilBertForSequenceClassification(config)
    else:
        words = ["<s>", "<pad>", "</s>", "<unk>", *"agodfilm", "Ġ"]
        own = Tokenizer(models.BPE({w: i for i, w in enumerate(dict.fromkeys(words))}, [], unk_token="<unk>"))
        own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        ends, pad, unknown = ("<s>", "</s>"), "<pad>", "<unk>"
        config = transformers.RobertaConfig(
            vocab_size=len(words),
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            max_position_embeddings=18,
            type_vocab_size=1,
            pad_token_id=1,
        )
        model = transformers.RobertaForSequenceClassification(config)
    own.post_processor = processors.TemplateProcessing(
        single=f"{ends[0]} $A {ends[1]}",
        pair=f"{ends[0]} $A {ends[1]} $B {ends[1]}",
        special_tokens=[(token, words.index(token)) for token in ends],
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=own, cls_token=ends[0], sep_token=ends[1], pad_token=pad, unk_token=unknown
    ).save_pretrained(folder)
    model.save_pretrained(folder)
    return model.eval()


@pytest.mark.filterwarnings("ignore")  # of the library's own
@pytest.mark.parametrize("kind", ["distilbert", "roberta"])
def test_the_stock_wrapper_gets_what_its_model_takes(kind, tmp_path):
    pytest.importorskip("transformers")
    import torch

    model = small_folder(kind, tmp_path)
    tokenizer = stock_tokenizer(tmp_path, model)
    assert tokenizer.pad_token == special_tokens(tmp_path)["pad_token"]
    assert len(tokenizer) <= model.config.vocab_size  # no special token was made up
    limit = tokenizer.model_max_length
    assert limit == 16
    long = tokenizer(
        ["a good film " * 20], padding="max_length", truncation=True, max_length=limit, return_tensors="pt"
    )
    assert ("token_type_ids" in long) == (kind == "roberta")
    with torch.inference_mode():
        assert model(**long).logits.shape == (1, 2)
