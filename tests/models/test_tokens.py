from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from word_edits import UNK, VOCABULARY, cut, groups, many_edits

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import BREAK, Text, Words
from malaprop.core.variants import Variants
from malaprop.core.victim import Victim
from malaprop.models.victims.tokens import TokenVictim
from malaprop.zoo.blocks.cnn import WordCNN
from malaprop.zoo.blocks.lstm import WordLSTM
from malaprop.zoo.scorers.cnn import CnnEdits
from malaprop.zoo.scorers.lstm import LstmEdits


def bag(ids: Tensor, lengths: Tensor) -> Tensor:
    """A model small enough to follow: the sum of ids and the number of tokens."""
    inside = torch.arange(ids.shape[1])[None] < lengths[:, None]
    return torch.stack([(ids * inside).sum(1) / 50, lengths], 1).float()


def victim(**more: Any) -> TokenVictim:
    return TokenVictim(**({"name": "bag", "cut": cut, "forward": bag, "labels": 2, "limit": 30} | more))


def ask(asked: Victim, pool: Pool, wanted: Sequence[int] | None = None) -> np.ndarray:
    asked.classes(pool.table)
    return asked.finish(asked.begin(pool, np.arange(pool.size) if wanted is None else np.asarray(wanted, np.int64)))


def predicted(asked: Victim, pool: Pool) -> np.ndarray:
    return asked.predict([text.values() for text in pool.texts(np.arange(pool.size))])


def word_models() -> dict[str, TokenVictim]:
    torch.manual_seed(0)
    cnn, lstm = (
        WordCNN(VOCABULARY, 2, dim=8, filters=6).eval(),
        WordLSTM(VOCABULARY, 2, dim=8, hidden=6, both=True).eval(),
    )
    return {
        "cnn": victim(forward=cnn, scorer=CnnEdits(model=cnn), context_free=True),
        "lstm": victim(forward=lstm, scorer=LstmEdits(model=lstm), context_free=True),
        "plain": victim(forward=cnn),
        "closed": victim(head=(UNK,), tail=(2,), limit=12),
        "even": victim(masks=False, forward=lambda ids, _: bag(ids, torch.full((len(ids),), ids.shape[1]))),
    }


VICTIMS = word_models()


@pytest.mark.parametrize("name", VICTIMS)
@settings(max_examples=40, deadline=None)
@given(variants=groups())
def test_variants_score_as_their_strings_do(name: str, variants: list[Variants]) -> None:
    pool = Pool(variants)
    scores = ask(VICTIMS[name], pool)
    assert scores.dtype == np.float32
    assert scores.shape == (pool.size, 2)
    assert np.abs(scores.sum(1) - 1).max() < 1e-5
    assert np.abs(scores - predicted(VICTIMS[name], pool)).max() < 1e-5


@pytest.mark.parametrize("name", VICTIMS)
def test_who_else_is_asked_about_and_in_what_order_changes_nothing(name: str) -> None:
    pool = Pool(many_edits(5, 20))
    whole = ask(VICTIMS[name], pool)
    order = np.random.default_rng(0).permutation(pool.size)
    assert np.abs(ask(VICTIMS[name], pool, order) - whole[order]).max() < 1e-5
    single = np.concatenate([ask(VICTIMS[name], pool, [i]) for i in range(0, pool.size, 7)])
    assert np.abs(single - whole[::7]).max() < 1e-5


@pytest.mark.parametrize("name", VICTIMS)
def test_words_that_come_late_and_tables_that_alternate(name: str) -> None:
    here, there = Words(), Words()
    for number in range(1500):
        (here if number % 2 else there).id(f"late{number}")
        if number % 250 < 2:
            table = here if number % 2 else there
            pool = Pool(
                [Variants.at(Text.of("aa bb ab ba aa bb", table), 1, table.ids(["cc", f"x{number}", "ab ab", ""]))]
            )
            assert np.abs(ask(VICTIMS[name], pool) - predicted(VICTIMS[name], pool)).max() < 1e-5


def test_words_it_cannot_tell_apart_share_a_class() -> None:
    table = Words()
    known, other, unknown = table.ids(["aa", "qq", "[UNK]"]).tolist()
    classes = victim(context_free=True).classes(table)
    assert classes is not None
    assert classes[other] == classes[unknown] != classes[known]


def test_without_a_context_free_cutter_all_words_differ() -> None:
    assert victim().classes(Words()) is None


def glued(strings: list[str]) -> list[list[int]]:
    """A cutter for which a star clings to the letters beside it, as an emoji does to a word for BERT."""
    return [[len(t) for t in re.findall(r"[\w★]+|[^\w\s★]", s.replace(BREAK, " | "))] for s in strings]


def test_a_base_whose_tokens_cross_words_is_scored_from_strings() -> None:
    table = Words()
    texts = [Text.of(s, table, i) for i, s in enumerate(["abc★ de, f", "abc de, f", "★ abc ★ f"])]
    pool = Pool([Variants.at(t, 0, table.ids(["ab", "a", ""])) for t in texts])
    seen: list[str] = []

    def whole(rows: Sequence[tuple[str, ...]]) -> list[list[int]]:
        seen.extend(BREAK.join(row) for row in rows)
        return glued([BREAK.join(row) for row in rows])

    asked = victim(cut=glued, encode_whole=whole)
    scores = ask(asked, pool)
    assert seen == ["abc★ de, f", "abc de, f", "★ abc ★ f", "ab★ de, f", "a★ de, f", "★ de, f"]
    assert np.abs(scores - predicted(asked, pool)).max() < 1e-6
    seen.clear()
    assert (ask(asked, pool, [8, 0, 3]) == scores[[8, 0, 3]]).all()
    assert seen == ["ab★ de, f"], "each base is checked once"


def test_nothing_wanted_is_answered_with_nothing() -> None:
    pool = Pool([Variants.itself(Text.of("aa", Words()))])
    assert ask(victim(), pool, []).shape == (0, 2)
    assert victim().predict([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        (lambda ids, _: torch.full((len(ids), 2), torch.nan), "NaN for 1 of 1 texts"),
        (lambda ids, _: torch.zeros(len(ids), 3), "3 labels, expected 2"),
    ],
)
def test_answers_that_are_no_scores(forward: Any, reason: str) -> None:
    asked, pool = victim(forward=forward), Pool([Variants.itself(Text.of("aa", Words()))])
    with pytest.raises(VictimError, match=reason):
        ask(asked, pool)
    with pytest.raises(VictimError, match=reason):
        asked.predict([("aa",)])


def test_a_limit_without_room() -> None:
    with pytest.raises(SettingError, match="got 2"):
        victim(head=(1,), tail=(2,), limit=2)


def test_threads_are_left_alone() -> None:
    before = torch.get_num_threads()
    ask(VICTIMS["lstm"], Pool(many_edits(2, 5)))
    assert torch.get_num_threads() == before
