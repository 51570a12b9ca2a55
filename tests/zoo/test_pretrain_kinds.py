"""What each pre-training learns and writes: better than word frequencies, and readable without running any code."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file as load_numpy
from safetensors.torch import load_file
from tiny_pretraining import PLANS, no_dataset, sentences, tiny_bert, write

from malaprop.assets.maskedlm import merge_adapter, read_adapter
from malaprop.core.errors import AssetError, DataError, SettingError
from malaprop.models.folder import quietly
from malaprop.training.card import read_card
from malaprop.zoo import pretrain as card
from malaprop.zoo.blocks.elmo import spell
from malaprop.zoo.pretrain import job, masked
from malaprop.zoo.pretrain.elmo import load_elmo
from malaprop.zoo.pretrain.masking import Masking, Symbols

STEPS = {"elmo": 90, "roberta": 150, "albert": 200, "mlm-head": 100}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Each kind once, pre-trained when a test first asks for it."""
    room = tmp_path_factory.mktemp("pretrained")
    data, known = write(room), {}

    def make(kind: str):
        if kind not in known:
            start = str(tiny_bert(room / "bert")) if kind == "mlm-head" else None
            known[kind] = job.pretrain(
                kind,
                data=data,
                read=no_dataset,
                folder=room / kind,
                steps=STEPS[kind],
                settings=PLANS[kind],
                start=start,
                device="cpu",
                quiet=True,
            )
        return known[kind]

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield make
    torch.set_num_threads(threads)


def test_elmo_learns_both_directions(made):
    _, about = made("elmo")
    figures = about.figures
    for side in ("perplexity_forward", "perplexity_backward"):
        # 19 of 22 tokens are a coin's toss: who comes below 1.9 has seen the word that is asked for
        assert 1.9 < figures[side] < figures["perplexity_unigram"] / 4


@pytest.mark.parametrize("kind", ["roberta", "albert", "mlm-head"])
def test_masked_models_learn_what_stands_around(made, kind):
    figures = made(kind)[1].figures
    assert 1.5 < figures["masked_perplexity"] < figures["perplexity_unigram"] / 3
    assert figures["masked_accuracy_at_5"] > figures["masked_accuracy_at_1"] > 0.25


def test_the_head_is_judged_before_and_after(made):
    figures = made("mlm-head")[1].figures
    assert figures["masked_perplexity_before"] > 2 * figures["masked_perplexity"]
    assert figures["masked_accuracy_at_1_before"] < figures["masked_accuracy_at_1"]


@pytest.mark.parametrize("kind", STEPS)
def test_a_folder_says_what_it_is(made, kind):
    folder, about = made(kind)
    assert read_card(folder, "encoder").figures == about.figures
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert about.about in page
    assert "stand-in" in page
    assert f"{about.figures['tokens']:,} tokens" in page
    assert "made.txt" in page
    kept = {path.suffix for path in folder.iterdir()}
    assert kept <= {".json", ".md", ".safetensors", ".txt"}
    assert not list(folder.parent.glob(".*"))


@pytest.mark.parametrize("kind", ["roberta", "albert", "mlm-head"])
def test_transformers_reads_the_folder_offline(made, kind):
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    folder, _ = made(kind)
    local = {"local_files_only": True, "trust_remote_code": False}
    with quietly():
        tokenizer = AutoTokenizer.from_pretrained(folder, **local)
        model = AutoModelForMaskedLM.from_pretrained(folder, **local).eval()
        AutoModel.from_pretrained(folder, **local)
    assert model.get_output_embeddings().weight.data_ptr() == model.get_input_embeddings().weight.data_ptr()
    mask = tokenizer.mask_token or "[MASK]"
    ids = tokenizer(f"rain cloud rain {mask} cloud cloud rain .", return_tensors="pt")["input_ids"]
    hidden = ids == tokenizer.convert_tokens_to_ids(mask)
    assert hidden.sum() == 1
    with torch.inference_mode():
        guess = model(input_ids=ids).logits[hidden].argmax(1)
    assert tokenizer.decode(guess).strip() in ("rain", "cloud")


def test_the_tokenizers_are_of_their_kind(made):
    from transformers import AutoTokenizer

    with quietly():
        byte, lower = (AutoTokenizer.from_pretrained(made(kind)[0]) for kind in ("roberta", "albert"))
    assert byte.decode(byte("The Dog é∞", add_special_tokens=False)["input_ids"]) == "The Dog é∞"
    assert byte.convert_ids_to_tokens(byte("the", "dog")["input_ids"])[:1] == ["<s>"]
    assert lower("The DOG")["input_ids"] == lower("the dog")["input_ids"]
    assert lower.unk_token_id not in lower("dog bone")["input_ids"]
    assert (byte.model_max_length, lower.model_max_length) == (24, 24)


def test_elmo_comes_back_frozen_and_reads_any_word(made):
    folder, about = made("elmo")
    elmo = load_elmo(folder)
    assert not any(p.requires_grad for p in elmo.parameters())
    layers = elmo(torch.from_numpy(spell(["never", "seén", "🙂"])).long()[None], torch.tensor([3]))
    assert layers.shape == (3, 1, 3, 2 * PLANS["elmo"]["dim"])
    assert torch.isfinite(layers).all()
    words = (folder / "words.txt").read_text(encoding="utf-8").splitlines()
    assert words[:2] == ["<unk>", "<break>"]
    assert len(words) == about.figures["words_predicted"] == len(load_file(folder / "output.safetensors")["bias"])


@pytest.mark.parametrize("kind", ["elmo", "albert"])
def test_half_weights_load_as_whole_ones(made, kind, tmp_path):
    data = write(tmp_path)
    folder, _ = job.pretrain(
        kind, data=data, read=no_dataset, folder=tmp_path / "half", steps=2, settings=PLANS[kind], half=True, quiet=True
    )
    assert {t.dtype for t in load_file(folder / "model.safetensors").values()} == {torch.float16}
    if kind == "elmo":
        assert {p.dtype for p in load_elmo(folder).parameters()} == {torch.float32}
    else:
        from transformers import AutoModel

        with quietly():
            assert AutoModel.from_pretrained(folder, local_files_only=True).dtype == torch.float32


def test_a_frozen_encoder_keeps_its_weights(tmp_path):
    start = tiny_bert(tmp_path / "bert")
    folder, _ = job.pretrain(
        "mlm-head",
        data=write(tmp_path),
        read=no_dataset,
        folder=tmp_path / "head",
        steps=4,
        settings=PLANS["mlm-head"] | {"frozen": 1.0},
        start=str(start),
        quiet=True,
    )
    before, after = load_file(start / "model.safetensors"), load_file(folder / "model.safetensors")
    assert all(torch.equal(tensor, after[f"bert.{name}"]) for name, tensor in before.items())


def test_roberta_goes_on_from_a_folder(made, tmp_path):
    first, about = made("roberta")
    _, further = job.pretrain(
        "roberta",
        data=write(tmp_path),
        read=no_dataset,
        folder=tmp_path / "further",
        steps=2,
        settings=PLANS["roberta"] | {"rate": 1e-4},
        start=str(first),
        quiet=True,
    )
    assert further.figures["masked_perplexity_before"] == about.figures["masked_perplexity"]
    assert further.start == "roberta"
    with pytest.raises(AssetError, match="is a roberta, not a albert"):
        job.pretrain("albert", data=write(tmp_path), read=no_dataset, folder=tmp_path / "x", steps=2, start=str(first))


def test_an_earlier_encoder_is_replaced_and_nothing_else(made, tmp_path):
    options = {"data": write(tmp_path), "read": no_dataset, "steps": 1, "settings": PLANS["elmo"], "quiet": True}
    for seed in (0, 1):
        folder, _ = job.pretrain("elmo", folder=tmp_path / "out", seed=seed, **options)
    assert read_card(folder, "encoder").seed == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(SettingError, match="is not a pre-trained encoder; name another folder"):
        job.pretrain("elmo", folder=tmp_path / "mine", **options)
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_without_a_folder_it_lies_in_the_cache(own_cache, tmp_path):
    assert card.found("elmo") is None
    options = {"data": write(tmp_path), "read": no_dataset, "steps": 1, "settings": PLANS["elmo"], "quiet": True}
    folder, _ = job.pretrain("elmo", **options)
    assert card.found("elmo") == folder
    assert own_cache in folder.parents


@pytest.mark.parametrize(
    ("kind", "settings", "says"),
    [
        ("elmoo", {}, "no pretraining is called 'elmoo'; did you mean elmo?"),
        ("elmo", {"depth": 2}, "no setting of elmo is called 'depth'"),
        ("elmo", {"batch": "many"}, "elmo: batch is like 64, got 'many'"),
        ("elmo", {"rate": -1.0}, "must be above 0"),
        ("roberta", {"width": 30, "heads": 4}, "width must be a multiple of heads"),
        ("roberta", {"compile": 1}, "compile is like False, got 1"),
        ("mlm-head", {"frozen": 2.0}, "frozen and masked lie between 0 and 1"),
    ],
)
def test_bad_settings_give_one_line(tmp_path, kind, settings, says):
    with pytest.raises(SettingError) as found:
        job.pretrain(kind, data=write(tmp_path), read=no_dataset, folder=tmp_path / "out", settings=settings)
    assert says in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("kind", ["elmo", "roberta", "albert"])
def test_two_words_are_too_little_text(tmp_path, kind):
    path = tmp_path / "small.txt"
    path.write_text("one\ntwo\n")
    with pytest.raises((DataError, SettingError), match=r"tokens; pre-training needs|too few distinct words"):
        job.pretrain(kind, data=str(path), read=no_dataset, folder=tmp_path / "out", steps=1, quiet=True)
    assert [p.name for p in tmp_path.iterdir()] == ["small.txt"]


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda f: (f / "pretrained.json").unlink(), "is not a pre-trained encoder"),
        (lambda f: (f / "pretrained.json").write_text("{"), "is damaged"),
        (lambda f: (f / "pretrained.json").write_text('{"format": 99}'), "has format 99, this version reads 1 and 3"),
        (lambda f: (f / "model.safetensors").write_bytes(b"cut"), "damaged or cut short"),
    ],
)
def test_a_damaged_folder_is_said(made, tmp_path, damage, says):
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(made("elmo")[0], copy)
    damage(copy)
    with pytest.raises(AssetError, match=says):
        load_elmo(copy)


def test_a_start_that_is_nowhere_is_said(tmp_path):
    with pytest.raises(AssetError, match="is not a folder"):
        job.pretrain("roberta", data=write(tmp_path), read=no_dataset, folder=tmp_path / "o", start="./nowhere")


def test_what_is_hidden():
    symbols = Symbols(begin=0, end=1, mask=2, special=(0, 1, 2))
    masking = Masking(symbols, 100, 0.15, torch.device("cpu"))
    ids = torch.from_numpy(np.random.default_rng(0).integers(3, 100, (400, 42)))
    ids[:, 0], ids[:, -1] = 0, 1
    hidden = masking.hide(ids, torch.Generator().manual_seed(0))
    assert hidden.places.shape == (400, 6)  # 15% of 40
    assert (hidden.wanted >= 3).all()
    assert torch.equal(ids.gather(1, hidden.places), hidden.wanted)
    put = hidden.inputs.gather(1, hidden.places)
    shares = [(put == 2).float().mean(), (put == hidden.wanted).float().mean()]
    assert shares == pytest.approx([0.8, 0.1], abs=0.03)
    untouched = torch.ones_like(ids, dtype=torch.bool).scatter(1, hidden.places, False)
    assert torch.equal(hidden.inputs[untouched], ids[untouched])
    again = masking.hide(ids, torch.Generator().manual_seed(1))
    assert not torch.equal(again.places, hidden.places)


def test_a_row_of_special_tokens_asks_for_nothing():
    masking = Masking(Symbols(begin=0, end=1, mask=2, special=(0, 1, 2)), 10, 0.5, torch.device("cpu"))
    hidden = masking.hide(torch.tensor([[0, 1, 1, 5, 1, 1]]))
    assert sorted(hidden.wanted[0].tolist()) == [-100, 5]


@pytest.mark.assets
def test_the_packaged_encoder_gets_a_head(real_asset, tmp_path):
    real_asset("minilm")
    (tmp_path / "a.txt").write_text("\n".join(sentences(60)))
    folder, about = job.pretrain(
        "mlm-head",
        data=str(tmp_path / "a.txt"),
        read=no_dataset,
        folder=tmp_path / "head",
        steps=8,
        settings={"length": 32, "batch": 4, "frozen": 1.0},
        quiet=True,
    )
    assert about.figures["masked_perplexity"] < about.figures["masked_perplexity_before"]
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bert"


def test_an_adapter_alone_makes_the_trained_model_of_the_published_encoder(tmp_path):
    start = tiny_bert(tmp_path / "bert")
    folder, about = job.pretrain(
        "mlm-head",
        data=write(tmp_path),
        read=no_dataset,
        folder=tmp_path / "head",
        steps=60,
        settings=PLANS["mlm-head"] | {"rank": 4, "rate": 1e-2},
        start=str(start),
        quiet=True,
    )
    assert about.figures["masked_perplexity"] < about.figures["perplexity_unigram"]
    assert (folder / masked.ADAPTERS).stat().st_size < (folder / "model.safetensors").stat().st_size / 2
    published, trained = load_numpy(start / "model.safetensors"), load_numpy(folder / "model.safetensors")
    made = merge_adapter(published, read_adapter(folder / masked.ADAPTERS))
    assert any((trained[f"bert.{name}"] != rows).any() for name, rows in published.items())
    assert set(trained) <= set(made)
    assert all(np.allclose(made[name], rows, atol=0.02) for name, rows in trained.items())
    with pytest.raises(AssetError, match="another encoder"):
        merge_adapter(published, {"bert.encoder.layer.9.x.down": np.zeros((4, 4), np.float32)})
