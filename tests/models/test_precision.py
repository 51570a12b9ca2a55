from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from word_edits import VOCABULARY

from malaprop.core.errors import MalapropError
from malaprop.frame.runs.load_victim import load
from malaprop.models import precision
from malaprop.models.precision import LEAST, ROUNDING, dtype_for, full_precision, has_bf16_units, resolve
from malaprop.models.scorers import select_scorer as roads
from malaprop.models.scorers.int8 import can_quantise
from malaprop.models.victims.hf import load_transformers

CPU = torch.device("cpu")


def test_what_is_asked_for_is_given() -> None:
    assert dtype_for("fp32", CPU) == torch.float32
    assert dtype_for("bf16", "cpu") == torch.bfloat16
    with pytest.raises(MalapropError, match=r"bf61.*bf16"):
        dtype_for("bf61", CPU)


@pytest.mark.parametrize(("units", "expected"), [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_follows_the_device(units: bool, expected: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bf16_units", lambda _device: units)
    assert dtype_for("auto", CPU) == expected


@pytest.mark.parametrize(
    ("products", "units", "width", "expected"),
    [
        (True, False, LEAST, "int8"),
        (True, False, LEAST - 1, "fp32"),
        (False, False, LEAST, "fp32"),
        (True, True, LEAST, "bf16"),
    ],
)
def test_auto_is_int8_where_it_pays(
    products: bool, units: bool, width: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "has_byte_products", lambda _device: products)
    monkeypatch.setattr(precision, "has_bf16_units", lambda _device: units)
    assert resolve("auto", CPU, width=width) == expected
    assert resolve("fp32", CPU, width=width) == "fp32"


def test_byte_products_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_vnni_supported", lambda: True, raising=False)
    assert precision.has_byte_products(CPU) == ("x86" in torch.backends.quantized.supported_engines)
    assert not precision.has_byte_products(torch.device("cuda"))


def test_units_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for tiles in (True, False):
        monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda tiles=tiles: tiles)
        assert has_bf16_units(CPU) == tiles
    for capability, expected in (((7, 5), False), ((8, 0), True), ((9, 0), True)):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device, c=capability: c)
        assert has_bf16_units(torch.device("cuda")) == expected


def test_a_gpu_without_units_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (7, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _device: "V100")
    with pytest.raises(MalapropError, match=r"V100.*--precision fp32"):
        dtype_for("bf16", "cuda")
    assert dtype_for("auto", "cuda") == torch.float32


def test_full_precision_is_given_back() -> None:
    places: list[Any] = [torch.backends.cudnn.conv, torch.backends.cudnn.rnn, torch.backends.cuda.matmul]
    before = [place.fp32_precision for place in places]
    with full_precision("cuda"):
        assert {place.fp32_precision for place in places} == {"ieee"}
    assert [place.fp32_precision for place in places] == before
    with full_precision("cpu"):
        assert [place.fp32_precision for place in places] == before


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier of transformers with a tokenizer of whole words."""
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("bert")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *(a + b for a in "abcde" for b in "abcde")]
    own = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, "[UNK]"))
    own.pre_tokenizer = pre_tokenizers.Whitespace()
    own.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    named = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=own, **named).save_pretrained(path)
    config = transformers.BertConfig(
        vocab_size=max(len(words), VOCABULARY), hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=24, max_position_embeddings=64, num_labels=3, initializer_range=0.3,
    )  # fmt: skip
    transformers.BertForSequenceClassification(config).save_pretrained(path)
    return path


def test_a_victim_says_how_far_its_fast_road_may_be_off(folder: Path) -> None:
    full, half = (load_transformers(folder, precision=p) for p in ("fp32", "bf16"))
    assert (full.rounding, half.rounding) == (0.0, ROUNDING["bf16"])
    assert half.fingerprint == f"{full.fingerprint}-bf16", "outcomes of one must not go on with those of the other"
    texts = [("aa bb",), ("cc dd ee, aa",)]
    assert np.array_equal(full.predict(texts), half.predict(texts)), "the plain road is fp32 in both"


def test_a_folder_is_loaded_in_the_precision_asked_for(folder: Path) -> None:
    assert getattr(load(folder, precision="bf16"), "rounding", None) == ROUNDING["bf16"]
    assert getattr(load(f"ensemble:{folder}+{folder}", precision="bf16"), "rounding", None) == ROUNDING["bf16"]
    assert getattr(load(folder), "rounding", None) == 0.0


def test_attacks_in_fewer_bits_end_with_confirmed_successes(folder: Path) -> None:
    from malaprop.attacks.attack import Attack
    from malaprop.attacks.candidates.lookup import Listed
    from malaprop.attacks.search.greedy import Greedy
    from malaprop.core.example import Example
    from malaprop.frame.runs.local import run

    words = [a + b for a in "abcde" for b in "abcde"]
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(words, 9)) for _ in range(24)]
    full, half = (load(folder, precision=p) for p in ("fp32", "bf16"))
    labels = full.predict([(text,) for text in texts]).argmax(1).tolist()
    examples = [Example(str(i), {"text": t}, y) for i, (t, y) in enumerate(zip(texts, labels, strict=True))]
    attack = Attack(name="toy", candidates=Listed(table={w: tuple(words) for w in words}), search=Greedy())
    wide, narrow = ({o.id: o for o in run(attack, half, examples, width=w)} for w in (1, 24))
    assert {o.status for o in wide.values()} <= {"success", "failed"}
    assert any(o.status == "success" for o in wide.values())
    for key, outcome in wide.items():
        other = narrow[key]
        assert (outcome.status, outcome.queries) == (other.status, other.queries)
        assert outcome.adversarial is not None
        assert other.adversarial is not None
        assert outcome.adversarial.fields == other.adversarial.fields, "the same at any width, in fewer bits too"
        now = int(full.predict([(outcome.adversarial.text,)]).argmax())
        assert (now != outcome.label) == (outcome.status == "success")


def test_a_wrong_name_is_refused_for_every_victim() -> None:
    from malaprop.frame.runs.victims import victim

    with pytest.raises(MalapropError, match="half"):
        victim(lambda texts: np.zeros((len(texts), 2)), precision="half")


def test_auto_takes_int8_unless_it_is_far_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What bytes do to this very model is seen at load, whatever the machine could do."""
    monkeypatch.setattr(precision, "has_bf16_units", lambda _device: False)
    monkeypatch.setattr(precision, "has_byte_products", lambda _device: can_quantise())
    monkeypatch.setattr(precision, "LEAST", 16)
    taken = load_transformers(folder, precision="auto")
    assert taken.precision == ("int8" if can_quantise() else "fp32")
    monkeypatch.setattr(roads, "ROUNDING", {"int8": 0.0})
    assert load_transformers(folder, precision="auto").precision == "fp32"
