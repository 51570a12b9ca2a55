"""A masked language model fills gaps with whole words, whatever its tokenizer, and says what is wrong with a folder."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from tiny_pretraining import PLANS, no_dataset, tiny_bert, write

from malaprop.core.ask import Cloze, Gap
from malaprop.core.errors import AssetError
from malaprop.core.text import word_pattern
from malaprop.models.encoders.masked_lm import MaskedLanguageModel, load_masked_lm
from malaprop.models.scorers.int8 import can_quantise
from malaprop.zoo.pretrain import job


@pytest.fixture(scope="module", params=["roberta", "mlm-head"])
def model(request, tmp_path_factory) -> MaskedLanguageModel:
    room = tmp_path_factory.mktemp(request.param)
    start = str(tiny_bert(room / "bert")) if request.param == "mlm-head" else None
    job.pretrain(
        request.param, data=write(room), read=no_dataset, folder=room / "made", steps=60, settings=PLANS[request.param],
        start=start, device="cpu", quiet=True,
    )  # fmt: skip
    return load_masked_lm(room / "made")


def texts_of(tmp_path) -> list[str]:
    with open(write(tmp_path), encoding="utf-8") as lines:
        return [line.strip() for line in lines][:6]


def test_a_gap_is_filled_with_whole_words_by_their_probability(model, tmp_path):
    for text in texts_of(tmp_path):
        start = text.index(" ") + 1
        end = text.index(" ", start)
        (guess,) = model.fill([Cloze(text, start, end, most=3)])
        assert 1 <= len(guess.words) <= 3
        assert all(word.isalpha() for word in guess.words)
        assert np.all(np.diff(guess.logs) <= 1e-6)
        assert np.exp(guess.logs).sum() <= 1.0001


def test_guesses_are_the_librarys_own_at_the_mask(model, tmp_path):
    text = texts_of(tmp_path)[0]
    start = text.index(" ") + 1
    end = text.index(" ", start)
    (guess,) = model.fill([Cloze(text, start, end, most=1)])
    masked = f"{text[: start - 1]} {model.tokenizer.mask_token}{text[end:]}"
    if model.tokenizer.mask_token == "<mask>":
        masked = f"{text[: start - 1]}{model.tokenizer.mask_token}{text[end:]}"
    ids = model.tokenizer(masked, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logits = model.model(input_ids=ids).logits[0, (ids[0] == model.tokenizer.mask_token_id).nonzero()[0, 0]]
    best = next(t for t in logits.argsort(descending=True).tolist() if model._whole[t])
    assert guess.words == (model.words[best],)


def test_products_in_bytes_change_little(model, tmp_path):
    clozes = [Cloze(text, 0, text.index(" "), words=(text.split()[0], "the")) for text in texts_of(tmp_path)]
    other = copy.copy(model)
    other.quantise()
    assert (other.model is model.model) is (not can_quantise())
    assert (other._head is None) is (model._head is None)
    for one, two in zip(model.fill(clozes), other.fill(clozes), strict=True):
        assert two.logs == pytest.approx(one.logs, abs=0.3)


def test_batches_and_long_texts_change_no_answer(model, tmp_path):
    texts = texts_of(tmp_path)
    long = " ".join(texts * 20)
    at = len(long) // 2
    at = long.index(" ", at) + 1
    clozes = [Cloze(t, 0, t.index(" "), most=2) for t in texts] + [Cloze(long, at, long.index(" ", at), most=2)]
    together, alone = model.fill(clozes), [model.fill([cloze])[0] for cloze in clozes]
    assert [g.words for g in together] == [g.words for g in alone]
    assert model.fill([]) == []


def test_given_words_are_scored_as_they_are_guessed_and_longer_ones_token_by_token(model, tmp_path):
    text = texts_of(tmp_path)[0]
    start = text.index(" ") + 1
    end = text.index(" ", start)
    (guess,) = model.fill([Cloze(text, start, end, most=3)])
    long = guess.words[0] + guess.words[1]
    asked = (*guess.words, long, "x" * 99)
    both = model.fill([Cloze(text, start, end, words=asked), Cloze(text, start, end, most=3)])
    assert (both[0].words, both[1].words) == (asked, guess.words)
    assert np.allclose(both[0].logs[:3], guess.logs, atol=1e-4)
    tokens = model._cut(long, False)
    if model.tokenizer.unk_token_id not in tokens:
        ids, place = model._row(Cloze(text, start, end), masks=len(tokens))
        with torch.inference_mode():
            logs = model.model(input_ids=torch.tensor([ids])).logits[0].log_softmax(1)
        wanted = sum(float(logs[place + i, token]) for i, token in enumerate(tokens))
        assert both[0].logs[3] == pytest.approx(wanted, abs=1e-3)
    assert both[0].logs[4] == -np.inf


def test_where_the_word_is_read_one_token_is_scored_in_the_place_of_one(model, tmp_path):
    text = texts_of(tmp_path)[0]
    start = text.index(" ") + 1
    end = text.index(" ", start)
    (guess,) = model.fill([Cloze(text, start, end, False, 2)])
    (scored,) = model.fill([Cloze(text, start, end, False, words=(*guess.words, guess.words[0] + guess.words[1]))])
    if len(model._cut(text[start:end], False)) == 1:
        assert np.allclose(scored.logs[:2], guess.logs, atol=1e-4)
    assert np.isnan(scored.logs[2])


def test_a_text_that_is_read_as_it_is_is_read_once(model, tmp_path, monkeypatch):
    text = texts_of(tmp_path)[0]
    ends = [(at, at + len(word)) for word in text.split() for at in [text.index(word)]]
    clozes = [Cloze(text, start, end, False, 3) for start, end in ends[:4]]
    alone = [model.fill([cloze])[0] for cloze in clozes]
    seen, plain = [], model._pad
    monkeypatch.setattr(model, "_pad", lambda rows: seen.append(len(rows)) or plain(rows))
    assert [guess.words for guess in model.fill(clozes)] == [guess.words for guess in alone]
    assert seen == [1]


def gaps_of(text: str, *words: str) -> list[Gap]:
    return [Gap(*found.span(), (found[0], *words)) for found in word_pattern().finditer(text)]


def test_words_hidden_in_turn_are_scored_as_one_by_one(model, tmp_path):
    """With as many turns as words each is hidden alone, which is what a cloze asks."""
    texts = texts_of(tmp_path)[:3]
    long = "notaword" * 3
    found = model.compare([(text, gaps_of(text, "the", long)) for text in texts], apart=99)
    for text, logs in zip(texts, found, strict=True):
        clozes = [Cloze(text, gap.start, gap.end, words=gap.words[:2]) for gap in gaps_of(text, "the")]
        for gap, one, cloze in zip(gaps_of(text), logs, model.fill(clozes), strict=True):
            known = model._find_token(gap.words[0]) >= 0
            assert np.isnan(one[0]) == (not known)
            if known and model._find_token("the") >= 0:
                assert one[:2] == pytest.approx(cloze.logs, abs=1e-4)
            assert np.isnan(one[2])


def test_hidden_in_turn_batches_change_nothing_and_long_texts_are_read_in_parts(model, tmp_path, monkeypatch):
    texts = [*texts_of(tmp_path), "", "?!", "... word", " ".join(texts_of(tmp_path) * 12)]
    asked = [(text, gaps_of(text, "the")) for text in texts]
    rows, plain = [], model._pad
    monkeypatch.setattr(model, "_pad", lambda some: rows.extend(some) or plain(some))
    together = model.compare(asked, apart=4)
    assert max(map(len, rows)) <= model.limit
    assert all(row.count(model.tokenizer.mask_token_id) >= 1 for row in rows)
    assert len(rows) <= 4 * (len(texts) + len(texts[-1]) // 100)
    for one, alone in zip(together, (model.compare([ask], apart=4)[0] for ask in asked), strict=True):
        assert np.concatenate([*one, []]) == pytest.approx(np.concatenate([*alone, []]), abs=1e-4, nan_ok=True)
    said = np.asarray([logs[1] for one in together for logs in one])
    assert np.isfinite(said).all() == (model._find_token("the") >= 0)
    assert model.compare([], apart=4) == []


def test_what_is_no_masked_language_model_is_refused(model, tmp_path):
    with pytest.raises(AssetError, match="give a transformers folder"):
        load_masked_lm("./nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(AssetError, match="cannot be read as a masked language model"):
        load_masked_lm(tmp_path / "empty")

    class Without:
        mask_token_id = None

    with pytest.raises(AssetError, match="no mask token"):
        MaskedLanguageModel(model.model, Without())


@pytest.fixture(scope="module")
def of_pieces() -> MaskedLanguageModel:
    """An untrained model whose vocabulary has pieces of words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    names = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        "the",
        "film",
        "mov",
        "go",
        "##ed",
        "##ing",
        "##od",
        "42",
        ".",
    ]
    made = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, **special)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    return MaskedLanguageModel(BertForMaskedLM(BertConfig(vocab_size=len(names), **shape)), tokenizer)


@torch.inference_mode()
def test_a_word_in_pieces_is_replaced_by_the_likeliest_pieces_put_together(of_pieces):
    text, start, end = "the film moved", 9, 14
    row, at = of_pieces._row(Cloze(text, start, end, hidden=False))
    logs = of_pieces._logs_within([row], [range(at, at + 2)]).numpy()
    begins, inner = {"the": 5, "film": 6, "mov": 7, "go": 8}, {"ed": 9, "ing": 10, "od": 11}
    every = {a + b: (logs[0, i] + logs[1, j]) / 2 for a, i in begins.items() for b, j in inner.items()}
    wanted = sorted(every, key=every.__getitem__, reverse=True)[:6]
    (guess, plain) = of_pieces.fill(
        [Cloze(text, start, end, hidden=False, most=6, vocabulary=kind) for kind in ("pieces", "words")]
    )
    assert list(guess.words) == wanted
    assert guess.logs == pytest.approx([every[word] for word in wanted], abs=1e-4)
    assert set(plain.words) == set(begins)  # whole words alone
    (one,) = of_pieces.fill([Cloze(text, 4, 8, hidden=False, most=9, vocabulary="pieces")])
    assert set(one.words) == set(begins)  # of a word in one piece


@torch.inference_mode()
def test_the_peers_vocabularies(of_pieces):
    text = "the film moved"
    (tokens,) = of_pieces.fill([Cloze(text, 4, 8, most=20, vocabulary="tokens")])
    assert set(tokens.words) == {"the", "film", "mov", "go", "ed", "ing", "od", "42"}  # marks of pieces taken off
    row, at = of_pieces._row(Cloze(text, 9, 14, hidden=False))
    best = of_pieces._logs_within([row], [range(at, at + 2)]).topk(3, 1).indices.tolist()
    every = ["".join(of_pieces._pieces[t] for t in (one, two)) for one in best[0] for two in best[1]]
    (first,) = of_pieces.fill([Cloze(text, 9, 14, hidden=False, most=3, vocabulary="top")])
    assert (
        list(first.words) == [word for word in every if word.strip(".") and not word.isspace()][:3]
    )  # in the order of places, unsorted
    (short,) = of_pieces.fill([Cloze(text, 4, 8, hidden=False, most=14, vocabulary="top")])
    assert set(short.words) == {"the", "film", "mov", "go", "42"}
