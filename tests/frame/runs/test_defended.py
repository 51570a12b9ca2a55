"""Defences at the time of asking: votes by hand, draws that no batch changes, counters, and attacks on them."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint

import numpy as np
import pytest
import toy
from hypothesis import given
from hypothesis import strategies as st
from small_victims import bert, words

import malaprop as mp
from malaprop.core.errors import CapabilityError, SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.features.defending.lost_words import RanMask
from malaprop.features.defending.purify import Purify
from malaprop.features.defending.smooth import poll
from malaprop.frame.runs.defended import Counters, Defended
from malaprop.frame.runs.victims import WRAPPERS, behind
from malaprop.frame.runs.victims import victim as open_victim
from malaprop.frame.runs.wrap import defend_by_spec, method, parse, read_defence_file
from malaprop.papers.firebert.switch import Switch
from malaprop.papers.firebert.votes import Five, Fuse

SMALL = Switch(words=2, alternatives=5, multiplier=1, similarity="off")
TEXTS = [("the good film .",), ("bad awful film",), ("fine",), ("the",), ("great good bad film .",)]


@pytest.fixture(autouse=True)
def _small(tiny_assets, monkeypatch):
    monkeypatch.setattr("malaprop.frame.runs.services.tags", toy.tags)


def by_pool(victim, texts):
    """What the fast path answers."""
    table = Words()
    pool = Pool([Variants.itself(Text.of(t[0], table, i)) for i, t in enumerate(texts)])
    return victim.finish(victim.begin(pool, np.arange(pool.size)))


def test_votes_by_hand():
    scores = np.asarray([[0.9, 0.1], [0.4, 0.6], [0.4, 0.6], [0.2, 0.8]], np.float32)
    of = np.asarray([0, 0, 0, 1])
    assert poll(scores, of, 2, "majority") == pytest.approx(np.asarray([[1 / 3, 2 / 3], [0, 1]]))
    assert poll(scores, of, 2, "probabilities") == pytest.approx(np.asarray([[1.7 / 3, 1.3 / 3], [0.2, 0.8]]))
    odds = (np.log(9) + 2 * np.log(2 / 3)) / 3
    assert poll(scores, of, 2, "logits")[0, 0] == pytest.approx(1 / (1 + np.exp(-odds)))


@pytest.mark.parametrize("vote", ["majority", "logits", "probabilities"])
def test_fuse_is_the_vote_of_switchs_alternatives(vote):
    victim = toy.victim()
    made = Defended(victim=victim, method=Fuse(switch=SMALL, vote=vote), seed=2)
    text = ("the good film is great",)
    (others,) = SMALL.alternatives_of([text], victim, seed=2)
    expected = poll(victim.predict(others), np.zeros(5, np.int64), 1, vote)
    assert made.predict([text]) == pytest.approx(expected, abs=1e-6)
    assert by_pool(made, [text]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("vote", ["majority", "logits", "probabilities"])
def test_the_text_itself_votes_where_that_is_asked_for(vote):
    victim, text = toy.victim(), ("the good film is great",)
    (others,) = SMALL.alternatives_of([text], victim, seed=2)
    expected = poll(victim.predict([*others, text]), np.zeros(6, np.int64), 1, vote)
    made = Defended(victim=victim, method=Fuse(switch=SMALL, vote=vote, own=True), seed=2)
    assert made.predict([text]) == pytest.approx(expected, abs=1e-6)
    assert by_pool(made, [text]) == pytest.approx(expected, abs=1e-6)
    alone, voted = (
        Defended(victim=words(), method=Five(noise=3.0, samples=3, vote="probabilities", own=own), seed=2).predict(
            [text]
        )
        for own in (False, True)
    )
    assert voted == pytest.approx((3 * alone + words().predict([text])) / 4, abs=1e-6)


def test_a_text_that_cannot_be_perturbed_is_answered_plainly_and_counted():
    for victim, how in ((toy.victim(), Fuse(switch=SMALL)), (words(), Five(noise=1.0))):
        made = Defended(victim=victim, method=how)
        plain = victim.predict([("the",), ("",)])
        assert made.predict([("the",), ("",)]) == pytest.approx(plain, abs=1e-6)
        assert made.counters.fallbacks == 2
        assert made.predict(TEXTS).shape == (5, 2)
        assert made.counters.fallbacks == 3
        assert made.counters.texts == 7
        assert "had no word to perturb" in made.notes[-1]


def test_inner_passes_are_counted():
    made = Defended(victim=words(), method=Five(samples=6))
    made.predict([("good film",), ("the",)])
    assert made.counters == Counters(texts=2, inner=2 + 6, fallbacks=1)
    left_out = Defended(victim=toy.victim(), method=Fuse(switch=SMALL))
    left_out.predict([("fine movie",)])
    assert left_out.counters.inner == 1 + 2 + 1  # itself, each left out, and one other wording five times
    assert "leaving each one out" in left_out.notes[0]


@pytest.mark.parametrize("make", [words, bert])
def test_without_noise_five_is_the_victim(make):
    victim = make()
    made = Defended(victim=victim, method=Five(noise=0, samples=3, words=2))
    assert made.predict(TEXTS) == pytest.approx(victim.predict(TEXTS), abs=1e-5)


@pytest.mark.parametrize("make", [words, bert])
@pytest.mark.parametrize("kind", ["five:noise=1:samples=4:words=2", "fuse:samples=4"])
def test_no_batch_and_no_road_changes_an_answer(make, kind):
    made = defend_by_spec(kind, make())
    together = made.predict(TEXTS)
    assert np.concatenate([made.predict([text]) for text in TEXTS]) == pytest.approx(together, abs=1e-5)
    assert made.predict(TEXTS[::-1])[::-1] == pytest.approx(together, abs=1e-5)
    assert by_pool(made, TEXTS) == pytest.approx(together, abs=1e-5)
    assert made.at(5).predict(TEXTS) != pytest.approx(together, abs=1e-4)


def test_pairs_are_perturbed_in_the_last_field_and_read_alike_by_both_roads():
    victim = bert()
    pairs = [("the good film .", "bad film"), ("awful", "the great good film"), ("good", "the")]
    plain = victim.predict(pairs)
    assert defend_by_spec("five:noise=0:samples=2", victim).predict(pairs) == pytest.approx(plain, abs=1e-5)
    for spec in ("five:noise=1:samples=3:words=2", "fuse:samples=3"):
        made = defend_by_spec(spec, victim)
        table = Words()
        fields = [{"premise": one, "hypothesis": two} for one, two in pairs]
        pool = Pool([Variants.itself(Text.of(f, table, i)) for i, f in enumerate(fields)])
        assert made.finish(made.begin(pool, np.arange(3))) == pytest.approx(made.predict(pairs), abs=1e-5)
        assert made.counters.fallbacks == 2  # the last pair, twice


@pytest.mark.parametrize("spec", ["five", "fuse"])
def test_a_model_of_pairs_is_not_asked_about_single_texts(spec):
    with pytest.raises(VictimError, match="reads a premise and a hypothesis; give data with both"):
        defend_by_spec(spec, replace(words(), pairs=True)).predict(TEXTS)


def test_what_does_not_fit_in_memory_is_said(monkeypatch):
    import torch

    def full(*_):
        raise torch.OutOfMemoryError("no room")

    monkeypatch.setattr("malaprop.papers.firebert.votes.gaussian", full)
    with pytest.raises(VictimError, match="take fewer samples"):
        defend_by_spec("five", words()).predict([("good",)])


def test_noise_is_on_all_chosen_words_at_once(monkeypatch):
    victim = bert()
    seen = []
    inner = type(victim.scorer).shifted

    def spy(self, ids, lengths, at, by):
        seen.append([(r, p) for r, p in zip(*(x.tolist() for x in at), strict=True)])
        return inner(self, ids, lengths, at, by)

    monkeypatch.setattr(type(victim.scorer), "shifted", spy)
    made = Defended(victim=victim, method=Five(words=2, samples=2, noise=1.0))
    by_pool(made, [("the great film .",)])
    assert seen == [[(row, place) for row in range(2) for place in (2, 3, 4)]] or seen == [
        [(row, place) for row in range(2) for place in (4, 2, 3)]
    ]  # both pieces of great, and film; the first token is [CLS]


def test_fresh_draws_differ_from_ask_to_ask_and_can_be_had_again():
    how = Five(noise=2.0, samples=4)
    made, again = (Defended(victim=words(), method=how, seed=None) for _ in range(2))
    first, second = made.predict(TEXTS), made.predict(TEXTS)
    assert made.renews
    assert made.fingerprint == ""
    assert np.abs(first - second).max() > 1e-3
    others = np.concatenate([again.predict([text]) for text in reversed(TEXTS)])[::-1]
    assert others == pytest.approx(first, abs=1e-5)
    assert made.draw(1).predict(TEXTS) == pytest.approx(second, abs=1e-5)
    fixed = Defended(victim=words(), method=how)
    assert fixed.predict(TEXTS) == pytest.approx(fixed.predict(TEXTS), abs=0)
    assert fixed.fingerprint != fixed.at(1).fingerprint


def test_several_draws_at_once_are_those_of_each():
    made = Defended(victim=words(), method=Five(noise=2.0, samples=4))
    many = made.draws(TEXTS, [0, 1, 2], exact=True)
    assert many.shape == (3, 5, 2)
    for number in range(3):
        assert many[number] == pytest.approx(made.draw(number).predict(TEXTS), abs=1e-5)


@pytest.mark.parametrize("spec", ["fuse:samples=3", "fuse:samples=3:seed=fresh"])
def test_attacks_on_a_defended_victim_do_not_depend_on_the_width(spec):
    rows = toy.some_examples(12)
    attack = toy.listed()
    alone, together = (
        toy.attack_all(attack, rows, defend_by_spec(spec, toy.victim()), width=width, services=None)
        for width in (1, 16)
    )
    assert [(o.status, o.adversarial and o.adversarial.fields) for o in alone] == [
        (o.status, o.adversarial and o.adversarial.fields) for o in together
    ]
    assert {o.status for o in alone} >= {"success", "skipped"}
    assert "error" not in {o.status for o in alone if o.original.prediction is not None and "film" in str(o.original)}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("five:noise=-1", "0 or more, got -1"),
        ("five:samples=1", "one sample is no vote"),
        ("fuse:samples=1", "one sample is no vote"),
        ("five:samples=100000", "do not fit in memory"),
        ("five:samples=0", "nothing to vote over"),
        ("five:vote=some", "majority, logits or probabilities"),
        ("fuse:wrods=2", "did you mean words"),
        ("five:noize=2", "did you mean noise"),
        ("five:2", "name=value.*mnli, imdb"),
        ("five:seed=often", "whole number or fresh"),
        ("sieve", "no defence is called 'sieve'"),
        ("five(fact)", "no defence is called 'fact'"),
    ],
)
def test_what_cannot_be_typed(spec, said):
    with pytest.raises(SettingError, match=said):
        defend_by_spec(spec, toy.victim())


def test_specs_nest_and_name_what_stands_inside():
    found = parse("five:noise=2(fuse:samples=4:vote=majority(models/mine))")
    assert [layer.name for layer in found.layers] == ["five", "fuse"]
    assert found.inner == "models/mine"
    assert parse("none") == ((), "")
    assert defend_by_spec("none", victim := toy.victim()) is victim
    inside = words()
    made = defend_by_spec("five:imdb:seed=4(mine)", find=lambda name: {"mine": inside}[name])
    assert made.victim is inside
    assert made.method == Five(words=1, noise=2.3, samples=10, vote="probabilities")
    assert made.name == "five:noise=2.3:samples=10:vote=probabilities:seed=4(small)"
    assert method("fuse", {"samples": 3, "words": 1}).switch == Switch(
        words=1, alternatives=3, multiplier=1, similarity="off"
    )


def test_a_victim_behind_a_defence_can_be_typed_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_toy_model.py").write_text("def predict(texts):\n    return [[0.2, 0.8] for _ in texts]\n")
    made = open_victim("fuse:samples=2(own_toy_model:predict)", device="cpu")
    assert isinstance(made, Defended)
    assert made.predict([("good film",)]) == pytest.approx(np.asarray([[0.2, 0.8]]), abs=1e-5)


WRAPPED = """victim = "behind_toy:predict"

[[wrap]]
defence = "purify"
context = false
real-words = false

[[wrap]]
defence = "ranmask"
keep = 0.5
samples = 4
seed = 3
"""


def test_a_file_values_and_a_line_say_the_same_defences(tmp_path, monkeypatch):
    (tmp_path / "behind_toy.py").write_text("from toy import predict\n")
    (tmp_path / "victim.toml").write_text(WRAPPED)
    monkeypatch.chdir(tmp_path)
    line = open_victim("ranmask:keep=0.5:samples=4:seed=3(purify:context=false:real_words=false(behind_toy:predict))")
    file, path = open_victim("victim.toml"), open_victim(tmp_path / "victim.toml")
    inner = Purify(context=False, real_words=False)
    values = mp.defend(mp.defend("behind_toy:predict", inner), RanMask(keep=0.5, samples=4), seed=3)
    typed = mp.defend(
        "behind_toy:predict", "purify:context=false:real-words=false", "ranmask:keep=0.5:samples=4:seed=3"
    )
    for made in (file, path, values, typed):
        assert made.name == line.name
        assert made.predict(TEXTS) == pytest.approx(line.predict(TEXTS))
    assert open_victim(line.name).predict(TEXTS) == pytest.approx(line.predict(TEXTS))  # a name can be typed again
    assert open_victim("fuse:samples=2(victim.toml)").inside.name == line.name


def test_seeds_of_defences_given_in_python():
    fixed = mp.defend(toy.victim(), RanMask(samples=2), "randel:samples=2:seed=5", seed=1)
    assert [fixed.seed, fixed.inside.seed] == [5, 1]
    fresh = mp.defend(toy.victim(), "randel:samples=2", RanMask(samples=2), seed=None)
    assert fresh.renews
    assert fresh.inside.renews


def test_lists_in_a_file_are_settings_of_a_detector(tmp_path):
    path = tmp_path / "victim.toml"
    path.write_text('victim = "x"\n[[wrap]]\ndefence = "detect"\nof = ["fgws", "rde"]\nby = "all"\nseed = 2\n')
    inner, [(made, seed)] = read_defence_file(path)
    assert (inner, made.by, seed) == ("x", "all:of=fgws+rde", 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("victim = ", "is not TOML"),
        ('[[wrap]]\ndefence = "five"\n', "names no victim"),
        ('victim = "BERT"\n', r"has no \[\[wrap\]\] table"),
        ('victim = "BERT"\nwrap = "five"\n', r"has no \[\[wrap\]\] table"),
        ('victm = "BERT"\n', "no key is called 'victm'; did you mean victim"),
        ('victim = "b.toml"\n[[wrap]]\ndefence = "five"\n', "is a file of this kind too"),
        ('victim = "BERT"\n[[wrap]]\nsamples = 4\n', "needs defence = .NAME. of .*got None"),
        ('victim = "BERT"\n[[wrap]]\ndefence = "purfy"\n', "got 'purfy'"),
        ('victim = "BERT"\n[[wrap]]\ndefence = "ranmask"\nkep = 0.5\n', "no setting of ranmask is called 'kep'"),
        ('victim = "BERT"\n[[wrap]]\ndefence = "ranmask"\nkeep = "much"\n', "needs a number for keep"),
        ('victim = "BERT"\n[[wrap]]\ndefence = "ranmask"\nseed = -1\n', "seed must be a whole number or fresh"),
    ],
)
def test_files_of_defences_that_are_refused(text, said, tmp_path):
    path = tmp_path / "victim.toml"
    path.write_text(text)
    with pytest.raises(SettingError, match=said):
        open_victim(str(path))


@pytest.mark.parametrize(
    ("thing", "said"),
    [
        (RanMask, r"RanMask is a class.*write RanMask\(\.\.\.\)"),
        (3, "'3' is not a defence"),
        ("purfy", "no defence is called 'purfy'; did you mean purify"),
        ("five(BERT)", "no defence is called 'BERT'"),
    ],
)
def test_what_is_no_defence_in_python(thing, said):
    with pytest.raises(SettingError, match=said):
        mp.defend(toy.victim(), thing)


def test_a_missing_file_of_defences_is_said(tmp_path):
    with pytest.raises(SettingError, match="no such file"):
        open_victim(str(tmp_path / "victim.toml"))


@pytest.mark.parametrize("inside", [toy.victim, lambda: defend_by_spec("five", words())])
def test_five_wants_vectors_and_says_so_before_any_text(inside):
    with pytest.raises(CapabilityError, match="use fuse"):
        defend_by_spec("five", inside())


@pytest.mark.parametrize("name", ["fuse", "five"])
def test_defaults_can_be_made_and_written_back(name):
    made = Defended(victim=words(), method=WRAPPERS[name]())
    assert made.spec == name


@given(st.integers(0, 1 << 40), st.integers(1, 7))
def test_gaussian_numbers_depend_on_their_key_alone(key, dim):
    import torch

    from malaprop.papers.firebert.votes import gaussian

    keys = torch.tensor([key, key + 1, 5])
    together = gaussian(keys, dim)
    assert together.shape == (3, dim)
    assert torch.equal(gaussian(keys[:1], dim)[0], together[0])
    assert torch.isfinite(together).all()


def test_gaussian_numbers_are_gaussian():
    import torch
    from scipy.stats import kstest

    from malaprop.papers.firebert.votes import gaussian

    drawn = gaussian(torch.arange(500), 64)
    assert kstest(drawn.flatten().numpy(), "norm").pvalue > 0.001
    assert float(torch.corrcoef(drawn[:, :8].T).triu(1).abs().max()) < 0.15


def test_a_wrapper_of_another_package_is_known_wherever_a_victim_is_named(monkeypatch):
    point = EntryPoint("my-mask", "malaprop.features.defending.lost_words:RanMask", "malaprop.wrapper")
    monkeypatch.setattr(
        "malaprop.core.catalogue.entry_points", lambda *, group: [point] if group == point.group else []
    )
    monkeypatch.setattr(WRAPPERS, "_outside", None)
    made = named("my-mask:keep=0.5(LSTM-W-Random-1)", monkeypatch)
    assert isinstance(made, Defended)
    assert made.method == RanMask(keep=0.5)
    assert behind("my-mask", "BERT") == "my-mask(BERT)"


def named(spec, monkeypatch):
    """What --victim would give, with a toy in the place of the model."""
    monkeypatch.setattr("malaprop.frame.runs.load_victim.wrap", lambda *_, **__: toy.victim())
    return open_victim(spec, device="cpu")
