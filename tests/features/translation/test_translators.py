"""Translation victims: our folders, functions, and sequence-to-sequence models of transformers."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
import torch

from malaprop.core.errors import SettingError, VictimError
from malaprop.features.translation.attacks.goals import KeywordAppears
from malaprop.features.translation.attacks.replacements import Vocabulary
from malaprop.features.translation.attacks.sweep import WordSweep
from malaprop.features.translation.models.translator import Hint
from malaprop.features.translation.models.victim import load, wrap
from malaprop.features.translation.run import run
from tests.features.translation.small_translators import LEXICON, PAIRS, pairs, word_by_word

SOURCES = [source for source, _ in PAIRS[:6]]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (None, "toy answered None to 2 sentences; expected a list of 2 strings"),
        (["one"], "toy answered 1 string to 2 sentences; expected a list of 2 strings"),
        ("one", "toy answered a str to 2 sentences; expected a list of 2 strings"),
    ],
)
def test_a_function_that_gives_no_translations(answer, says):
    with pytest.raises(VictimError, match=says):
        wrap(lambda texts: answer, name="toy").translate(["a cat", "a dog"])


def test_our_own_folder(trained):
    victim = load(trained)
    found = victim.translate(SOURCES)
    assert found == [target for _, target in PAIRS[:6]]
    assert [victim.translate([source])[0] for source in SOURCES] == found
    assert set(victim.words) <= set(LEXICON)
    assert victim.spells("Katze")
    assert not victim.spells("日本")
    assert "reads 24" in victim.too_long("the cat " * 40)
    assert not victim.too_long(SOURCES[0])
    assert len(victim.translate(["the cat " * 40])) == 1
    assert victim.translate([]) == []


def test_hints_know_what_stands_in_the_output(trained):
    victim = load(trained)
    source, output = "the cat sees a ball.", "der Katze sieht ein Ball."
    other = "the fish sees a ball."
    asked = [Hint(source, output, word, sources=(source, other)) for word in ("Katze", "Fisch", "frisst")] + [
        Hint(source, output, "Katze", blanks=((0, 3), (4, 7)))
    ]
    found = victim.hints(asked)
    katze, fisch, frisst, blanked = found
    assert katze[0] > katze[1] + 0.5
    assert fisch[1] > fisch[0]
    assert katze[0] > frisst[0]
    assert blanked[1] < blanked[0]
    for hint, values in zip(asked, found, strict=True):
        np.testing.assert_allclose(victim.hints([hint])[0], values, atol=1e-4)
    same, apart = (np.abs(a - victim.states([source])[0]).mean() for a in victim.states([source, other]))
    assert same < 1e-6 < apart


def test_a_sweep_that_does_not_fit_is_read_in_halves(trained, monkeypatch):
    victim = load(trained)
    hint = Hint(SOURCES[0], "der Hund.", "Katze", sources=tuple(SOURCES))
    wanted, decode, asked = victim.hints([hint])[0], victim.model.decode, []

    def small_memory(memory, before):
        asked.append(len(before))
        if len(before) > room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return decode(memory, before)

    monkeypatch.setattr(victim.model, "decode", small_memory)
    encode, made = victim.model.encode, list[weakref.ref[object]]()

    def watched(*read):
        assert not [one for one in made if one() is not None], "what did not fit is freed before the halves are read"
        memory = encode(*read)
        made.append(weakref.ref(memory.states))
        return memory

    monkeypatch.setattr(victim.model, "encode", watched)
    room = 5
    np.testing.assert_allclose(victim.hints([hint])[0], wanted, atol=1e-4)
    assert max(asked) > room
    room = 0
    with pytest.raises(torch.OutOfMemoryError):
        victim.hints([hint])


def test_where_a_translation_looks(trained):
    victim = load(trained)
    source, output = "the cat, sees a ball.", "der Katze sieht ein Ball."
    found = victim.look(source, output)
    assert (found.source, found.output) == (tuple(source.split()), tuple(output.split()))
    assert found.weights.shape == (5, 5)
    assert (found.weights >= 0).all()
    assert (found.weights.sum(1) <= 1 + 1e-5).all()
    assert victim.look(source, "").weights.shape == (0, 5)
    long = victim.look("the cat " * 40, output)
    assert len(long.source) == long.weights.shape[1] < 80


def test_our_own_model_is_attacked_the_same_at_any_width(trained):
    victim = load(trained, beam=2)
    attack = WordSweep(
        goal=KeywordAppears(word="Ball"), replacements=Vocabulary(words=victim.words), guided=True, tries=6
    )
    few = pairs([pair for pair in PAIRS if "ball" not in pair[0]][:4])
    one, many = (
        sorted((o.id, o.status, o.adversarial and o.adversarial.text) for o in run(attack, victim, few, width=width))
        for width in (1, 4)
    )
    assert one == many
    assert {status for _, status, _ in one} <= {"success", "failed"}


def test_odd_sources_end_in_an_outcome_each(trained):
    victim = load(trained, beam=1)
    odd = [
        "🙂 🙂 cat",
        "\u200bcat\u0301 runs",
        "a\tcat\nruns",
        "the " + "x" * 500,
        "</s> <pad> cat",
        "ﬁsh ½ ①",
        "؟",
        " ",
    ]
    attack = WordSweep(
        goal=KeywordAppears(word="Ball"), replacements=Vocabulary(words=victim.words), guided=True, tries=2, words=1
    )
    found = {o.original.fields["source"]: o for o in run(attack, victim, pairs([(source, "x") for source in odd]))}
    assert set(found) == set(odd)
    assert [found[odd[i]].status for i in (3, 6, 7)] == ["error"] * 3
    assert "sub-words" in found[odd[3]].reason
    assert {found[odd[i]].status for i in (0, 1, 2, 4, 5)} <= {"success", "failed", "skipped"}


def test_functions(tmp_path, monkeypatch):
    victim = wrap(lambda texts: [text.upper() for text in texts], name="loud")
    assert victim.translate(["a b"] * 70) == ["A B"] * 70
    assert not victim.guides
    for answer in ("abc", ["x"], [1, 2], None):
        with pytest.raises(VictimError):
            wrap(lambda texts, answer=answer: answer, name="bad").translate(["a", "b"])
    with pytest.raises(VictimError, match="no probabilities"):
        victim.hints([Hint("a", "b", "c")])
    (tmp_path / "my_translator.py").write_text("def go(texts):\n    return list(texts)\n")
    monkeypatch.chdir(tmp_path)
    assert load("my_translator:go").translate(["x"]) == ["x"]
    assert wrap(word_by_word).name == "word_by_word"


@pytest.mark.parametrize("spec", ["nowhere", "no_such_module:f", "tests"])
def test_what_is_no_translator(spec, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    with pytest.raises(VictimError):
        load(spec)
    with pytest.raises(SettingError, match="beam"):
        load(spec, beam=0)


@pytest.fixture(scope="module", params=("bart", "t5"))
def foreign(request, tmp_path_factory):
    """A tiny random model of transformers with a tokenizer of the toy words."""
    transformers = pytest.importorskip("transformers")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["<pad>", "<s>", "</s>", "<unk>", ".", *LEXICON, *sorted(set(LEXICON.values()))]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
    marks = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=20, **marks)
    torch.manual_seed(0)
    ids = {
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 2,
        "vocab_size": len(words),
    }
    if request.param == "bart":
        config = transformers.BartConfig(
            d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=16, decoder_ffn_dim=16, max_position_embeddings=24, forced_eos_token_id=None, **ids,
        )  # fmt: skip
        model = transformers.BartForConditionalGeneration(config)
    else:
        config = transformers.T5Config(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, **ids)
        model = transformers.T5ForConditionalGeneration(config)
    folder = tmp_path_factory.mktemp("foreign") / request.param
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_models_of_transformers(foreign):
    victim = load(foreign, beam=2)
    found = victim.translate(SOURCES)
    assert [victim.translate([source])[0] for source in SOURCES] == found
    assert victim.guides
    assert victim.spells("Hund")
    assert not victim.spells("Elefant")
    assert "reads" in victim.too_long("cat " * 40)
    source = SOURCES[0]
    start = source.index("dog")
    first, last = victim.guide.within(source, start, start + 3)
    assert victim.tokenizer.convert_ids_to_tokens(victim.guide.source(source)[first:last]) == ["dog"]
    hint = Hint(source, found[0], "Hund", sources=(source, "a cat"))
    blank = Hint(source, found[0], "Hund", blanks=((start, start + 3), (0, 3)))
    together = victim.hints([hint, blank])
    for asked, values in zip((hint, blank), together, strict=True):
        assert np.isfinite(values).all()
        np.testing.assert_allclose(victim.hints([asked])[0], values, atol=1e-4)
    whole, hidden = (
        victim.guide._read([victim.guide.source(source)], [span]).states for span in ((0, 0), (first, last))
    )
    assert not whole.allclose(hidden)
    assert victim.states([source])[0].shape == (16,)


def test_a_model_of_transformers_is_attacked(foreign):
    victim = load(foreign, beam=1)
    attack = WordSweep(
        goal=KeywordAppears(word="Fisch", free=True),
        replacements=Vocabulary(words=tuple(LEXICON)),
        guided=True,
        tries=4,
    )
    assert {o.status for o in run(attack, victim, pairs(PAIRS[:2]))} <= {"success", "failed", "skipped"}
