import json
import time

import numpy as np
import pytest
import torch
from malaprop_bench.metered import WARM, Meter, arguments, attack_all, read_rows, read_words, settle, write


class Toy:
    model = None

    def __call__(self, texts):
        return np.tile([[0.2, 0.8]], (len(texts), 1))


def asking(meter, done, *, slow=0.0):
    """Asks each text twice, and a changed one."""

    def attack(text, label):
        end = time.process_time() + slow
        while time.process_time() < end:
            pass
        meter([text, text + "!"])
        meter([text])
        done.append((text, label))
        return {"status": "success", "text": text + "!", "queries": 3}

    return attack


def test_the_warm_up_is_outside_the_numbers():
    meter, done = Meter(Toy()), []
    held = attack_all(asking(meter, done), meter, [("a", 0), ("b", 1)], seconds=60)
    assert done[0] == (WARM["en"], 1)  # the label that the victim gives
    assert held["texts"] == ["a", "a!", "b", "b!"]
    assert held["forwarded"] == 6
    assert held["outcomes"] == [{"status": "success", "text": t, "queries": 3} for t in ("a!", "b!")]
    assert 0 <= held["model_s"] <= held["wall_s"]
    assert held["processor_s"] > 0


def test_no_example_is_begun_after_the_time():
    meter = Meter(Toy())
    held = attack_all(asking(meter, [], slow=0.05), meter, [("a", 0)] * 50, seconds=0.08)
    assert len(held["outcomes"]) == 2


def test_a_text_that_breaks_the_peer_does_not_cost_the_others(capsys):
    meter = Meter(Toy())
    plain = asking(meter, [])
    attack = lambda text, label: plain(text, label) if text != "b" else next(iter([]))  # noqa: E731
    held = attack_all(attack, meter, [("a", 0), ("b", 1), ("c", 0)], seconds=60)
    assert [o["status"] for o in held["outcomes"]] == ["success", "error", "success"]
    assert "StopIteration" in capsys.readouterr().err


def test_the_same_seed_draws_the_same():
    before = torch.get_num_threads()
    try:
        draws = []
        for _ in range(2):
            settle(1, 7)
            draws.append((np.random.rand(), float(torch.rand(1))))
        assert draws[0] == draws[1]
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_what_goes_in_and_out(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "a", "label": 1}\n')
    (tmp_path / "stop.txt").write_text("the\na\n")
    given = arguments(["v", str(rows), "pwws", str(tmp_path / "out"), "--threads", "3"], "about", ("pwws",))
    assert (given.threads, given.stock, given.vectors) == (3, False, None)
    assert read_rows(given.rows) == [("a", 1)]
    assert read_words(tmp_path / "stop.txt") == ["the", "a"]
    assert read_words(None) is None
    write(given.out, "tool 1", {"wall_s": 2})
    assert json.loads(given.out.read_text()) == {"tool": "tool 1", "threads": torch.get_num_threads(), "wall_s": 2}


def test_a_recipe_that_the_peer_lacks_is_refused(capsys):
    with pytest.raises(SystemExit):
        arguments(["v", "r", "no-recipe", "o"], "about", ("pwws", "genetic"))
    assert "genetic" in capsys.readouterr().err
