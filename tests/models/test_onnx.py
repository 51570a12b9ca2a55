"""ONNX files as victims, and every way in which one cannot be."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import malaprop as mp
from malaprop.core.errors import MalapropError
from tests.models.tiny_onnx import WEIGHTS, WORDS, write_config, write_onnx, write_tokenizer

pytest.importorskip("onnxruntime")
TEXTS = [("a good film .",), ("bad",), ("a dull film , a bad film , no good",)]


def expected(texts=TEXTS):
    """The same bag of words, by hand."""
    rows = []
    for fields in texts:
        words = " ".join(fields).replace(",", " ,").split()
        logits = sum((WEIGHTS[WORDS.index(word)] for word in words if word in WORDS), np.zeros(2))
        rows.append(np.exp(logits) / np.exp(logits).sum())
    return np.asarray(rows)


@pytest.fixture
def folder(tmp_path):
    return write_tokenizer(tmp_path)


def test_scores_names_and_limit(folder):
    write_config(folder, max_position_embeddings=40)
    victim = mp.victim(str(write_onnx(folder / "bag.onnx")), device="cpu")
    np.testing.assert_allclose(victim.predict(TEXTS), expected(), atol=1e-6)
    assert (victim.name, victim.labels, victim.limit) == ("bag", 2, 40)
    assert victim.label_names == ("negative", "positive")
    assert victim.fingerprint


def test_a_folder_and_a_pair(folder):
    write_onnx(folder / "model.onnx")
    victim = mp.victim(str(folder), device="cpu")
    pair = [("a good film", "a bad film"), ("fine", "no")]
    np.testing.assert_allclose(victim.predict(pair), expected(pair), atol=1e-6)


@pytest.mark.parametrize(
    "made",
    [
        {"kind": "probabilities", "output": "probs"},
        {"inputs": {"input_ids": ("batch", "length")}},
        {"inputs": {"input_ids": ("batch", 24), "attention_mask": ("batch", 24)}},
        {"inputs": {"input_ids": (1, "length"), "attention_mask": (1, "length")}},
        {"inputs": {"input_ids": (2, 24), "attention_mask": (2, 24)}},
        {"output": "something"},
        {"inputs": {"onnx::Gather_0": ("batch", "length")}},
        {"mask": 1},
        {"mask": 9},
    ],
    ids=[
        "probabilities",
        "no mask",
        "fixed length",
        "one row",
        "two rows",
        "odd name",
        "odd input",
        "float mask",
        "bool mask",
    ],
)
def test_other_shapes_give_the_same_scores(folder, made):
    victim = mp.victim(str(write_onnx(folder / "bag.onnx", **made)), device="cpu")
    np.testing.assert_allclose(victim.predict(TEXTS), expected(), atol=1e-6)


def test_a_text_is_asked_alone_where_its_neighbours_change_the_answer(folder):
    victim = mp.victim(str(write_onnx(folder / "bag.onnx", kind="leaky")), device="cpu")
    together = victim.predict(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        np.testing.assert_array_equal(victim.predict([text])[0], row)


def test_attacked_at_any_width(folder):
    victim = mp.victim(str(write_onnx(folder / "bag.onnx", kind="leaky")), device="cpu")
    examples = [("a good film , fine , bad", 1), ("bad film , good", 0), ("dull , fine .", 0)]
    alone, together = (mp.attack("deepwordbug", victim, examples, width=width, seed=1) for width in (1, 64))
    assert [o.status for o in alone] == ["success"] * 3
    assert [o.adversarial.fields for o in alone] == [o.adversarial.fields for o in together]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ({"inputs": {"input_ids": ("b", "s"), "pixels": ("b", "s")}}, "'pixels'.*not known"),
        ({"inputs": {"input_ids": (1, 8)}}, "exactly 8 tokens and takes no attention_mask"),
        ({"inputs": {"input_ids": ("b", 3, "s")}}, r"'input_ids' \(tensor\(int64\), \? x 3 x \?\) that is not known"),
        ({"kind": "stuck"}, "export it again with dynamic axes"),
        ({"kind": "tokens"}, r"gives logits \(tensor\(float\), \? x \? x 2\); expected one output .*sequence class"),
        ({"kind": "outside"}, "weights in another file, weights.data, which is not beside it"),
    ],
    ids=["unknown input", "fixed without mask", "three sizes", "stuck shape", "a tagger", "external data"],
)
def test_files_that_cannot_be_used(folder, made, said):
    write_onnx(folder / "bag.onnx", **made)
    with pytest.raises(MalapropError, match=said) as told:
        mp.victim(str(folder / "bag.onnx"), device="cpu")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("stated", [None, 30], ids=["unstated", "stated too long"])
def test_the_longest_text_is_that_which_the_model_can_read(folder, stated):
    """Without config.json nothing says how long a text may be, and the runtime fails at longer ones."""
    if stated:
        write_config(folder, max_position_embeddings=stated)
    victim = mp.victim(str(write_onnx(folder / "bag.onnx", places=17)), device="cpu")
    assert victim.limit == 17
    long, cut = ("good " * 40,), ("good " * 15,)  # and two special tokens
    np.testing.assert_allclose(victim.predict([long, ("bad",)]), expected([cut, ("bad",)]), atol=1e-6)
    unlimited = mp.victim(str(write_onnx(folder / "other.onnx")), device="cpu")
    assert unlimited.limit == (stated or 4096)


def test_attacked_without_a_config(folder):
    victim = mp.victim(str(write_onnx(folder / "bag.onnx", places=9)), device="cpu")
    found = mp.attack("deepwordbug", victim, [("a good film , " * 6 + "bad", 1), ("bad film , good", 0)])
    assert {one.status for one in found} <= {"success", "failed", "skipped"}


@pytest.mark.parametrize(
    "said", [{"id2label": '{"0": "no", "1": "yes"}'}, {"classes": '["no", "yes"]'}, {"labels": "no, yes"}]
)
def test_names_of_labels_in_the_metadata(folder, said):
    path = write_onnx(folder / "bag.onnx", metadata={"producer": "x", **said})
    assert mp.victim(str(path), device="cpu").label_names == ("no", "yes")
    write_config(folder)
    assert mp.victim(str(path), device="cpu").label_names == ("negative", "positive")


def test_metadata_that_name_other_labels_or_none(folder):
    with pytest.raises(MalapropError, match="2 scores and its metadata name 3 labels"):
        mp.victim(str(write_onnx(folder / "bag.onnx", metadata={"labels": "a, b, c"})), device="cpu")
    for value in ("", "[1", "nothing", "3", '{"0": "LABEL_0", "1": "LABEL_1"}'):
        path = write_onnx(folder / "bag.onnx", metadata={"labels": value})
        assert mp.victim(str(path), device="cpu").label_names == ()


def test_no_tokenizer_no_file_no_model_wrong_names_other_precision(tmp_path):
    path = write_onnx(tmp_path / "bag.onnx")
    with pytest.raises(MalapropError, match=r"no tokenizer\.json beside it"):
        mp.victim(str(path), device="cpu")
    with pytest.raises(MalapropError, match="no such file"):
        mp.victim(str(tmp_path / "none.onnx"), device="cpu")
    write_tokenizer(tmp_path)
    (tmp_path / "torn.onnx").write_bytes(path.read_bytes()[:100])
    with pytest.raises(MalapropError, match="cannot be read as an ONNX model"):
        mp.victim(str(tmp_path / "torn.onnx"), device="cpu")
    with pytest.raises(MalapropError, match="leave out --precision bf16"):
        mp.victim(str(path), device="cpu", precision="bf16")
    write_config(tmp_path, id2label={"0": "a", "1": "b", "2": "c"})
    with pytest.raises(MalapropError, match=r"2 scores and its config\.json names 3 labels"):
        mp.victim(str(path), device="cpu")


def test_the_extra_is_named_where_onnxruntime_is_missing(folder, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name == "onnxruntime":
            raise ImportError(name)
        return real(name, *rest, **more)

    path = write_onnx(folder / "bag.onnx")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MalapropError, match=r"install malaprop\[onnx\]"):
        mp.victim(str(path), device="cpu")


def test_the_file_travels_with_its_tokenizer(folder):
    from malaprop.frame.tasks.workers import ray_session as parcel

    write_config(folder)
    packed = parcel.pack(write_onnx(folder / "bag.onnx"))
    with parcel.unpack(packed) as place:
        assert mp.victim(place, device="cpu").label_names == ("negative", "positive")
