"""Natural adversaries of text with an exact sentence model and victims of one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_sentences import SENTENCES, Lookup, blank_model

import malaprop as mp
from malaprop.core.errors import SettingError, VictimError
from malaprop.data.base import of
from malaprop.frame.records.summary import Rate
from malaprop.papers.natural.latent_tasks import order_lines
from malaprop.papers.natural.search.algorithms import Iterative, Shrinking
from malaprop.papers.natural.search.service import LatentRun
from malaprop.papers.natural.sentences import (
    ClassifierUnderSearch,
    SentenceTarget,
    TranslatorUnderSearch,
    count_word_edits,
    make_sentence_data,
    perturb_sentence,
)
from malaprop.papers.natural.text_record import NaturalTextRecord, SentenceResult, TextRunFigures
from malaprop.papers.natural.text_study import check_data

_PAIRS = [(("someone is outside.", s), int("eats" in s)) for s in SENTENCES[:12]]


def _predict(texts: Sequence[Any]) -> np.ndarray:
    """Whether anyone eats."""
    eats = np.asarray(["eats" in " ".join(t if isinstance(t, tuple | list) else [t]) for t in texts], float)
    return np.stack([1 - eats, eats], 1)


def _target(data: Any, asked: Any) -> SentenceTarget:
    model: Any = Lookup()
    return SentenceTarget(latent_data=make_sentence_data(data, model), examples=data.examples, model=model, asked=asked)


def _quest(predict: Any = _predict, search: Any = None, **more: Any) -> LatentRun:
    target = _target(of(_PAIRS), ClassifierUnderSearch(victim=mp.victim(predict), names=("no", "eats")))
    search = search or Shrinking(samples=80, step=0.1, reach=3.0)
    return LatentRun(target=target, search=search, **{"cap": 20_000, **more})


def test_adversaries_change_the_answer_and_the_sentence_and_keep_the_premise() -> None:
    turns = list(_quest().run())
    assert {turn.status for turn in turns} == {"success"}
    for turn in turns:
        assert turn.fields["premise"] == "someone is outside."
        assert turn.field == "hypothesis"
        assert turn.adversary != turn.original
        assert ("eats" in turn.adversary) != ("eats" in turn.original)
        assert (turn.answer, turn.changed) in {("no", "eats"), ("eats", "no")}
        assert turn.words == count_word_edits(turn.original, turn.adversary)
        # the verb must move by half a word at least, from its whole number
        assert 0.5 <= (turn.distance or 0) < 2.6


@pytest.mark.parametrize(
    "search", [Shrinking(samples=40, step=0.1, reach=3.0), Iterative(samples=40, step=0.2, reach=3.0)]
)
def test_width_changes_nothing(search: Any) -> None:
    def by_id(width: int) -> dict[str, SentenceResult]:
        return {turn.id: turn for turn in _quest(search=search, width=width).run()}

    assert by_id(1) == by_id(16)


def test_a_victim_that_never_changes_ends_at_the_cap_and_says_so() -> None:
    turns = list(_quest(lambda texts: np.tile([0.9, 0.1], (len(texts), 1)), cap=300).run())
    failed = [turn for turn in turns if turn.status == "failed"]
    assert failed
    assert all("cap of 300 queries" in (turn.reason or "") and turn.asked == 300 for turn in failed)
    assert all(turn.reason == "the victim was wrong already" for turn in turns if turn.status == "skipped")


def test_one_bad_example_ends_as_an_error_alone() -> None:
    def picky(texts: Sequence[Any]) -> np.ndarray:
        if any("likes the bread" in text[-1] for text in texts):
            raise ValueError("no bread")
        return _predict(texts)

    turns = {
        turn.original: turn.status for turn in _quest(picky, search=Iterative(samples=3, step=0.1, reach=0.2)).run()
    }
    assert turns.pop("the cat likes the bread.") == "error"
    assert set(turns.values()) <= {"failed", "success", "error"}
    assert "failed" in turns.values()


def test_a_probe_searches_translations() -> None:
    words = {"sees": "sieht", "likes": "mag", "eats": "isst", "the": "die"}

    def translate(texts: Sequence[str]) -> list[str]:
        return [" ".join(words.get(word, word) for word in text.rstrip(".").split()) for text in texts]

    from malaprop.papers.natural.probes import WordAppears

    asked = TranslatorUnderSearch(translate=translate, probe=WordAppears("isst"))
    target = _target(of([(s, 0) for s in SENTENCES[:12]]), asked)
    latent_run = LatentRun(target=target, search=Shrinking(samples=80, step=0.1, reach=3.0), cap=20_000)
    turns = list(latent_run.run())
    assert {turn.status for turn in turns} == {"success", "skipped"}
    for turn in turns:
        assert ("isst" in turn.answer) == (turn.status == "skipped")
        assert turn.status == "skipped" or "isst" in turn.changed.split()


def test_what_lies_around_grows_with_distance() -> None:
    model: Any = Lookup()
    (found,) = perturb_sentence(model, [SENTENCES[0]], model.invert([SENTENCES[0]]), reach=3.0)
    assert found.returned == SENTENCES[0]
    distances = [distance for distance, _ in found.near]
    assert distances == sorted(distances)
    assert len({sentence for _, sentence in found.near}) == len(found.near) >= 4
    assert SENTENCES[0] not in {sentence for _, sentence in found.near}


def test_record_comes_back_and_damage_is_refused(tmp_path: Path) -> None:
    turns = list(_quest().run())
    tried = TextRunFigures.of(
        turns,
        victim="v",
        search="hybrid",
        settings="",
        accuracy=Rate(3, 4),
        perplexity_original=2.0,
        perplexity_adversary=3.0,
    )
    assert tried.ratio == 1.5
    assert tried.started == Rate(0, 12)
    assert tried.whole == Rate(12, 12)
    record = NaturalTextRecord(
        data="d", generator="g", goal="another label", items=12, tried=(tried,), shown={"v": tuple(turns)}
    )
    path = record.write(tmp_path)
    assert NaturalTextRecord.read(tmp_path) == record
    assert NaturalTextRecord.read(tmp_path / "nothing") is None
    from malaprop.core.errors import RecordError

    raw = json.loads(path.read_text(encoding="utf-8"))
    del raw["tried"][0]["success"]
    path.write_text(json.dumps(raw), encoding="utf-8")
    with pytest.raises(RecordError, match="run it again"):
        NaturalTextRecord.read(tmp_path)


def test_a_model_of_other_texts_is_refused() -> None:
    model = blank_model()
    check_data(model, "small", "m")
    with pytest.raises(SettingError, match="--force"):
        check_data(model, "snli", "m")


def test_all_errors_end_the_run(tmp_path: Path) -> None:
    turn = SentenceResult(
        id="a", status="error", label="", answer="", fields={"text": "x"}, field="text", reason="down"
    )
    with pytest.raises(VictimError, match="down"):
        order_lines(_quest().target.latent_data, [turn], "examples")
    with pytest.raises(SettingError, match="word-appears"):
        mp.study("natural", data="mr", victim="x:y", probe="nothing", out=tmp_path)


@pytest.mark.parametrize(
    ("one", "other", "many"), [("a b c", "a b c", 0), ("a b", "a c b", 1), ("a b", "c", 2), ("", "a", 1)]
)
def test_words_apart(one: str, other: str, many: int) -> None:
    assert count_word_edits(one, other) == many
