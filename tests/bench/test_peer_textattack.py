from types import SimpleNamespace

import numpy as np
import pytest

from malaprop.bench.metered import Meter, attack_all
from malaprop.bench.peer_textattack import attacking, main, outcome


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
