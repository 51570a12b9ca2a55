"""Every architecture in small: a folder is scored as the library's own pipeline scores it, and can be attacked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.frame.runs.load_victim import load
from malaprop.models.scorers import int8
from malaprop.models.scorers.buckets import Buckets
from malaprop.models.scorers.packedmodel import pack
from malaprop.models.scorers.packing import Packing
from malaprop.models.scorers.plain import make_forward
from malaprop.models.scorers.select_scorer import takes_added_mask
from malaprop.models.victims.strings import StringVictim
from malaprop.models.victims.tokens import TokenVictim

transformers = pytest.importorskip("transformers")
import tiny_folders as tiny  # noqa: E402 - it needs the library

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library's own

TEXTS = tiny.texts(200)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            made[name] = tiny.folder(tmp_path_factory.mktemp("m") / name, name)
        return made[name]

    return folder


def predict(victim: Any, texts: Sequence[str]) -> Any:
    return victim.predict([(text,) for text in texts])


@pytest.mark.parametrize("name", tiny.KINDS)
def test_a_folder_is_scored_as_by_the_librarys_pipeline(folders: Any, name: str) -> None:
    victim = load(folders(name))
    assert isinstance(victim, TokenVictim)
    assert np.abs(predict(victim, TEXTS) - tiny.by_library(folders(name), TEXTS)).max() < 1e-5


@pytest.mark.parametrize("name", tiny.KINDS)
def test_variants_are_scored_as_their_strings(folders: Any, name: str) -> None:
    victim = load(folders(name))
    table = Words()
    words = table.ids(["bad", "", "Moving", victim.unknown, "the man", "quite-odd", "3", "café", "x!", "xqzzt"])
    bases = [Text.of(text, table, owner) for owner, text in enumerate(TEXTS[:12])]
    pool = Pool(
        [Variants.itself(base) for base in bases]
        + [Variants.at(base, slot, words) for base in bases for slot in range(0, base.slots, 3)]
    )
    every = np.arange(pool.size)
    scores = victim.finish(victim.begin(pool, every))
    assert np.abs(scores - victim.predict([text.values() for text in pool.texts(every)])).max() < 1e-5


def fast_scorer(victim: TokenVictim, kind: tiny.Kind, model: Any) -> Packing | Buckets:
    """What the victim would be asked by on a GPU, in float32."""
    separator = 3 if kind.segments and kind.settings.get("type_vocab_size", 2) else None
    rows = [[*victim.rows([(text,)])[0]] for text in TEXTS[:8]]
    network = pack(model, rows, separator=separator)
    assert (network is not None) == kind.fast
    if network is None:
        added = takes_added_mask(model, rows, pad=victim.pad, separator=separator)
        forward = make_forward(model, separator=separator, added=added)
        return Buckets(forward=forward, pad=victim.pad, tokens=256, longest=victim.limit)
    return Packing(network=network, tokens=256, longest=victim.limit)


@pytest.mark.parametrize("name", [name for name in tiny.KINDS if name != "xlnet"])
def test_the_fast_road_scores_as_the_plain_one_in_any_company(folders: Any, name: str) -> None:
    victim, kind = load(folders(name)), tiny.KINDS[name]
    assert isinstance(victim, TokenVictim)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folders(name), dtype=torch.float32).eval()
    quick = replace(victim, scorer=fast_scorer(victim, kind, model))
    table = Words()
    pool = Pool([Variants.itself(Text.of(text, table, owner)) for owner, text in enumerate(TEXTS)])
    every = np.arange(pool.size)
    scores = quick.finish(quick.begin(pool, every))
    assert np.abs(scores - predict(victim, TEXTS)).max() < 1e-5
    assert np.abs(quick.finish(quick.begin(pool, every[::-7])) - scores[::-7]).max() < 1e-6


class Waits(TorchDispatchMode):
    """Counts how often a number of the device is wanted on the host; each keeps a pass from being recorded."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func.overloadpacket in (torch.ops.aten._local_scalar_dense, torch.ops.aten.is_nonzero)
        return func(*args, **(kwargs or {}))


@torch.inference_mode()
@pytest.mark.parametrize(("name", "takes"), [("mpnet", True), ("deberta-v2", False)])
def test_no_pass_of_a_bucket_waits_for_the_device(folders: Any, name: str, takes: bool) -> None:
    """A mask of ones and zeros makes the library ask whether it is full; DeBERTa reads no other, and asks nothing."""
    victim = load(folders(name))
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folders(name), dtype=torch.float32).eval()
    rows = [[*victim.rows([(text,)])[0]] for text in TEXTS[:8]]
    assert takes_added_mask(model, rows, pad=victim.pad) is takes
    ids, lengths = torch.full((8, 20), 5), torch.arange(8, 16)
    counts = []
    for added in (False, takes):
        with Waits() as waits:
            make_forward(model, added=added)(ids, lengths)
        counts.append(waits.count)
    assert counts == [int(takes), 0]


@pytest.mark.parametrize("name", tiny.KINDS)
def test_a_folder_is_attacked_alike_at_any_width(folders: Any, name: str) -> None:
    import malaprop as mp

    victim = load(folders(name))
    examples = [
        (text, int(scores.argmax())) for text, scores in zip(TEXTS[:4], predict(victim, TEXTS[:4]), strict=True)
    ]
    one, many = (mp.attack("deepwordbug", victim, examples, width=width) for width in (1, 8))
    assert {outcome.status for outcome in many} <= {"success", "failed"}
    assert [o.adversarial.text for o in one] == [o.adversarial.text for o in many]
    assert [o.queries for o in one] == [o.queries for o in many]


@pytest.mark.parametrize("name", ["bert", "roberta", "xlnet", "gpt2", "llama-unpadded"])
@pytest.mark.parametrize("sides", [("left", "right"), ("right", "left"), ("left", "left")])
def test_either_side_of_truncation_and_padding(tmp_path: Path, name: str, sides: tuple[str, str]) -> None:
    cut, pad = sides
    folder = tiny.folder(tmp_path / "m", name, truncation_side=cut, padding_side=pad)
    long = [text for text in TEXTS if len(text) > 200][:20]
    victim = load(folder)
    assert isinstance(victim, TokenVictim)
    assert np.abs(predict(victim, long) - tiny.by_library(folder, long)).max() < 1e-5
    base = Text.of(long[0], Words())
    pool = Pool([Variants.at(base, slot, base.table.ids(["bad", "the man"])) for slot in range(base.slots)])
    every = np.arange(pool.size)
    scores = victim.finish(victim.begin(pool, every))
    assert np.abs(scores - victim.predict([text.values() for text in pool.texts(every)])).max() < 1e-5


@pytest.mark.parametrize("name", ["bert", "roberta", "deberta-v2"])
def test_pairs_are_cut_as_the_library_cuts_them(folders: Any, name: str) -> None:
    pairs = [*zip(TEXTS[:60], TEXTS[60:120], strict=True)]
    victim = load(folders(name))
    expected = tiny.by_library(folders(name), [{"text": a, "text_pair": b} for a, b in pairs])
    assert np.abs(victim.predict(pairs) - expected).max() < 1e-5
    table = Words()
    bases = [Text.of({"premise": a, "hypothesis": b}, table, i) for i, (a, b) in enumerate(pairs[:12])]
    pool = Pool([Variants.at(base, slot, table.ids(["bad", "the man"])) for base in bases for slot in (0, 1)])
    every = np.arange(pool.size)
    scores = victim.finish(victim.begin(pool, every))
    assert np.abs(scores - victim.predict([text.values() for text in pool.texts(every)])).max() < 1e-5


def test_half_precision_and_sharded_weights(tmp_path: Path) -> None:
    half = tiny.folder(tmp_path / "half", "roberta", dtype=torch.float16)
    assert np.abs(predict(load(half), TEXTS[:20]) - tiny.by_library(half, TEXTS[:20])).max() < 1e-5
    shards = tiny.folder(tmp_path / "shards", "distilbert", shard="20KB")
    assert len([*shards.glob("*.safetensors")]) > 1
    assert np.abs(predict(load(shards), TEXTS[:20]) - tiny.by_library(shards, TEXTS[:20])).max() < 1e-5


@pytest.fixture(scope="module")
def canine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("c") / "canine"
    config = transformers.CanineConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, num_labels=3,
        max_position_embeddings=512, num_hash_buckets=64, local_transformer_stride=8, pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.CanineForSequenceClassification(config).eval()
    with torch.no_grad():
        for part in model.parameters():
            part.add_(0.2 * torch.randn_like(part))
    model.save_pretrained(folder)
    transformers.CanineTokenizer(model_max_length=tiny.LIMIT).save_pretrained(folder)
    return folder


def test_a_model_whose_answers_depend_on_the_batch_is_asked_text_by_text(canine: Path) -> None:
    victim = load(canine)
    assert isinstance(victim, StringVictim)
    together, alone = predict(victim, TEXTS[:40]), np.concatenate([predict(victim, [t]) for t in TEXTS[:40]])
    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(together - tiny.by_library(canine, TEXTS[:40])).max() < 1e-5


def test_a_precision_is_given_or_refused(folders: Any, canine: Path) -> None:
    full = predict(load(folders("distilbert")), TEXTS[:40])
    victim = load(folders("distilbert"), precision="bf16")
    pool = Pool([Variants.itself(Text.of(text, Words())) for text in TEXTS[:1]])
    half = victim.finish(victim.begin(pool, np.arange(1)))
    assert victim.precision == "bf16"
    assert 1e-6 < np.abs(half - full[:1]).max() < 0.05
    assert np.abs(predict(victim, TEXTS[:40]) - full).max() < 1e-6, "what is confirmed is confirmed in fp32"
    with pytest.raises(SettingError, match="computes in fp32"):
        load(canine, precision="bf16")
    with pytest.raises(SettingError, match="computes in fp32"):
        load("builtins:print", precision="bf16")


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2", "deberta-v2"])
def test_int8_stays_near_and_no_neighbour_changes_it(folders: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "_LEAST", 8)
    victim = load(folders(name), precision="int8")
    assert victim.precision == "int8"
    table = Words()
    pool = Pool([Variants.itself(Text.of(text, table, owner)) for owner, text in enumerate(TEXTS[:60])])
    every = np.arange(pool.size)
    scores = victim.finish(victim.begin(pool, every))
    full = predict(victim, TEXTS[:60])
    assert 1e-5 < np.abs(scores - full).max() < victim.rounding
    for some in (every[::-7], every[3:4]):
        assert np.abs(victim.finish(victim.begin(pool, some)) - scores[some]).max() < 1e-5
    assert np.abs(full - predict(load(folders(name)), TEXTS[:60])).max() < 1e-6, "predict stays fp32"


def test_a_folder_without_tokenizer_files_is_refused(folders: Any, tmp_path: Path) -> None:
    bare = shutil.copytree(folders("distilbert"), tmp_path / "bare")
    for path in bare.glob("*token*"):
        path.unlink()
    with pytest.raises(VictimError, match="tokenizer") as error:
        load(bare)
    assert "\n" not in str(error.value)


def test_a_tokenizer_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = tiny.folder(tmp_path / "m", "bert")
    own = tiny.classifier("bert", 30)
    own.save_pretrained(folder)
    with pytest.raises(VictimError, match="do not belong together"):
        load(folder)


def test_pickled_weights_are_refused_with_the_command_that_converts_them(folders: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(folders("bert"), tmp_path / "old")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(VictimError, match="pickle") as error:
        load(folder)
    code = str(error.value).split('python -c "')[1].removesuffix('"')
    exec(compile(code, "converted", "exec"))
    assert np.abs(predict(load(folder), TEXTS[:5]) - predict(load(folders("bert")), TEXTS[:5])).max() < 1e-6


def test_code_of_its_own_and_missing_shards_are_refused(folders: Any, tmp_path: Path) -> None:
    own = shutil.copytree(folders("bert"), tmp_path / "own")
    config = json.loads((own / "config.json").read_text())
    config["auto_map"] = {"AutoModelForSequenceClassification": "modeling_own.OwnModel"}
    (own / "config.json").write_text(json.dumps(config))
    (own / "modeling_own.py").write_text("raise SystemExit('it was run')")
    with pytest.raises(VictimError, match=r"brings code of its own .*modeling_own.OwnModel.* never run"):
        load(own)
    words = shutil.copytree(folders("bert"), tmp_path / "words")
    about = json.loads((words / "tokenizer_config.json").read_text())
    about["auto_map"] = {"AutoTokenizer": [None, "tokenization_own.Own"]}
    (words / "tokenizer_config.json").write_text(json.dumps(about))
    with pytest.raises(VictimError, match=r"tokenizer_config.json has auto_map: tokenization_own.Own\), which"):
        load(words)
    sharded = tiny.folder(tmp_path / "sharded", "bert", shard="8KB")
    lost = sorted(sharded.glob("model-*.safetensors"))[1]
    lost.unlink()
    with pytest.raises(VictimError, match=rf"{lost.name} is missing: copy the folder again") as told:
        load(sharded)
    assert "\n" not in str(told.value)


def test_texts_that_are_cut_off_are_counted(folders: Any) -> None:
    victim = load(folders("bert"))
    assert isinstance(victim, TokenVictim)
    assert victim.count_cut([("good film",), ("good film " * 30,), ("bad " * 30, "bad " * 30)]) == 2
