"""Sentence models: rows and back, writing, learning, resuming, measuring."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from small_sentences import SENTENCES, SMALL, blank_model, write_texts

from malaprop.core.errors import DataError, SettingError, VictimError
from malaprop.data.base import load
from malaprop.models.tokens.vocab import Vocab, tokens
from malaprop.papers.natural.models import sentencetraining
from malaprop.papers.natural.models.sentencemodel import NGrams, SentenceModel, is_sentence_model
from malaprop.papers.natural.models.sentences import Codec, distinct, join_tokens, restore_case
from malaprop.papers.natural.models.sentencetraining import bleu, train_sentences
from malaprop.training import folder as unfinished
from malaprop.zoo.pretrain.texts import corpus

_WORDS = st.sampled_from(["a", "man", "is", "n't", "'s", ",", ".", "well", "known", "(", ")", "it", "does"])


@given(st.lists(_WORDS.filter(lambda w: w not in ("n't", "'s")), min_size=1, max_size=8))
def test_joined_words_are_cut_into_the_same_words(words: list[str]) -> None:
    assert tokens(join_tokens(words)) == words


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["it", "does", "n't", "work", "."], "it doesn't work."),
        (["the", "dog", "'s", "tail", ",", "wet"], "the dog's tail, wet"),
        (["(", "no", ")", "!"], "(no)!"),
    ],
)
def test_contractions_and_marks_stand_at_their_words(words: list[str], sentence: str) -> None:
    assert join_tokens(words) == sentence
    assert tokens(sentence) == words


def test_codec_knows_what_fits_and_what_is_unknown() -> None:
    codec = Codec(Vocab.build(["a man eats."]), longest=4)
    assert codec.strings(codec.rows(["A man eats."])) == ["a man eats."]
    assert [codec.fits(s) for s in ("a man", "a man eats a man", "...", "")] == [True, False, False, False]
    assert codec.unknown("A fat man eats pie, pie.") == ("fat", "pie", ",")
    assert restore_case("a man", "The dog") == "A man"
    assert restore_case("a man", "the dog") == "a man"


def test_distinct_sentences_are_distinct_by_their_words() -> None:
    assert distinct(["A man.", "a  man .", "a dog.", "a b c d e"], 4) == ["A man.", "a dog."]


def test_writing_gives_the_same_rows_alone_and_together() -> None:
    model = blank_model()
    z = np.random.default_rng(0).standard_normal((40, 4)).astype(np.float32)
    together = model.generate(z)
    assert together == [model.generate(z[i : i + 1])[0] for i in range(40)]
    assert not any("<" in sentence for sentence in together)
    assert model.generate(z[:0]) == []
    assert model.invert([]).shape == (0, 4)


def test_refining_lowers_the_loss_of_a_sentence() -> None:
    from malaprop.papers.natural.models.arae import reconstruction

    model = blank_model()
    items = list(SENTENCES[:3])
    start = model.invert(items)
    better = model.refine(items, start, steps=30)
    rows = torch.from_numpy(model.codec.rows(items))

    def loss(z: np.ndarray) -> float:
        return float(reconstruction(model.net, model.net.out(torch.from_numpy(z)), rows, 0.0).detach())

    assert loss(better) < loss(start) - 0.05
    alone = model.refine(items[:1], start[:1], steps=30)
    assert np.allclose(alone[0], better[0], atol=1e-3)


@pytest.mark.parametrize("kind", ["arae", "vae"])
def test_a_small_world_is_learnt(kind: str, tmp_path: Path) -> None:
    more = {"beta": 0.01, "steps": 250, "rate": 0.005} if kind == "vae" else {"steps": 100}
    settings: dict[str, Any] = {**SMALL, "rate": 0.01, **more}
    card = train_sentences(kind, corpus(str(write_texts(tmp_path)), load), tmp_path / "m", settings=settings, seed=1)
    assert card.figures["through_z"] >= 0.7  # of 28 words
    assert card.figures["written"] >= 0.7
    assert card.figures["sentences"] >= 4
    assert card.figures["perplexity_back"] < 3 * card.figures["perplexity_real"]
    assert len(card.samples) == 20
    assert card.curves[0]["step"] < card.curves[-1]["step"]
    model = SentenceModel.load(tmp_path / "m")
    assert is_sentence_model(tmp_path / "m")
    back = model.generate(model.invert(SENTENCES))
    right = [
        a == b
        for one, other in zip(back, SENTENCES, strict=True)
        for a, b in zip(*map(tokens, (one, other)), strict=False)
    ]
    assert sum(right) >= 0.8 * len(right)


def test_a_killed_training_ends_with_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {**SMALL, "steps": 30, "critic": 1}
    texts = str(write_texts(tmp_path))
    monkeypatch.setattr(unfinished, "EVERY", 0.0)
    monkeypatch.setattr(sentencetraining, "_LOOK", 10)
    train_sentences("arae", corpus(texts, load), tmp_path / "whole", settings=settings)
    real, count = sentencetraining.Arae.work, 0

    class Killed(Exception):
        pass

    def work(self: object, net: object) -> object:
        made = real(self, net)  # type: ignore[arg-type]
        losses = made.losses

        def counted(rows: torch.Tensor, progress: float) -> object:
            nonlocal count
            count += 1
            if count == 15:
                raise Killed
            return losses(rows, progress)

        made.losses = counted  # type: ignore[method-assign]
        return made

    monkeypatch.setattr(sentencetraining.Arae, "work", work)
    with pytest.raises(Killed):
        train_sentences("arae", corpus(texts, load), tmp_path / "cut", settings=settings)
    assert not is_sentence_model(tmp_path / "cut")
    train_sentences("arae", corpus(texts, load), tmp_path / "cut", settings=settings)
    assert count == 15 + 16  # it went on from step 14
    assert (tmp_path / "cut" / "model.safetensors").read_bytes() == (
        tmp_path / "whole" / "model.safetensors"
    ).read_bytes()


def test_wrong_settings_and_folders_are_refused_in_one_line(tmp_path: Path) -> None:
    texts = str(write_texts(tmp_path))
    for settings, word in (({"strides": [2]}, "as many"), ({"nois": 1}, "noise"), ({"steps": 0}, "above 0")):
        with pytest.raises(SettingError, match=word):
            train_sentences("arae", corpus(texts, load), tmp_path / "m", settings={**SMALL, **settings})
    short = tmp_path / "short.txt"
    short.write_text("one\ntwo\n", encoding="utf-8")
    with pytest.raises(DataError, match="longest"):
        train_sentences("arae", corpus(str(short), load), tmp_path / "m", settings={"longest": 1, "steps": 1})
    with pytest.raises(VictimError, match="malaprop train arae"):
        SentenceModel.load(tmp_path / "nothing")


def test_yardstick_prefers_what_it_counted() -> None:
    grams = NGrams(SENTENCES)
    known, odd = grams.perplexity(["the cat sees the fish."]), grams.perplexity(["fish the sees cat the ."])
    assert 1 < known < 10 < odd
    assert grams.perplexity([]) == float("inf")


def test_bleu_of_equal_and_other_sentences() -> None:
    assert bleu(list(SENTENCES), list(SENTENCES)) == pytest.approx(100)
    assert bleu(["a b c d"], ["e f g h"]) == 0
    assert bleu(["the cat sees the fish."], ["the cat sees the tree."]) == pytest.approx(
        100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    )
