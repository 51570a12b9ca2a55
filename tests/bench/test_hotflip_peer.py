"""The HotFlip comparison: both sides must read one text alike, and a missing environment is said in one line."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import toy
from malaprop_bench import hotflip_peer, peer_hotflip, peer_lstm

WORDS = ["good", "bad", "film", "the", "a"]
VECTORS = torch.randn(len(WORDS), 6, generator=torch.Generator().manual_seed(0))


def test_words_are_split_at_spaces_and_the_rest_is_unknown():
    reader = peer_lstm.Reader(WORDS)
    assert reader(["The GOOD  film", "", "good, film"]) == [[3, 0, 2], [], [5, 2]]


def test_a_text_scores_alike_alone_and_masked():
    torch.manual_seed(0)
    model = peer_lstm.PeerLSTM(peer_lstm.start(WORDS, VECTORS)).eval()
    assert model.pad == len(WORDS) + 1
    both = torch.tensor([[0, 2, 3], [1, 0, 0]])
    inside = torch.tensor([[1, 1, 1], [1, 0, 0]])
    together = model(both, inside)
    assert torch.allclose(together[0], model(both[:1])[0], atol=1e-6)
    assert torch.allclose(together[1], model(both[1:, :1])[0], atol=1e-6)


def test_it_learns_and_is_handed_over(tmp_path):
    rows = toy.examples(["good film", "bad film", "the good", "the bad"] * 8)
    model = peer_lstm.train(WORDS, VECTORS, rows, epochs=30)
    ids = torch.tensor([[0, 2], [1, 2]])
    assert model(ids).argmax(1).tolist() == [1, 0]
    peer_lstm.save(tmp_path, model, WORDS)
    with np.load(tmp_path / peer_lstm.WEIGHTS, allow_pickle=False) as arrays:
        assert "emb_layer.embedding.weight" in arrays.files
        assert arrays["out.weight"].shape == (2, peer_lstm.HIDDEN)
    words = np.load(tmp_path / "cache" / "word_embeddings" / "glove200" / "glove.wordlist.npy", allow_pickle=False)
    assert words.tolist() == WORDS


@pytest.mark.parametrize(
    ("text", "alike"), [("a good film .", True), ("a good, bad film", False), ("well-made film", True), ("good", False)]
)
def test_texts_whose_words_both_sides_cut_alike(text, alike):
    assert hotflip_peer.split_alike(toy.examples([text])[0]) == alike


def test_a_missing_environment_is_said_in_one_line(tmp_path, capsys):
    assert hotflip_peer.main(["--python", str(tmp_path / "none")]) == 2
    assert "make bench-peers" in capsys.readouterr().err


def test_both_sides_read_as_many_tokens():
    assert peer_hotflip.LENGTH == peer_lstm.LENGTH
