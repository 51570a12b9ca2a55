"""The golden records of tools/golden.py leave out what differs between two runs of one code."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "tools" / "golden.py"


@pytest.fixture(scope="module")
def golden():
    spec = importlib.util.spec_from_file_location("golden", TOOL)
    sys.modules["golden"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["golden"]


def store(root, name, value):
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(json.dumps(value))


@pytest.mark.parametrize(
    ("name", "old", "new", "faults"),
    [
        ("audit/files/audit/study.toml.json", {"n": 3, "content": {"victim: a": "1"}}, {"n": 3}, 0),
        ("audit/files/audit/study.toml.json", {"n": 3, "content": {}}, {"n": 4, "content": {}}, 1),
        ("humans-score/json.json", {"study": "b6e0", "items": 2}, {"study": "70a7", "items": 2}, 0),
        ("ensemble/files/ensemble.toml.json", {"study": "one"}, {"study": "two"}, 1),
        ("rules-mine/files/mined/shards/000000.npz.json", "078e", "2894", 0),
        ("train-lstm/files/lstm/model.safetensors.json", "078e", "2894", 1),
    ],
)
def test_compare_skips_only_what_differs_between_two_runs(golden, tmp_path, capsys, name, old, new, faults):
    store(tmp_path, f"one/{name}", old)
    store(tmp_path, f"two/{name}", new)
    assert golden.compare(tmp_path / "one", tmp_path / "two") == bool(faults)
    assert f"{faults} files changed or gone" in capsys.readouterr().out


def test_records_are_written_without_marks_and_shards(golden, tmp_path):
    golden.write(tmp_path, Path("audit/files/audit/study.toml.json"), {"n": 3, "content": {"victim: a": "1"}})
    golden.write(tmp_path, Path("rules-mine/files/mined/shards/000000.npz.json"), "078e")
    (path,) = (path for path in tmp_path.rglob("*") if path.is_file())
    assert json.loads(path.read_text()) == {"n": 3}
