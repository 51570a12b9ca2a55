from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from malaprop_bench import shapes

from malaprop.core.errors import SettingError
from malaprop.core.example import Example
from malaprop.frame.runs.load_victim import load
from malaprop.training.splits import Splits

GOOD, BAD = "a good warm film with a fine cast", "a bad cold film with a dull cast"


@pytest.fixture
def data():
    rows = [Example(str(i), {"text": f"{(BAD, GOOD)[i % 2]} {i}"}, i % 2) for i in range(40)]
    return Splits("toy", rows, rows[:4], rows[4:8], ("bad", "good"), "f", True)


TINY = {
    "num_hidden_layers": 2, "hidden_size": 24, "num_attention_heads": 2, "intermediate_size": 32, "embedding_size": 24,
    "num_key_value_heads": 1, "n_layers": 2, "dim": 24, "n_heads": 2, "hidden_dim": 32,
}  # fmt: skip


@pytest.fixture
def small(monkeypatch):
    def shrunk(shape):
        settings = {key: TINY.get(key, value) for key, value in shape.settings.items()}
        return shape if shape.zoo else replace(shape, settings=settings, limit=32, rate=2e-3)

    monkeypatch.setattr(shapes, "SHAPES", {name: shrunk(shape) for name, shape in shapes.SHAPES.items()})


@pytest.mark.parametrize("name", [name for name in shapes.TRANSFORMERS if name != "minilm"])
def test_every_architecture_that_is_timed(name, data, small, tmp_path):
    from malaprop_bench.lowered import lowered

    victim = load(shapes.make(f"shape:{name}", data, tmp_path / "made"), precision="bf16")
    assert victim.precision == "bf16"
    assert np.isfinite(victim.predict([(GOOD,), (BAD,)])).all()
    assert lowered(victim) is not None


def test_all_transformers_by_one_name():
    from malaprop_bench.throughput import named

    assert named("shape:cnn, LSTM-W-GloVe-1") == ["shape:cnn", "LSTM-W-GloVe-1"]
    assert {"shape:qwen2-0.5b", "shape:bert-base"} < set(named("shape:transformers"))
    assert "shape:cnn" not in named("shape:transformers")
    assert {"shape:cnn", "shape:bert-base"} < set(named("shape:all"))


@pytest.mark.parametrize("name", ["cnn", "lstm", "bilstm", "minilm"])
def test_a_shape_becomes_a_folder_that_victim_takes(name, data, small, tmp_path):
    victim = load(shapes.make(f"shape:{name}", data, tmp_path / "made"))
    scores = victim.predict([(GOOD,), (BAD,), ("",)])
    assert scores.shape == (3, 2)
    assert np.isfinite(scores).all()
    assert victim.scorer is not None  # it goes the fast path


@pytest.mark.parametrize("name", ["cnn", "minilm"])
def test_a_moment_of_training_is_enough_for_two_sentences(name, data, small, tmp_path, monkeypatch):
    monkeypatch.setattr(shapes, "perf_counter", count().__next__)  # a step takes a second
    victim = load(shapes.make(f"shape:{name}", data, tmp_path / "made", seconds=60))
    assert victim.predict([(GOOD,), (BAD,)]).argmax(1).tolist() == [1, 0]


def test_the_same_seed_draws_the_same_weights(data, tmp_path):
    one, two, other = (
        load(shapes.draw("CNN-W-Random-1", data, tmp_path / str(n), seed)).predict([(GOOD,)])
        for n, seed in enumerate((0, 0, 1))
    )
    assert (one == two).all()
    assert (one != other).any()


def test_a_wrong_shape_is_refused(data, tmp_path):
    assert shapes.is_shape("shape:cnn")
    assert not shapes.is_shape("CNN-W-GloVe-1")
    with pytest.raises(SettingError, match="did you mean minilm"):
        shapes.make("shape:minilmm", data, tmp_path / "made")
