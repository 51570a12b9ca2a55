"""The papers' special models: a text's score is its own, what they show fits their scores, and they can learn."""

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch import nn

from malaprop.core.errors import CapabilityError, SettingError
from malaprop.models.padded_rows import fill_empty_rows
from malaprop.models.tokens.vocab import SEP, UNK, Vocab
from malaprop.training.seeds import seeded
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.blocks.cnn import Channels, Limited, folded, kim_cnn
from malaprop.zoo.blocks.pairs import sides
from malaprop.zoo.blocks.selfattention import transformer
from malaprop.zoo.special_models import SPECIAL_MODELS, Reads, special
from malaprop.zoo.training import Rows, Training, evaluate, fit

SMALL = {
    "BiLSTM-Attention": {"dim": 12, "hidden": 8},
    "Transformer-3": {"dim": 16, "heads": 4, "inner": 32},
    "CharCNN-LSTM": {"char_dim": 8, "filters": 24, "width": 3, "hidden": 12},
    "Kim-CNN": {"dim": 12, "filters": 6},
    "Pair-Average": {"dim": 12, "hidden": 16},
    "Pair-LSTM": {"dim": 12, "hidden": 8, "inner": 16},
    "Pair-BiLSTM-Attention": {"dim": 12, "hidden": 8, "inner": 16},
    "Pair-ESIM": {"dim": 12, "hidden": 8, "dropout": 0.2},
    "Pair-Transformer": {"dim": 16, "heads": 4, "inner": 32},
}
WORDS = Vocab(["<pad>", "<unk>", "<sep>", *(f"w{i}x{i * 7 % 5}" for i in range(40))])


def made(name: str, labels: int = 3, **shape) -> nn.Module:
    with seeded(0):
        model = SPECIAL_MODELS[name].network(len(WORDS), labels, **{**SMALL[name], **shape})
    if isinstance(model.embedding, CharWords):
        model.embedding.open_to(WORDS)
    return model.eval()


def padded(texts: list[list[int]], width: int, fill: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([t + [fill] * (width - len(t)) for t in texts]), torch.tensor([len(t) for t in texts])


def alone(text: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([text], dtype=torch.int64).reshape(1, -1), torch.tensor([len(text)])


TEXTS = [
    [5],
    [],
    [3, 4, 7, 8, 9, 10, 11, 12],
    [6, SEP, 7],
    [UNK, 9, SEP, 2, 5],
    [SEP],
    [SEP, 8, 9],
    [8, 9, SEP],
    [14, 3, SEP, 8, 9, 4, 5],
]


@pytest.fixture(params=SMALL)
def model(request):
    return made(request.param)


def test_every_special_model_is_tried():
    assert list(SMALL) == list(SPECIAL_MODELS)


@torch.inference_mode()
@pytest.mark.parametrize("fill", [0, 9, SEP])
def test_neighbours_and_padding_do_not_change_a_score(model, fill):
    together = model(*padded(TEXTS, 12, fill))
    assert together.shape == (len(TEXTS), 3)
    assert together.isfinite().all()
    for text, row in zip(TEXTS, together, strict=True):
        assert torch.allclose(model(*alone(text))[0], row, atol=1e-5)


@torch.inference_mode()
def test_the_head_reads_what_is_pooled(model):
    rows = padded(TEXTS, 9)
    assert torch.allclose(model.head(model.pooled(*rows)), model(*rows), atol=1e-6)


@torch.inference_mode()
def test_vectors_may_be_given_in_the_place_of_words(model):
    ids, lengths = fill_empty_rows(*padded(TEXTS, 9), model.empty)
    vectors = model.embedding(ids)
    assert torch.allclose(model.from_vectors(vectors, ids, lengths), model(*padded(TEXTS, 9)), atol=1e-6)
    assert not torch.allclose(model.from_vectors(vectors.flip(2), ids, lengths), model(ids, lengths), atol=1e-4)


@torch.inference_mode()
def test_states_are_those_of_the_text_alone(model):
    together = model.states(*padded(TEXTS, 9))
    assert len(together) >= 1
    for place, text in enumerate(TEXTS):
        for layer, own in zip(together, model.states(*alone(text)), strict=True):
            size = max(1, len(text))
            assert torch.allclose(layer[place, :size], own[0, :size], atol=1e-5)
            assert not layer[place, size:].any()


@torch.inference_mode()
@pytest.mark.parametrize("name", [n for n, s in SPECIAL_MODELS.items() if s.attends])
def test_attention_sums_to_one_on_the_text(name):
    model = made(name)
    weights = model.attention(*padded(TEXTS, 9))
    assert weights.shape[0] == (1 if "BiLSTM" in name else 3)
    for place, text in enumerate(TEXTS):
        size = max(1, len(text))
        rows = weights[:, place, :, :1] if weights.shape[3] == 1 else weights[:, place, :, :size]
        whole = 1.0
        if name == "Pair-BiLSTM-Attention":  # a half for each side that has words
            cut = text.index(SEP) if SEP in text else None
            whole = 0.5 if cut is None else 0.5 * (bool(text[:cut]) + bool(text[cut + 1 :]))
        assert torch.allclose(rows[..., :size].sum(-1), torch.full(rows.shape[:-1], whole), atol=1e-5)
        assert not rows[..., size:].any()
        assert torch.allclose(rows[..., :size], model.attention(*alone(text))[:, 0], atol=1e-5)


@torch.inference_mode()
def test_attention_weighs_the_states_that_are_pooled():
    model = made("BiLSTM-Attention")
    rows = padded(TEXTS, 9)
    weighed = torch.einsum("bt,btd->bd", model.attention(*rows)[0, :, 0, 0], model.states(*rows)[-1])
    assert torch.allclose(weighed, model.pooled(*rows), atol=1e-6)


@torch.inference_mode()
def test_the_weights_shown_are_those_the_layer_uses():
    model = made("Transformer-3")
    rows = padded([[5, 6, 7], [8, 9, 10]], 3)
    below, above = model.states(*rows)[1:3]
    layer = model.encoder.stack[0]
    value = layer.mixed(below).view(2, 3, 3, 4, 4)[:, :, 2].transpose(1, 2)
    mixed = (model.attention(*rows)[0] @ value).transpose(1, 2).flatten(2)
    x = layer.norms[0](below + layer.joined(mixed))
    assert torch.allclose(layer.norms[1](x + layer.down(nn.functional.gelu(layer.up(x)))), above, atol=1e-5)


def test_what_does_not_attend_says_so():
    model = made("Kim-CNN")
    assert not model.attends
    with pytest.raises(CapabilityError, match="no attention"):
        model.attention(*alone([5]))
    assert {n for n in SMALL if made(n).attends} == {n for n, s in SPECIAL_MODELS.items() if s.attends}


def test_weights_travel_as_safetensors(model, request):
    name = request.node.callspec.params["model"]
    other = made(name)
    for parameter in other.parameters():
        nn.init.zeros_(parameter)
    other.load_state_dict(load(save({n: t.contiguous() for n, t in model.state_dict().items()})))
    rows = padded(TEXTS, 9)
    with torch.no_grad():
        assert torch.equal(other(*rows), model(*rows))


def texts_of_two_kinds(pairs: bool) -> Rows:
    """Forty texts whose label is a word, or pairs whose label is whether both sides hold the same word."""
    rng = np.random.default_rng(0)
    tokens, labels = [], []
    for number in range(40):
        noise = rng.integers(12, 40, int(rng.integers(1, 7))).tolist()
        label = number % 2
        if pairs:
            word = int(rng.integers(3, 8))
            tokens.append([*noise[:2], word, SEP, word if label else 3 + (word - 2) % 5, *noise[2:4]])
        else:
            noise.insert(int(rng.integers(0, len(noise) + 1)), 3 + label)
            tokens.append(noise)
        labels.append(label)
    return Rows(tokens, labels)


@pytest.mark.parametrize("name", SMALL)
def test_each_learns_forty_texts_by_heart(name):
    model, data = made(name, labels=2), texts_of_two_kinds(SPECIAL_MODELS[name].reads is Reads.PAIR)
    assert evaluate(model, data)[0] < 0.9
    fit(model, data, data, Training(epochs=25, batch=8, rate=1e-2, patience=15))
    assert evaluate(model, data)[0] > 0.95


def test_training_twice_gives_the_same_weights():
    data = texts_of_two_kinds(False)
    one, other = made("CharCNN-LSTM", labels=2), made("CharCNN-LSTM", labels=2)
    for model in (one, other):
        fit(model, data, data, Training(epochs=2, batch=8))
    for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(a, b)


@torch.inference_mode()
def test_a_typo_is_read_by_its_characters():
    model = made("CharCNN-LSTM")
    known = model(*alone([5]))
    typos = model.embedding.extend(["w2xx4", "w2q4"])
    assert typos.tolist() == [len(WORDS), len(WORDS) + 1]
    one, other = (model(*alone([int(number)])) for number in typos)
    assert not torch.allclose(one, other, atol=1e-6)
    assert not torch.allclose(one, known, atol=1e-6)


def test_gradients_flow_from_the_loss_to_each_character():
    model = made("CharCNN-LSTM").train()
    ids, lengths = padded([[5, 6, 7]], 3)
    embedded = model.embedding.char_embeddings(ids)
    logits = model.from_vectors(model.embedding.compose(embedded, model.embedding.signs(ids)), ids, lengths)
    (gradient,) = torch.autograd.grad(logits[0, 0], embedded)
    spelled = model.embedding.signs(ids) != 0
    assert gradient.shape == (1, 3, 24, 8)
    assert gradient[spelled].any()
    assert not gradient[~spelled].any()


@pytest.mark.parametrize("channels", [1, 2])
def test_kim_folds_into_a_plain_cnn(channels):
    model = made("Kim-CNN", channels=channels)
    with torch.no_grad():
        model.head.linear.weight *= 100
        plain, rows = folded(model), padded(TEXTS, 9)
        assert torch.allclose(plain(*rows), model(*rows), atol=1e-5)


def test_one_channel_of_two_stays():
    model = made("Kim-CNN", labels=2, channels=2)
    assert isinstance(model.embedding, Channels)
    model.embedding.start(torch.full((len(WORDS), 12), 0.5))
    fit(model, texts_of_two_kinds(False), texts_of_two_kinds(False), Training(epochs=2, batch=8, rate=1e-2))
    assert torch.equal(model.embedding.fixed[1:], torch.full((len(WORDS) - 1, 12), 0.5))
    assert not model.embedding.fixed[0].any()
    assert not torch.equal(model.embedding.tuned.weight, model.embedding.fixed)


@torch.no_grad()
def test_weights_of_a_label_are_at_most_so_long():
    head = Limited(2, 2, norm=3.0)
    head.linear.weight.copy_(torch.tensor([[6.0, 8.0], [1.0, 0.0]]))
    assert torch.allclose(head.weight(), torch.tensor([[1.8, 2.4], [1.0, 0.0]]))


def test_kims_cnn_has_the_papers_sizes():
    sizes = [tuple(conv.weight.shape) for conv in kim_cnn(9, 2).encoder.convs]
    assert sizes == [(100, 100, 3), (100, 100, 4), (100, 100, 5)]


def test_hotflips_network_has_the_papers_sizes():
    model = SPECIAL_MODELS["CharCNN-LSTM"].network(9, 4)
    assert model.embedding.convs[0].weight.shape == (1000, 25, 6)
    assert [lstm.hidden_size for lstm in model.encoder.lstms] == [500, 500]
    assert len(model.embedding.highways) == 1


def test_a_row_is_taken_apart_at_its_separator():
    ids, lengths = padded([[5, 6, SEP, 7], [5], [SEP, 8, SEP, 9], [5, SEP]], 5, SEP)
    first, second = sides(ids, lengths)
    assert first.columns.tolist() == [[0, 1], [0, 5], [5, 5], [0, 5]]
    assert second.columns.tolist() == [[3, 5, 5], [5, 5, 5], [1, 2, 3], [5, 5, 5]]
    assert (first.lengths.tolist(), second.lengths.tolist()) == ([2, 1, 1, 1], [1, 1, 3, 1])
    vectors = torch.arange(1.0, 21).reshape(4, 5, 1)
    assert first.of(vectors)[..., 0].tolist() == [[1, 2], [6, 0], [0, 0], [16, 0]]
    assert first.back(first.of(vectors), 5)[0, :, 0].tolist() == [1, 2, 0, 0, 0]
    assert second.back(second.of(vectors), 5)[2, :, 0].tolist() == [0, 12, 13, 14, 0]


@torch.inference_mode()
@pytest.mark.parametrize("name", [n for n in SMALL if n.startswith("Pair")])
def test_both_sides_of_a_pair_count(name):
    model = made(name)
    base, *others = (model(*alone(row)) for row in ([5, SEP, 6], [5, SEP, 7], [7, SEP, 6], [5, 6]))
    assert all(not torch.allclose(base, other, atol=1e-6) for other in others)


@torch.inference_mode()
def test_texts_longer_than_the_places_are_read():
    model = made("Transformer-3", places=4)
    assert model(*alone([5, 6, 7, 8, 9, 10])).isfinite().all()


def test_wrong_names_and_sizes():
    assert special("kim-cnn") is SPECIAL_MODELS["Kim-CNN"]
    with pytest.raises(SettingError, match="Kim-CNN"):
        special("KimCNN")
    with pytest.raises(SettingError, match="heads=5"):
        transformer(9, 2, dim=16, heads=5)
    assert all(model.training.epochs for model in SPECIAL_MODELS.values())
