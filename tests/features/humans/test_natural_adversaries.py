"""Natural adversaries before people: what is asked of them, and the paper's tables 7 and 8 from made answers."""

from __future__ import annotations

import pytest
from tiny_study import two_runs, write_finds, write_turns

from malaprop.core.errors import RecordError
from malaprop.features.humans.crowd import write_label_studio
from malaprop.features.humans.export import Design, export
from malaprop.features.humans.items import ORIGINAL, RatedItem, Turn, show
from malaprop.features.humans.record import terminal
from malaprop.features.humans.score import score
from malaprop.features.humans.study import GivenAnswer, RatingStudy, connect, save_answer, transaction


def answered(path, decide):
    """Every rater's answers to every item of the list: `decide` is given the item and the rater's number."""
    with RatingStudy(path) as study:
        given = [
            GivenAnswer(rater, turn.item, study.items[turn.item].expected or decide(study.items[turn.item], rater))
            for rater, turns in study.turns.items()
            for turn in turns
        ]
    base = connect(path, write=True)
    with transaction(base, path):
        for one in given:
            save_answer(base, one, "")
    base.close()
    with RatingStudy(path) as study:
        return score(study)


def rates(ratings):
    return {row.name: row.high.value for row in ratings.systems}


def test_table_7_images_of_two_victims_and_the_baseline(tmp_path):
    write_finds(tmp_path / "runs" / "forest", "forest", 10)
    write_finds(tmp_path / "runs" / "lenet", "lenet", 60, fgsm=90)
    export([tmp_path / "runs"], tmp_path / "s.db", Design(items=18, raters=2, seed=3))
    with RatingStudy(tmp_path / "s.db") as study:
        assert study.images
        assert study.facts.ask == ("naturalness", "meaning", "similarity", "more-natural")
        assert {s.name for s in study.facts.systems} == {"hybrid, forest", "hybrid, lenet", "fgsm, lenet"}
        fgsm = next(n for n, s in enumerate(study.facts.systems) if s.recipe == "fgsm")
        shown = [show(item, False, study.facts.labels) for item in study.items.values()]
        with pytest.raises(RecordError, match="writes texts only"):
            write_label_studio(study, tmp_path / "tasks.json")
    assert all("image" in one.question.prompt for one in shown)
    assert {choice.caption for one in shown if one.question.shape == "pair" for choice in one.choices} == {
        "Image 1",
        "Image 2",
    }

    def decide(item: RatedItem, rater: int) -> str:
        if len(item.systems) == 2:
            return "b" if item.systems[0] == fgsm else "a"  # the first of two, but never the baseline
        return "5" if item.systems[0] == ORIGINAL else "2" if item.systems[0] == fgsm else "4"

    found = answered(tmp_path / "s.db", decide)
    assert rates(found.naturalness) == {
        "original": 1.0,
        "hybrid, forest": 1.0,
        "hybrid, lenet": 1.0,
        "fgsm, lenet": 0.0,
    }
    closer = {row.name: row.votes.value for row in found.similarity.systems}
    assert closer["fgsm, lenet"] == 0
    assert {row.name: row.votes.value for row in found.more_natural.systems}["fgsm, lenet"] == 0
    told = terminal(found)
    for title in ("Looks natural", "Keeps the meaning", "Closer to the original", "More natural", "image by image"):
        assert title in told


def test_table_8_sentences_of_two_victims(tmp_path):
    write_turns(tmp_path / "runs" / "lstm", "lstm", "naps")
    write_turns(tmp_path / "runs" / "tree", "tree", "devours the moon")
    export([tmp_path / "runs"], tmp_path / "s.db", Design(items=8, raters=2, ask=("naturalness", "meaning", "label")))
    with RatingStudy(tmp_path / "s.db") as study:
        assert study.facts.labels == ("entailment", "neutral")
        assert not study.images
        one = next(i for i in study.items.values() if i.question == "meaning" and i.expected is None)
        assert one.texts[0]["premise"] == one.original["premise"]
        assert one.texts[0]["hypothesis"] != one.original["hypothesis"]
        names = [s.name for s in study.facts.systems]
    found = answered(tmp_path / "s.db", lambda item, rater: str(item.label) if item.question == "label" else
                     "2" if item.systems[0] >= 0 and names[item.systems[0]] == "tree" else "5")  # fmt: skip
    assert rates(found.meaning) == {"lstm": 1.0, "tree": 0.0}
    assert rates(found.naturalness) == {"original": 1.0, "lstm": 1.0, "tree": 0.0}
    assert {row.name: row.answers.value for row in found.accuracy} == {"original": 1.0, "lstm": 1.0, "tree": 1.0}


def test_what_cannot_be_shown_is_refused(tmp_path):
    hostile = 'data:image/png;base64,"><script>alert(1)</script>'
    write_finds(tmp_path / "bad", "forest", 10, broken=hostile)
    with pytest.raises(RecordError, match="is not a PNG"):
        export([tmp_path / "bad"], tmp_path / "s.db", Design())
    write_finds(tmp_path / "both" / "images", "forest", 10)
    two_runs(tmp_path / "both" / "texts")
    with pytest.raises(RecordError, match="into separate studies"):
        export([tmp_path / "both"], tmp_path / "s.db", Design())


def test_sides_of_images_turn_with_the_rater(tmp_path):
    write_finds(tmp_path / "runs" / "forest", "forest", 10)
    write_finds(tmp_path / "runs" / "lenet", "lenet", 60)
    export([tmp_path / "runs"], tmp_path / "s.db", Design(ask=("similarity",), checks=0))
    with RatingStudy(tmp_path / "s.db") as study:
        turns = [turn for own in study.turns.values() for turn in own]
        assert {turn.flip for turn in turns} == {False, True}
        one = study.items[turns[0].item]
        assert show(one, True, ()).texts == show(one, False, ()).texts[::-1]
        assert isinstance(turns[0], Turn)


def test_where_nothing_differs_nothing_is_compared(tmp_path):
    write_finds(tmp_path / "runs" / "forest", "forest", 10)
    write_finds(tmp_path / "runs" / "lenet", "lenet", 10)
    made = export([tmp_path / "runs"], tmp_path / "s.db", Design())
    assert made.ask == ("naturalness", "meaning")
