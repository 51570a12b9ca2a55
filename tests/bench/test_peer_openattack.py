import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from malaprop_bench import peer_openattack
from malaprop_bench.metered import Meter, attack_all
from malaprop_bench.openattack_recipes import Given, build_recipe


class Toy:
    """Gives up its label where a text holds `fine`."""

    model = SimpleNamespace(unknown="unk")

    def __call__(self, texts):
        bad = torch.tensor([0.9 if "fine" in text else 0.2 for text in texts])
        return torch.stack([bad, 1 - bad], 1)


@pytest.fixture
def library(monkeypatch):
    """A stand-in for OpenAttack: as much of it as the script touches."""
    made = {}

    class Goal:
        def __init__(self, target, targeted):
            self.target, self.targeted = target, targeted

    class Attacker:
        def __init__(self, **settings):
            made.update(settings)
            self.tokenizer = SimpleNamespace(
                tokenize=lambda text, pos_tagging: text.split(), detokenize=lambda words: " ".join(words)
            )

        def attack(self, victim, text, goal):
            changed = text.replace("good", "fine")
            return changed if victim.get_pred([changed])[0] != goal.target else None

    def module(name, **names):
        found = ModuleType(name)
        found.__path__ = []
        found.__dict__.update(names)
        monkeypatch.setitem(sys.modules, name, found)
        return found

    kinds = ("PWWSAttacker", "TextFoolerAttacker", "GeneticAttacker")
    attackers = module("OpenAttack.attackers", **dict.fromkeys(kinds, Attacker))
    attackers.textfooler = module("OpenAttack.attackers.textfooler", UniversalSentenceEncoder=None)
    drawn = SimpleNamespace(WordNetSubstitute=lambda: "wordnet", CounterFittedSubstitute=lambda **given: given)
    substitute = module("OpenAttack.attack_assist.substitute", word=drawn)
    embedding = lambda index, table: (index, table)  # noqa: E731
    assist = module("OpenAttack.attack_assist", substitute=substitute, WordEmbedding=embedding)
    module("OpenAttack.attack_assist.goal", ClassifierGoal=Goal)
    module("OpenAttack.tags", TAG_English="english", TAG_Chinese="chinese")
    module("OpenAttack", attackers=attackers, attack_assist=assist, Classifier=object)
    return made


def run(recipe, rows):
    meter = Meter(Toy())
    attacker = build_recipe(recipe, Given(unknown=meter.model.unknown, stop_words=["the"]))
    attack = peer_openattack.attacking(attacker, peer_openattack.classifier(meter), meter)
    return attack_all(attack, meter, rows, 60)


def test_what_reached_the_victim_is_counted_for_each_text(library):
    held = run("pwws", [("A good film", 1), ("a film", 1)])
    assert held["outcomes"] == [
        {"status": "success", "text": "A fine film", "queries": 1, "start": "a good film"},
        {"status": "failed", "text": "a film", "queries": 1, "start": "a film"},
    ]
    assert held["forwarded"] == 2


def test_thresholds_are_those_of_the_other_sides(library):
    run("pwws", [("a", 1)])
    assert library == {"substitute": "wordnet", "token_unk": "unk", "filter_words": ["the"]}
    run("textfooler", [("a", 1)])
    assert library["substitute"] == {"cosine": True, "k": 51, "threshold": 0.5}
    assert sys.modules["OpenAttack.attackers.textfooler"].UniversalSentenceEncoder().calc_score("a", "b") == 1
    run("genetic", [("a", 1)])
    assert library["substitute"] == {"cosine": True, "k": 9, "threshold": 0.25}
    assert (library["pop_size"], library["max_iters"]) == (60, 20)


def test_vectors_are_read_without_a_pickle(library, tmp_path):
    (tmp_path / "words.txt").write_text("film\nmovie\n")
    np.save(tmp_path / "paragram.npy", np.eye(2, dtype=np.float32))
    index, table = peer_openattack.embedding(tmp_path)
    assert index == {"film": 0, "movie": 1}
    assert table.tolist() == [[1, 0], [0, 1]]
