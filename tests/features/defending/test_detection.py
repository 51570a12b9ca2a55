"""Detectors: a rejected text is no success and no right answer; scores by hand; folders; what is refused."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import small_victims
import toy

from malaprop.attacks.goals.goal import Accepted, Confident, Targeted, Untargeted
from malaprop.core.errors import CapabilityError, DataError, MalapropError, SettingError
from malaprop.core.example import Example
from malaprop.core.variants import Variants
from malaprop.core.victim import REJECTED
from malaprop.data.matching import agree
from malaprop.features.defending.detect import Detect
from malaprop.features.defending.detection import cloze, rde
from malaprop.features.defending.detection.detector import Detector, DetectorCard, FitTexts, fit_detector, parse_method
from malaprop.features.defending.detection.near import count_words
from malaprop.features.defending.detection.rates import find_auc, find_threshold
from malaprop.features.defending.detection.suspicion import Answered, Learnt, Lessons, ask
from malaprop.features.defending.detection.trees import apply_trees, fit_trees
from malaprop.features.defending.evaluation_columns import answer
from malaprop.features.defending.evaluation_figures import count_passes
from malaprop.frame.records.outcome import REJECTS
from malaprop.frame.records.summary import Summary
from malaprop.frame.runs.defended import Defended, cut_up
from malaprop.frame.runs.local import run
from malaprop.frame.runs.pregenerated import PregeneratedExamples
from malaprop.frame.runs.wrap import defend_by_spec
from malaprop.frame.study.commands import find_study
from malaprop.frame.study.settings import build
from malaprop.frame.study.study import conduct

CARD = DetectorCard(method="fgws", victim="toy", labels=("no", "yes"), data="d", false_positives=0.05, threshold=0.5)


@dataclass(frozen=True)
class Nice:
    """Suspects texts that hold the word nice."""

    word: str = "nice"
    needs_attacked: ClassVar[bool] = False
    counts_words: ClassVar[bool] = False

    def check(self, victim):
        pass

    def learn(self, victim, lessons):
        return Learnt()

    def score(self, victim, learnt, texts, *, exact):
        return np.asarray([float(self.word in text.strings) for text in texts])

    def count_passes(self, victim, learnt, text):
        return 0


@pytest.fixture
def neighbours(monkeypatch):
    """The toy's synonyms are what may stand for a word."""
    for name in ("fgws", "near", "cloze"):
        where = f"malaprop.features.defending.detection.{name}.find_neighbours"
        monkeypatch.setattr(where, lambda word, _: toy.SYNONYMS.get(word, ()))
    cloze.find_options.cache_clear()
    yield
    cloze.find_options.cache_clear()


@pytest.fixture
def language_model(monkeypatch):
    """Expects good and bad, finds film likely, all else unlikely; knows no token for okay."""

    class Expecting:
        logs: ClassVar = {"good": -1.0, "bad": -1.0, "film": -2.0, "okay": np.nan}

        def compare(self, texts, *, apart):
            assert apart == 6
            return [[np.asarray([self.logs.get(w, -8.0) for w in gap.words]) for gap in gaps] for _, gaps in texts]

    monkeypatch.setattr("malaprop.models.encoders.masked_lm.open_fast_masked_lm", lambda *_: Expecting())
    monkeypatch.setattr(cloze, "_find_rank", lambda word: float(len(word)))


@pytest.fixture
def guarded(monkeypatch):
    """The toy victim, which rejects texts with the word nice."""
    found = Detector(card=CARD, suspicion=Nice(), learnt=Learnt(), state="1")
    monkeypatch.setattr("malaprop.features.defending.detect.read_detector", lambda _: found)
    return defend_by_spec("detect:any", toy.victim())


def test_rejected_is_no_success_whatever_the_goal():
    answers = np.asarray([[0.2, 0.7, 0.1], [0.1, 0.3, 0.6], [0.6, 0.3, 0.1]], np.float32)
    made = Accepted(Untargeted())
    assert made.reached(answers, 0).tolist() == [True, False, False]
    assert made.wrong(answers, 0).tolist() == [True, True, False]
    assert made.values(answers, 0) == pytest.approx([0.7, 0.3, 0.3])  # what wrong labels have of it
    sure = np.asarray([[0.0, 0.54, 0.46]], np.float32)  # the model itself is sure; rejection takes its share
    assert Accepted(Confident(floor=0.9)).reached(sure, 0).tolist() == [True]
    assert Accepted(Targeted(target=1)).reached(answers, 0).tolist() == [True, False, False]


def test_rejection_wins_exactly_above_the_threshold_and_leaves_the_models_own_scores(guarded):
    texts = [("a good film",), ("a nice film",)]
    found, own = guarded.predict(texts), toy.victim().predict(texts)
    assert guarded.label_names == ("no", "yes", REJECTED)
    assert guarded.labels == 3
    assert found.argmax(1).tolist() == [1, 2]
    assert found.sum(1) == pytest.approx([1, 1])
    assert found[:, :2] / (1 - found[:, 2:]) == pytest.approx(own, abs=1e-5)
    assert agree(toy_data(), guarded).labels == ("no", "yes", REJECTED)  # which no example has


def test_a_label_that_one_text_gets_neither_ends_rde_nor_takes_its_dimensions(monkeypatch):
    """As rejection does, where a victim sees one text otherwise by its quick path than by its exact one."""
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [100, 100, 1])
    vectors = random.normal(size=(201, 20)) + 4 * labels[:, None]
    monkeypatch.setattr(rde, "find_vectors", lambda _, texts: vectors[: len(texts)])
    monkeypatch.setattr(rde, "_predict", lambda _, texts, exact: labels[: len(texts)])
    texts = cut_up([("a good film",)] * 201)
    method = rde.RobustDensity(dim=16)
    learnt = method.learn(toy.victim(), Lessons(clean=texts, attacked=(), corpus=()))
    assert learnt.arrays["labels"].tolist() == [0, 1]
    assert learnt.arrays["centres"].shape == (2, 16)
    scores = method.score(toy.victim(), learnt, texts, exact=True)
    assert scores[200] > np.quantile(scores[:200], 0.95)  # measured from the label that lies nearest
    labels = np.arange(201)
    with pytest.raises(DataError, match="at least two clean texts that get the same label"):
        method.learn(toy.victim(), Lessons(clean=texts, attacked=(), corpus=()))


def test_around_a_victim_that_rejects_there_is_one_rejection(guarded, monkeypatch):
    """It rejects texts with the word nice, and a detector around it those with the word film."""
    film = Detector(card=CARD, suspicion=Nice("film"), learnt=Learnt(), state="2")
    read = {"any": guarded.method._open(guarded.victim), "film": film}
    monkeypatch.setattr("malaprop.features.defending.detect.read_detector", lambda folder: read[folder.name])
    both = defend_by_spec("detect:film", guarded)
    texts = [("a good story",), ("a nice story",), ("a good film",), ("a nice film",)]
    found, own = both.predict(texts), toy.victim().predict(texts)
    assert both.label_names == ("no", "yes", REJECTED)
    assert both.labels == 3
    assert (found.argmax(1) == 2).tolist() == [False, True, True, True]
    assert found.sum(1) == pytest.approx([1] * 4)
    assert found[:, :2] / (1 - found[:, 2:]) == pytest.approx(own, abs=1e-4)


def test_passes_of_the_model_are_counted_as_they_are_made(monkeypatch, neighbours):
    texts = [("a good film",), ("a great film that is fine",), ("good",)]
    lessons = Lessons(clean=cut_up(texts), attacked=cut_up([("a poor film",), ("okay",)]), corpus=texts)
    for method in ("fgws:rare=50", "wdr", "near:many=2", "all:of=fgws+wdr+near"):
        asked = toy.Calls()
        suspicion = parse_method(method)
        learnt = suspicion.learn(toy.victim(), lessons)
        found = Detector(card=replace(CARD, method=method), suspicion=suspicion, learnt=learnt)
        monkeypatch.setattr("malaprop.features.defending.detect.read_detector", lambda _, found=found: found)
        whole = defend_by_spec("detect:any", toy.victim(asked))
        whole.predict(texts)
        assert count_passes(whole) == round(len(asked.texts) / len(texts), 2) >= 2, method


@pytest.mark.parametrize("exact", [True, False])
def test_a_text_itself_is_asked_once_whatever_detectors_look_at(exact, monkeypatch, neighbours):
    """Around that are the text with rare words replaced, for fgws, and the vector, for rde."""
    passes = list[int]()

    def count(forward):
        def call(*given):
            found = forward(*given)
            passes.append(len(found))
            return found

        return call

    bert = small_victims.bert()
    victim = replace(bert, scorer=None, forward=count(bert.forward), pooled=count(bert.pooled))
    texts = [("good film",), ("great film",), ("awful film the",), ("bad film",)]
    drawn = [(" ".join(row),) for row in np.random.default_rng(0).choice(small_victims.PIECES[5:], (80, 6)).tolist()]
    lessons = Lessons(clean=cut_up(drawn[:60]), attacked=cut_up(drawn[60:]), corpus=[*texts, *texts[:1] * 4])
    for method, times in {"fgws:rare=50": 2, "rde": 2, "all:of=fgws+rde": 3, "all:of=fgws+rde+wdr": 3 + 2.25}.items():
        suspicion = parse_method(method)
        found = Detector(card=CARD, suspicion=suspicion, learnt=suspicion.learn(bert, lessons))
        monkeypatch.setattr("malaprop.features.defending.detect.read_detector", lambda _, found=found: found)
        whole = defend_by_spec("detect:any", victim)
        passes.clear()
        answers = whole._answered(texts, exact=exact)
        assert sum(passes) / len(texts) == count_passes(whole) == times, method
        scores = found.judge(bert, cut_up(texts), exact=exact)  # of a victim of which no answer is known
        own = bert.predict(texts)
        far = np.exp(np.clip(found.weigh(scores), -8, 8))
        assert answers[:, 2] / answers[:, :2].max(1) == pytest.approx(far, rel=1e-4), method
        assert answers[:, :2] / (1 - answers[:, 2:]) == pytest.approx(own, rel=1e-3), method


@pytest.mark.parametrize("exact", [True, False])
def test_an_answer_that_is_known_serves_the_road_that_it_came_by_alone(exact):
    """It stands for a first variant without edits; all others are asked."""
    asked, (known, other) = toy.Calls(), cut_up([("good film",), ("bad film",)])
    victim = Answered(toy.victim(asked), {known: np.log([0.75, 0.25])}, exact=True)
    slots, words = np.asarray([0, 1]), known.table.ids(["fine", "movie"])
    groups = [
        Variants(known, slots, words, np.asarray([1, 2]), 3), Variants(known, slots, words), Variants.itself(other),
        Variants(known, slots, words, np.asarray([1, 0]), 2), Variants.itself(known),
    ]  # fmt: skip
    found = ask(victim, groups, exact=exact)
    texts = ["good film", "fine film", "good movie", "fine film", "good movie", "bad film", "good movie", "fine film"]
    expected = np.asarray(toy.predict([*texts, "good film"]))
    if exact:
        expected[[0, 8]] = 0.75, 0.25
    assert np.exp(found) == pytest.approx(expected, abs=1e-6)
    assert ("good film" in asked.texts) == (not exact)
    assert ask(victim, [], exact=exact).shape == (0, victim.labels or 0)


def test_a_made_sample_that_is_rejected_is_no_harm(guarded, monkeypatch):
    monkeypatch.setattr("malaprop.features.defending.evaluation_columns.open_defence", lambda *_: guarded)
    rows = {"a nice film": 0, "a good film": 0, "a bad film": 0}
    made = [Example(id=text, fields={"text": text}, label=label) for text, label in rows.items()]
    premade = PregeneratedExamples(examples=tuple(made), source="")
    (found,) = answer(None, "detect:any", None, {"premade": premade})
    assert found.answers == (0, 1, 0)
    assert premade.count_right(found.answers).hits == 2


def toy_data():
    from malaprop.data.base import of

    return of([{"text": "good", "label": "yes"}, {"text": "bad", "label": "no"}])


def test_an_attack_does_not_count_what_is_rejected_and_says_so(guarded):
    """good may become fine or nice; both are still positive, so texts are made that break by other words."""
    examples = [
        Example(id="kept", fields={"text": "good"}, label=1),
        Example(id="clean", fields={"text": "a nice film"}, label=1),
    ]
    words = {"good": ("nice", "okay"), "okay": ("nice",)}
    attack = replace(toy.listed(words), goal=Untargeted())
    plain = {o.id: o for o in run(attack, toy.victim(), examples)}
    found = {o.id: o for o in run(attack, guarded, examples)}
    assert found["clean"].status == "skipped"
    assert found["clean"].reason == REJECTS
    assert plain["clean"].status != "skipped"
    summary = Summary.of(found.values(), guarded.label_names)
    assert summary.rejected_clean == 1
    assert summary.chance == 0.5  # nobody guesses that a text is rejected
    assert summary.to_dict()["rejected_clean"] == 1


def test_an_attack_that_sees_the_detector_goes_round_it(monkeypatch):
    found = Detector(card=CARD, suspicion=Nice(), learnt=Learnt())
    monkeypatch.setattr("malaprop.features.defending.detect.read_detector", lambda _: found)

    def score(texts):
        return [[0.9, 0.1] if {"nice", "poor"} & set(text.split()) else [0.1, 0.9] for text in texts]

    from malaprop.frame.runs.victims import victim

    made = defend_by_spec("detect:any", victim(score))
    example = [Example(id="1", fields={"text": "good"}, label=1)]
    both = toy.listed({"good": ("nice", "poor")})
    (ended,) = run(both, made, example)
    assert ended.status == "success"
    assert ended.adversarial.fields["text"] == "poor"
    (held,) = run(toy.listed({"good": ("nice",)}), made, example)
    assert held.status == "failed"
    assert [one.status for one in run(toy.listed({"good": ("nice",)}), victim(score), example)] == ["success"]


def test_rates_by_hand():
    assert find_auc([1, 2, 3], [2, 4]).value == pytest.approx((1.5 + 3) / 6)
    low, high = find_auc([1, 2, 3], [2, 4])[1:]
    assert low < 0.75 < high <= 1
    assert find_threshold(list(range(100)), 0.05) == 94  # five are above
    assert find_threshold([3.0], 0.05) == 3.0


def test_trees_are_applied_as_scikit_learn_does():
    from sklearn.ensemble import GradientBoostingClassifier

    rng = np.random.default_rng(0)
    x = rng.normal(size=(120, 4))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    weights = (len(y) / (2 * np.bincount(y)))[y]
    theirs = GradientBoostingClassifier(
        n_estimators=150, max_depth=3, learning_rate=0.06, subsample=0.7, max_features=0.5, random_state=0
    ).fit(x.astype(np.float32), y, sample_weight=weights)
    off = theirs.decision_function(x) - apply_trees(fit_trees(x, y), x)
    assert np.ptp(off) < 1e-9


def test_frequent_words_undo_what_rare_ones_do(tiny_assets, neighbours):
    method, victim = parse_method("fgws:rare=50"), toy.victim()
    corpus = [("good good film film good fine",)]
    learnt = method.learn(victim, Lessons(clean=[], attacked=[], corpus=corpus))
    clean, odd = method.score(victim, learnt, cut_up([("good film",), ("great film",)]), exact=True)
    assert clean == 0
    own, other = victim.predict([("great film",), ("good film",)])
    assert odd == pytest.approx(own[1] - other[1], abs=1e-6)  # great, which was never seen, gives way to good


def test_what_replaces_a_word_is_found_once_by_each_detector(monkeypatch):
    asked = list[str]()

    def find(word, nearest):
        asked.append(word)
        return toy.SYNONYMS.get(word, ())[:nearest]

    monkeypatch.setattr("malaprop.features.defending.detection.fgws.find_neighbours", find)
    method, texts = parse_method("fgws:nearest=2"), cut_up([("A Great film",), ("great FILM",)])

    def replace_rare(words):
        known = count_words([(words,)])
        learnt = Learnt({**known.arrays, "border": np.asarray([9])}, known.words)
        toy_calls = toy.Calls()
        for _ in range(3):
            method.score(toy.victim(toy_calls), learnt, texts, exact=True)
        return toy_calls.texts[1::2][:2]

    assert replace_rare("good good fine movie") == ["A Good movie", "good MOVIE"]
    assert sorted(asked) == sorted(["a", "great", "film", "great", "film"])
    assert replace_rare("good fine fine picture") == ["A Fine picture", "fine PICTURE"]


def test_swaps_for_more_frequent_words_and_for_rarer_ones_by_hand(neighbours):
    """Great gives way to good, which is more frequent, and to fine, which is not; film to words that change nothing."""
    method, victim = parse_method("near"), toy.victim()
    learnt = count_words([("good good good film film",)])
    (found, empty) = method.describe(victim, learnt, cut_up([("great film",), ("",)]), exact=True)
    own, rises, sinks = found[0], found[1:6], found[6:10]
    assert own == pytest.approx(3)
    assert rises == pytest.approx([1, 0, 0, 0, 0], abs=1e-5)
    assert sinks == pytest.approx([2, 0, 0, 0], abs=1e-5)
    heavy = found[-17:-15]  # the counts of the words without which the lead falls most: never seen, and twice
    assert heavy == pytest.approx([0, np.log(3)])
    assert np.isfinite(empty).all()


def test_neighbours_that_fit_better_by_hand(neighbours, language_model):
    """Great fits at -8, and good, which would weaken the lead by 1, at -1; of okay the model knows no token."""
    victim, method = toy.victim(), parse_method("cloze")
    (seen,) = method._look(victim, count_words([("good film",)]), cut_up([("great film",)]), exact=True)
    fits, words = method._find_fits(cut_up([("great film",), ("bad",)]), "cpu"), seen.words
    assert fits[0].better[0, :2] == pytest.approx([7, 0])  # good before fine
    assert fits[0].better[1, 0] == pytest.approx(-6)  # neither movie nor picture fits better than film
    assert fits[1].better[0].tolist() == [-7, cloze._NONE, cloze._NONE]  # poor; okay is not compared
    assert words[0, 7:9] == pytest.approx([1, 2], abs=1e-5)  # how far the lead falls with good, and with fine
    assert words[:, cloze._WITHOUT] == pytest.approx([3, 0], abs=1e-5)
    assert words[:, cloze._LEAD] == pytest.approx([3, 3], abs=1e-5)
    assert len(method._find_fits(cut_up([("okay",)]), "cpu")[0].own) == 1
    assert method._find_fits(cut_up([("okay",)]), "cpu")[0].own[0] == pytest.approx(-np.log(10) - 4)
    assert method.count_passes(victim, count_words([]), cut_up([("great film",)])[0]) >= 1 + 2 * 2 + 4


def test_cloze_learns_which_words_were_replaced(neighbours, language_model):
    """Every adversary has a fine where good stood; texts differ by words that say nothing."""
    texts = {str(n): (f"good w{n} film v{n}",) for n in range(120)}
    other = [(id, (text[0].replace("good", "fine"),)) for id, text in texts.items()]
    card, corpus = replace(CARD, method="cloze"), [(f"good film {n}",) for n in range(90)]
    made = fit_detector(toy.victim(), card, FitTexts(clean=texts, attacked=other, corpus=corpus))
    assert made.card.auc > 0.95
    method, (one, _) = made.suspicion, cut_up([("fine word film too",), ("",)])
    (seen,) = method._look(toy.victim(), made.learnt, [one], exact=True)
    odds = apply_trees(cloze._take_word_trees(made.learnt), seen.words)
    assert odds.argmax() == 0
    assert odds[0] > odds[1:].max() + 1
    hostile = cut_up([("",), ("\N{PILE OF POO}",), ("one",), ("fine " * 300,)])
    assert np.isfinite(made.judge(toy.victim(), hostile, exact=True)).all()


def test_replaced_words_are_found_where_an_attack_adds_words():
    clean, attacked = (cut_up([(text,)]) for text in ("a good film", "a very fine film"))
    (found,) = cloze._find_replaced(Lessons(clean=clean, attacked=attacked, corpus=[]))
    assert found.tolist() == [0, 1, 1, 0]


def test_a_text_is_described_by_trees_that_learnt_from_others(neighbours, language_model, monkeypatch):
    """Its fold hangs on the original, so that two adversaries of one text are never on both sides."""
    learnt, plain = [], cloze._learn_words
    monkeypatch.setattr(
        cloze, "_learn_words", lambda seen, replaced, which: learnt.append([*which]) or plain(seen, replaced, which)
    )
    clean = cut_up([(f"good w{n % 20} film",) for n in range(40)])
    attacked = cut_up([(f"fine w{n % 20} film",) for n in range(40)])
    _, x = parse_method("cloze").study(toy.victim(), Lessons(clean=clean, attacked=attacked, corpus=[("a",)]))
    assert len(x) == 80
    assert sorted(learnt[-1]) == [*range(80)]
    for some in learnt[:-1]:
        texts = {at % 20 for at in some}
        assert not texts & ({at % 20 for at in range(80)} - texts)
        assert sorted(some) == [at for at in range(80) if at % 20 in texts]
        assert len(texts) < 20


def test_words_are_counted_in_other_texts_than_a_detector_is_fitted_on(neighbours):
    """A file all of whose words occur once: texts that come later must not look rarer than those of the fit."""
    texts = {str(n): (f"good w{n} film v{n}",) for n in range(200)}
    other = [(id, (text[0].replace("good", "fine"),)) for id, text in texts.items()]
    card = replace(CARD, method="near")
    made = fit_detector(toy.victim(), card, FitTexts(clean=texts, attacked=other, corpus=list(texts.values())))
    assert made.card.clean + made.card.held_out == 100
    fresh = cut_up([(f"good x{n} film y{n}",) for n in range(40)])
    assert (made.judge(toy.victim(), fresh, exact=True) > made.card.threshold).mean() <= 0.1
    more = FitTexts(clean=texts, attacked=other, corpus=[*texts.values(), *((f"good {n}",) for n in range(150))])
    assert fit_detector(toy.victim(), card, more).card.held_out == 50  # enough others: none is given up


@pytest.mark.parametrize("name", ["wdr", "all:of=wdr+rde", "near", "all:of=near+wdr", "cloze", "all:of=cloze+wdr"])
def test_a_detector_is_the_same_from_its_folder_and_by_either_road(name, tmp_path, neighbours, language_model):
    victim = replace(small_victims.words(), fingerprint="one")
    rng = np.random.default_rng(1)
    words = ["good", "bad", "film", "the", "fine", "great", "awful"]
    texts = {str(n): (" ".join(rng.choice(words, 6)),) for n in range(60)}
    other = [(key, (text[0].replace("good", "okay") + " poor",)) for key, text in texts.items()]
    card = replace(CARD, method=name, victim=victim.name, fingerprint=victim.fingerprint)
    made = fit_detector(victim, card, FitTexts(clean=texts, attacked=other, corpus=list(texts.values())))
    assert made.card.held_out == 15
    assert made.card.auc > 0.5
    made.write(tmp_path / "d")
    guarded = defend_by_spec(f"detect:{tmp_path / 'd'}", victim)
    asked = list(texts.values())[:9]
    expected = made.judge(victim, cut_up(asked), exact=True)
    table = guarded.predict(asked)
    assert (table.argmax(1) == 2).tolist() == (expected > made.card.threshold).tolist()
    alone = np.concatenate([guarded.predict([text]) for text in asked])
    assert alone == pytest.approx(table, abs=1e-5)
    with pytest.raises(SettingError, match="another model"):
        Defended(victim=replace(victim, fingerprint="two"), method=Detect(by=str(tmp_path / "d")))


REFUSED = {
    "detect(toy:predict)": "detect:FOLDER",
    "detect:nowhere(toy:predict)": "holds no detector",
    "detect:wdr(toy:predict)": "malaprop detect fit wdr --victim toy:predict",
}


@pytest.mark.parametrize("spec", REFUSED)
def test_what_is_no_detector_is_refused_in_a_line(spec, monkeypatch, tmp_path):
    from malaprop.frame.runs.victims import victim

    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path))
    with pytest.raises(SettingError, match=re.escape(REFUSED[spec])):
        victim(spec)


BAD = {
    "what method": ({"method": "wrd"}, "wdr"),
    "no attack": ({"method": "wdr", "attack": ["none"]}, "--attack pwws"),
    "share": ({"false_positives": 2}, "--false-positives"),
    "one label": ({"data": [("good", 1), ("fine", 1)]}, "label"),
    "few": ({"data": [("good", 1), ("bad", 0)] * 3}, "clean texts"),
    "no vector": ({"method": "rde"}, "fgws, wdr, rtd or"),
    "no swaps": ({"method": "near:up=0"}, "up, down and many"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_fit_that_cannot_be_is_refused_in_a_line(case, tiny_assets):
    more, said = BAD[case]
    data = [(f"good {n}", 1) for n in range(30)] + [(f"bad {n}", 0) for n in range(30)]
    given = {
        "method": "fgws",
        "victim": toy.predict,
        "data": data,
        "quiet": True,
        "device": "cpu",
        "keep": False,
        **more,
    }
    with pytest.raises((MalapropError, CapabilityError), match=re.escape(said)):
        conduct(build(find_study("detect fit"), given))


def test_a_run_without_adversarial_texts_is_refused(tmp_path, tiny_assets):
    folder = small_victims.detector(tmp_path)
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\ngood one,1\nbad one,0\n")
    run_in = {"recipe": "deepwordbug", "victim": "toy:predict", "data": str(rows), "budget": 1, "quiet": True}
    conduct(build(find_study("attack"), {**run_in, "out": tmp_path / "run"}))
    given = {"folder": folder, "data": [str(tmp_path / "run")], "victim": "toy:predict", "quiet": True}
    with pytest.raises(MalapropError, match="no adversarial text"):
        conduct(build(find_study("detect score"), given))
    found = conduct(build(find_study("detect score"), {**given, "data": [str(rows)]})).record
    assert found.runs[0].rejected_clean.total == 2
    assert found.runs[0].auc is None
    assert Path(folder, "detector.json").is_file()


def test_a_method_is_the_detector_that_was_fitted_last_for_the_victim(tmp_path, monkeypatch, neighbours):
    """From Python without a folder, and as a user types it behind --victim."""
    from malaprop.frame.runs.victims import victim

    monkeypatch.setenv("MALAPROP_CACHE", str(tmp_path))
    data = [(f"good {'film ' * (n % 5)}{n}", 1) for n in range(30)] + [
        (f"bad {'film ' * (n % 5)}", 0) for n in range(30)
    ]
    rows = tmp_path / "rows.csv"
    rows.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in data))
    given = {"method": "fgws:rare=50", "victim": "toy:predict", "data": str(rows), "quiet": True, "device": "cpu"}
    conduct(build(find_study("detect fit"), given))
    made = victim("detect:fgws:rare=50(toy:predict)")
    assert made.label_names == ("0", "1", REJECTED)
    assert made.predict([("good film",)]).shape == (1, 3)


def test_texts_of_two_tables_are_answered_as_their_words_say():
    victim = small_victims.words()
    one, two = cut_up([("good film",), ("bad film",)]), cut_up([("film bad",), ("great",), ("awful word",)])
    together = ask(victim, [Variants.itself(text) for text in (*one, *two)], exact=False)
    alone = [ask(victim, [Variants.itself(text)], exact=False) for text in (*one, *two)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)


def test_vectors_of_texts_of_two_tables_are_those_of_their_words():
    victim = small_victims.bert()
    one, two = cut_up([("good film",), ("bad film",)]), cut_up([("film bad",), ("great",), ("awful word",)])
    together = rde.find_vectors(victim, [*one, *two])
    alone = [rde.find_vectors(victim, [text]) for text in (*one, *two)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)
