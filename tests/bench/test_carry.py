"""A folder cut in pieces and joined: the same files, weights in half precision."""

from __future__ import annotations

import numpy as np
import pytest
from malaprop_bench import carry
from safetensors.numpy import load_file, save_file

from malaprop.core.errors import SettingError


def test_cut_and_joined(tmp_path, capsys):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    weights = {"a": np.linspace(-1, 1, 3000, dtype=np.float32), "n": np.arange(4)}
    save_file(weights, folder / "model.safetensors")
    pieces = carry.cut(folder, tmp_path / "pieces", size=1000)
    assert max(piece.stat().st_size for piece in pieces) == 1000
    assert carry.main(["join", str(tmp_path / "pieces"), str(tmp_path / "back")]) == 0
    back = load_file(tmp_path / "back" / "model.safetensors")
    np.testing.assert_array_equal(back["a"], weights["a"].astype(np.float16))
    np.testing.assert_array_equal(back["n"], weights["n"])
    pieces[2].unlink()
    with pytest.raises(SettingError, match="do not make the file"):
        carry.join(tmp_path / "pieces", tmp_path / "again")
    assert carry.main(["cut", str(tmp_path / "pieces"), str(tmp_path / "x")]) == 2
    assert "no config.json" in capsys.readouterr().err
