"""Causal language models as classifiers: the fast path equals the plain one, what cannot be asked is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_causal
import toy

from malaprop.core.errors import MalapropError, SettingError, VictimError
from malaprop.core.pool import Pool
from malaprop.core.text import Text, Words
from malaprop.core.variants import Variants
from malaprop.frame.runs.load_victim import load, wrap
from malaprop.frame.runs.local import run
from malaprop.models.llm.causal import longest_stems, stretches_positions
from malaprop.models.llm.prefix_cache import LabelTree
from malaprop.models.llm.template import TEXT_PROMPT, Shot, Template

LABELS = ("bad film", "very good", "very poor")  # of several tokens, and two that begin alike
FILMS = (
    "a good film about a bad man , and it never ends",
    "this is the dull story of a great actor ; rather moving",
    "quite funny",
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made: dict[tuple[str, bool], Path] = {}

    def find(name: str, *, chat: bool = False) -> Path:
        if (name, chat) not in made:
            made[name, chat] = tiny_causal.folder(tmp_path_factory.mktemp("lm") / name, name, chat=chat)
        return made[name, chat]

    return find


def ask_round(victim: Any, texts: tuple[str, ...] = FILMS) -> tuple[Any, Any]:
    """The fast answers to edits everywhere in several texts, in one round, and the plain ones."""
    table = Words()
    bases = [Text.of(text, table, owner) for owner, text in enumerate(texts)]
    groups = [Variants.itself(bases[0])]
    for base in bases:
        slots = np.arange(base.slots)
        groups.append(Variants.each(base, slots, [table.ids(["film", "xqzzt", ""])] * base.slots))
    pool = Pool(groups)
    wanted = np.arange(pool.size)
    fast = victim.finish(victim.begin(pool, wanted))
    return fast, victim.predict([text.values() for text in pool.texts(wanted)])


@pytest.mark.parametrize("name", tiny_causal.KINDS)
@pytest.mark.parametrize("chat", [False, True])
def test_what_comes_behind_an_edit_is_scored_as_whole_prompts_are(folders: Any, name: str, chat: bool) -> None:
    victim: Any = load(f"causal:{folders(name, chat=chat)}", labels=LABELS)
    assert victim.share
    assert not victim.notes
    before = victim.tokens_read
    fast, plain = ask_round(victim)
    saved = victim.tokens_read - before
    assert np.abs(fast - plain).max() < 1e-4
    assert np.abs(np.log(fast) - np.log(plain)).max() < 1e-3
    assert np.log(plain).std(0).max() > 0.1  # the texts matter at all
    np.testing.assert_allclose(plain.sum(1), 1, atol=1e-5)
    assert saved < victim.meter.tokens_in / 4  # half of them were asked by the plain road


def test_a_prompt_that_begins_with_its_text_shares_the_text_alone(tmp_path: Path) -> None:
    folder = tiny_causal.folder(tmp_path, "gpt2", frame="$A")
    victim: Any = load(f"causal:{folder}", labels=("bad", "good"), prompt="{text} It was")
    reads, answers = [victim.tokens_read], []
    for _ in range(2):
        answers.append(ask_round(victim))
        reads.append(victim.tokens_read)
    assert reads[2] - reads[1] < reads[1] - reads[0]  # the second time its bases are kept
    for fast, plain in answers:
        assert np.abs(fast - plain).max() < 1e-4


def test_bases_that_have_no_room_are_read_anew(folders: Any) -> None:
    victim: Any = load(f"causal:{folders('llama')}", labels=("bad", "good"))
    victim._reader.prefixes.store.room = victim._reader.prefixes.store.weight * 60  # the prompt and one text
    for _ in range(2):
        fast, plain = ask_round(victim)
        assert np.abs(fast - plain).max() < 1e-4


def test_a_words_score_is_the_product_of_its_tokens(folders: Any) -> None:
    torch = pytest.importorskip("torch")
    victim: Any = load(f"causal:{folders('llama')}", labels=LABELS)
    prompt = TEXT_PROMPT.replace("{labels}", "bad film, very good or very poor").replace("{text}", FILMS[0])
    logs = []
    for word in LABELS:
        ids = victim.tokenizer(prompt + " " + word, return_tensors="pt")["input_ids"]
        known = victim.tokenizer(prompt, return_tensors="pt")["input_ids"].shape[1]
        with torch.inference_mode():
            likely = victim.model(ids).logits.log_softmax(-1)[0, :-1]
        logs.append(sum(float(likely[at - 1, ids[0, at]]) for at in range(known, ids.shape[1])))
    wanted = np.exp(np.asarray(logs) - max(logs))
    np.testing.assert_allclose(victim.predict([FILMS[0]])[0], wanted / wanted.sum(), atol=1e-5)


@pytest.mark.parametrize("name", ["llama", "mistral", "gpt2"])
def test_whole_prompts_of_several_lengths_share_a_pass(folders: Any, name: str) -> None:
    torch = pytest.importorskip("torch")
    victim: Any = load(f"causal:{folders(name)}", labels=LABELS)
    rows = victim._rows([(film,) for film in FILMS])
    assert len({len(row) for row in rows}) > 1
    calls = []
    victim.model.register_forward_pre_hook(lambda *_: calls.append(1))
    with torch.inference_mode():
        alone = victim._reader.score_plain(rows, mixed=False)
        apart, calls[:] = len(calls), []
        together = victim._reader.score_plain(rows, mixed=True)
    assert len(calls) < apart
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)


def test_a_short_prompt_among_long_ones_does_not_fill_the_memory_with_logits(folders: Any, monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch")
    victim: Any = load(f"causal:{folders('llama')}", labels=LABELS)
    rows = victim._rows([("quite funny",), *[("a film " + "a " * n,) for n in range(40, 52)]])
    positions = []
    victim.model.lm_head.register_forward_hook(lambda *call: positions.append(call[2].shape[:-1].numel()))
    with torch.inference_mode():
        alone = victim._reader.score_plain(rows, mixed=False)
        for most in (200, 40, 1):
            monkeypatch.setattr("malaprop.models.llm.causal._LOGITS", most * len(victim.tokenizer))
            positions.clear()
            torch.testing.assert_close(victim._reader.score_plain(rows, mixed=True), alone, atol=1e-5, rtol=0)
            assert max(positions) <= max(most, victim._reader.longest)  # one row is asked, whatever it takes


def test_a_stem_that_begins_another_is_not_read_apart() -> None:
    assert longest_stems([(1, 2, 3), (1, 4), (5,), (6, 7)]) == [(1, 2), (6,)]
    assert longest_stems([(1,), (2,)]) == [()]


def test_a_model_whose_positions_depend_on_the_batch_is_not_padded(folders: Any) -> None:
    model = load(f"causal:{folders('llama')}", labels=LABELS).model
    assert not stretches_positions(model)
    model.config.rope_parameters = {"rope_type": "dynamic", "factor": 2.0}
    assert stretches_positions(model)


@pytest.mark.parametrize("name", ["llama", "qwen2"])
def test_sharing_changes_no_status(folders: Any, name: str) -> None:
    spec = f"causal:{folders(name)}#labels=bad/good"
    both = [
        {o.id: (o.status, o.queries.asked, o.adversarial and o.adversarial.text) for o in run(
            toy.listed(), victim, [*toy.examples(FILMS, label=0), *toy.examples(FILMS, label=1)], width=width)}
        for victim, width in ((load(spec), 16), (load(spec + ":share=no"), 16), (load(spec), 1))
    ]  # fmt: skip
    assert both[0] == both[1] == both[2]
    assert len(both[0]) == 6


def test_in_bf16_a_copy_is_asked_and_the_model_itself_confirms(folders: Any) -> None:
    spec = f"causal:{folders('llama')}"
    plain, half = load(spec, labels=("bad", "good")), load(spec, labels=("bad", "good"), precision="bf16")
    assert (plain.precision, half.precision) == ("fp32", "bf16")
    assert load(spec, labels=("bad", "good"), precision="auto").precision == "fp32"  # on a CPU
    rough, exact = ask_round(half)
    fast, same = ask_round(plain)
    assert 1e-5 < np.abs(rough - exact).max() < half.rounding
    np.testing.assert_array_equal(exact, same)
    assert np.abs(fast - same).max() < plain.rounding < half.rounding
    for outcome in run(toy.listed(), half, [*toy.examples(FILMS, label=0), *toy.examples(FILMS, label=1)], width=16):
        if outcome.status == "success":
            found = plain.predict([outcome.adversarial.text])[0]
            np.testing.assert_allclose(outcome.adversarial.scores, found, atol=1e-5)
    with pytest.raises(SettingError, match="fp32 or bf16"):
        load(spec, labels=("bad", "good"), precision="int8")


def test_worked_examples_stand_before_the_text_as_text_or_as_turns(folders: Any) -> None:
    shots = (Shot(("so dull",), "bad"), Shot(("a joy",), "good"))
    made = Template(prompt="Say {labels}.\n\nText: {text}\nAnswer:", words=("bad", "good"), shots=shots)
    assert made.frame().fill(("hm",)) == (
        "Say bad or good.\n\nText: so dull\nAnswer: bad\n\nText: a joy\nAnswer: good\n\nText: hm\nAnswer:"
    )
    assert [turn["role"] for turn in made.messages(("hm",))] == ["user", "assistant"] * 2 + ["user"]
    assert made.messages(("hm",))[0]["content"] == "Say bad or good.\n\nText: so dull\nAnswer:"
    chat: Any = load(
        f"causal:{folders('llama', chat=True)}", labels=("bad", "good"), examples=[("so dull", "bad"), ("joy", "good")]
    )
    row = chat.tokenizer.decode(chat._reader.encode([("hm",)])[0])
    assert row.count("<s>assistant") == 3
    assert row.endswith("Answer:</s>\n<s>assistant\n")
    assert made.with_instruction("Well?").prompt == "Well?\n\nText: {text}\nAnswer:"


def test_pairs_are_put_where_the_prompt_names_them(folders: Any) -> None:
    victim: Any = load(f"causal:{folders('llama')}", labels=("yes", "no"), pairs=True)
    assert victim.predict([("a man runs", "a man moves")]).shape == (1, 2)
    with pytest.raises(VictimError, match=r"\{premise\} and \{hypothesis\}, the text has 1 field"):
        victim.predict(["a man runs"])


def test_a_label_word_that_begins_another_is_refused() -> None:
    with pytest.raises(SettingError, match="begins with all of 'good'"):
        LabelTree.of([(1, 2), (1, 2, 3)], ["good", "goods"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prompt": "Is it good?\n"}, "has no {text}: write {text}"),
        ({"prompt": "no-such-file.txt"}, "is not a readable file .* holds no {text}"),
        ({"prompt": "{premise} follows"}, "has no {hypothesis}"),
        ({"prompt": "{text} {premise} {hypothesis}"}, "both {text} and fields of a pair"),
        ({"labels": ("bad",)}, "at least two labels that differ.* got bad"),
        ({"label_words": ("a", "b", "c")}, "names 3 words, the labels are 2"),
        ({"examples": [("x", "dull")]}, "has the label 'dull'; the labels are bad, good"),
        ({"chat": "maybe"}, "chat is auto or no"),
        ({"prompt": "x " * 300 + "{text}"}, "the prompt alone is longer than the 256 tokens"),
        ({"tempo": 3}, "tempo"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(folders: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(MalapropError, match=said) as error:
        load(f"causal:{folders('llama')}", **{"labels": ("bad", "good"), **options})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("source", ["nothing-here", "no/such/folder", "x.gguf"])
def test_a_causal_model_that_is_not_there_is_refused(source: str) -> None:
    with pytest.raises(VictimError, match="no causal model at"):
        load(f"causal:{source}", labels=("bad", "good"))


def test_a_text_longer_than_the_context_is_an_error_of_its_own(folders: Any) -> None:
    victim = load(f"causal:{folders('llama')}", labels=("bad", "good"))
    found = list(run(toy.listed(), victim, toy.examples(["good " * 300, FILMS[0]], label=1)))
    assert sorted(o.status == "error" for o in found) == [False, True]
    wrong = next(o for o in found if o.status == "error")
    assert "tokens, llama reads" in str(wrong.reason)
    assert "shorten the text or the prompt" in str(wrong.reason)


def test_a_loaded_model_with_its_tokenizer_is_asked_so_too(folders: Any) -> None:
    loaded: Any = load(f"causal:{folders('llama')}", labels=("bad", "good"))
    given = wrap(loaded.model, loaded.tokenizer, labels=("bad", "good"))
    np.testing.assert_array_equal(given.predict(FILMS), loaded.predict(FILMS))
    with pytest.raises(SettingError, match="at least two labels that differ"):
        wrap(loaded.model, loaded.tokenizer)
