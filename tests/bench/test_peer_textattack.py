import time
from types import SimpleNamespace

import numpy as np
import pytest

from malaprop.bench.peer_textattack import WARM, Meter, arguments, attack_all, outcome


class Toy:
    model = None

    def __call__(self, texts):
        return np.tile([[0.2, 0.8]], (len(texts), 1))


def result(kind, text, queries):
    made = type(kind, (), {})()
    made.perturbed_result = SimpleNamespace(attacked_text=SimpleNamespace(text=text))
    made.num_queries = queries
    return made


class Attack:
    """Asks each text twice; `slow` seconds an example."""

    def __init__(self, meter, slow=0.0):
        self.meter, self.slow, self.cleared, self.done = meter, slow, 0, []

    def attack(self, text, label):
        time.sleep(self.slow)
        self.meter([text, text + "!"])
        self.meter([text])
        self.done.append((text, label))
        return result("SuccessfulAttackResult", text + "!", 3)

    def clear_cache(self):
        self.cleared += 1


def test_the_warm_up_is_outside_the_numbers():
    meter = Meter(Toy())
    attack = Attack(meter)
    held = attack_all(attack, meter, [("a", 0), ("b", 1)], seconds=60)
    assert attack.done[0] == (WARM, 1)  # the label that the victim gives
    assert attack.cleared == 1
    assert held["texts"] == ["a", "a!", "b", "b!"]
    assert held["forwarded"] == 6
    assert held["outcomes"] == [{"status": "success", "text": t, "queries": 3} for t in ("a!", "b!")]
    assert 0 <= held["model_s"] <= held["wall_s"]


def test_no_example_is_begun_after_the_time():
    meter = Meter(Toy())
    held = attack_all(Attack(meter, slow=0.05), meter, [("a", 0)] * 50, seconds=0.08)
    assert len(held["outcomes"]) == 2


def test_a_text_that_breaks_the_peer_does_not_cost_the_others(capsys):
    meter = Meter(Toy())
    attack = Attack(meter)
    plain = attack.attack
    attack.attack = lambda text, label: plain(text, label) if text != "b" else next(iter([]))
    held = attack_all(attack, meter, [("a", 0), ("b", 1), ("c", 0)], seconds=60)
    assert [o["status"] for o in held["outcomes"]] == ["success", "error", "success"]
    assert "StopIteration" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "status"),
    [("SuccessfulAttackResult", "success"), ("FailedAttackResult", "failed"), ("SkippedAttackResult", "skipped")],
)
def test_statuses_are_ours(kind, status):
    assert outcome(result(kind, "x", 7)) == {"status": status, "text": "x", "queries": 7}


def test_an_unknown_recipe_is_refused(capsys):
    with pytest.raises(SystemExit):
        arguments(["v", "r", "no-recipe", "o"])
    assert "pwws" in capsys.readouterr().err
