import numpy as np
import pytest
from malaprop_bench import own
from malaprop_bench.bout import peers_name
from malaprop_bench.child import BenchError
from malaprop_bench.roster import ROSTER

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import Listed
from malaprop.attacks.recipes import RECIPES as LIBRARY
from malaprop.attacks.search.greedy import Greedy
from malaprop.core.ask import Ask
from malaprop.models.victims.strings import StringVictim


def predict(texts):
    bad = np.asarray([0.9 if "fine" in text.split() else 0.2 for text in texts], np.float32)
    return np.stack([bad, 1 - bad], 1)


def toy():
    return Attack(name="toy", candidates=Listed(table={"good": ("fine", "nice")}), search=Greedy())


def test_outcomes_come_in_the_order_of_the_rows():
    rows = [("a nice film", 1), ("a good good film", 1), ("a good film", 1), ("a fine film", 1)]
    held = own.attack_all(toy(), StringVictim(call=predict, name="toy"), rows, seed=0, width=2)
    assert [o.status for o in held.outcomes] == ["failed", "success", "success", "skipped"]
    assert held.outcomes[2].text == "a fine film"
    assert held.outcomes[3].text == "a fine film"  # what it was
    assert held.asked >= held.unique > 0
    assert held.forwarded > 0
    assert held.wall_s >= held.model_s + held.lookup_s
    assert held.lookup_s > 0


def test_a_search_that_makes_its_own_words_is_left_as_it_is():
    attack = LIBRARY["viper"]()
    held = own.attack_all(attack, StringVictim(call=predict, name="toy"), [("a good film", 1)], seed=0, width=2)
    assert held.asked > 1


def test_timed_candidates_pass_questions_and_answers_on():
    class Asking:
        def words(self, trial, slots):
            (tags,) = yield Ask("tags", [slots])
            return [tags]

    watch = own.Watch()
    steps = own.Timed(inner=Asking(), watch=watch).words(None, "slots")
    assert next(steps).items == ["slots"]
    with pytest.raises(StopIteration) as ended:
        steps.send(["NOUN"])
    assert ended.value.value == ["NOUN"]
    assert watch.seconds > 0


def test_a_service_that_looks_words_up_is_timed():
    class Slow:
        def begin(self, asks):
            return asks

        def finish(self, pending):
            return [[ask * 2] for ask in pending]

    watch = own.Watch()
    timed = own.TimedLookup(inner=Slow(), watch=watch)
    assert timed.finish(timed.begin([1, 2])) == [[2], [4]]
    assert watch.seconds > 0


@pytest.mark.parametrize(
    "recipe", ["pwws", "textfooler", "textfooler-untagged", "textfooler-similar", "genetic", "deepwordbug"]
)
def test_recipes_are_the_peers_variants(recipe):
    attack = own.build(recipe)
    assert any(type(c).__name__ == "KeepStopWords" for c in attack.constraints)
    assert any(type(c).__name__ == "SamePart" for c in attack.constraints) == (
        recipe in ("textfooler", "textfooler-similar")
    )
    assert any(c.stage == "text" for c in attack.constraints) == (recipe == "textfooler-similar")  # sentence encoder


@pytest.mark.parametrize("entry", [e for e in ROSTER if e.ours in LIBRARY], ids=lambda e: f"{e.tool} {e.name}")
def test_every_recipe_of_the_peers_has_one_of_ours_beside_it(entry):
    attack = own.build(entry.name + (own.AS_OPENATTACK if entry.tool == "OpenAttack" else ""))
    assert attack.name.partition(":")[0] == entry.recipe or entry.missing
    assert not {type(c).__name__ for c in attack.constraints} & set(entry.without)
    assert set(entry.without) <= {type(c).__name__ for c in LIBRARY[entry.ours](**entry.settings).constraints}


def test_our_defaults_are_the_recipe_as_it_is():
    for recipe in ("pwws", "genetic", "deepwordbug", "textfooler", "bae", "keyboard"):
        assert own.build(f"{recipe}{own.DEFAULTS}") == LIBRARY[recipe]()
    assert peers_name(f"textfooler-similar{own.DEFAULTS}") == "textfooler-similar"


def test_a_victim_that_is_not_there_is_said_in_one_line(tmp_path):
    with pytest.raises(BenchError) as error:
        own.run("no-such-victim-anywhere", [("a", 0)], "pwws", tmp_path, threads=1, seed=0, width=4)
    assert "our pwws on no-such-victim-anywhere ended with" in str(error.value)
    assert "\n" not in str(error.value)
