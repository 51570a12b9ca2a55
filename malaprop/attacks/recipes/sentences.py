"""Recipes that rewrite whole sentences: translated and back, paraphrased, in another form, beside a neutral one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from malaprop.attacks.attack import Attack, Own, try_in_turn
from malaprop.attacks.constraints.similarity import SentenceCosine
from malaprop.attacks.search.sentences import FromBest, Sentences
from malaprop.attacks.sentences.distract import Distract
from malaprop.attacks.sentences.rewriters import (
    PACKAGED_TRANSLATORS,
    PACKAGED_WRITER,
    PROMPT,
    BackTranslation,
    Paraphrase,
    Rewriter,
)
from malaprop.attacks.sentences.syntax import Parser, Syntax
from malaprop.core.errors import SettingError


def _rewrite(name: str, *rewriters: Rewriter, whole: bool = False) -> Attack:
    return Attack(name=name, candidates=Own(), search=Sentences(rewriters=rewriters, whole=whole))


def back_translation(
    *, there: str = PACKAGED_TRANSLATORS[0], back: str = PACKAGED_TRANSLATORS[1], whole: bool = False
) -> Attack:
    """Ours, after the paraphrases that Sennrich et al. 2016 and Iyyer et al. 2018 get by translating and back.

    Each sentence is translated into another language and back; the rewrites that gain are put in, the most gainful
    sentence first, until the label turns. `there` and `back` are translators; `whole` sends a field as one sentence.
    """
    return _rewrite("back-translation", BackTranslation(there=there, back=back), whole=whole)


def paraphrase(
    *,
    model: str = PACKAGED_WRITER,
    prompt: str | None = None,
    count: int = 4,
    tokens: int = 0,
    heat: float = 0.6,
    similar: float = 0.7,
    whole: bool = False,
) -> Attack:
    """Ours: a language model says each sentence in other words, `count` times; those that gain are put in.

    The model is a causal one of transformers in this process, or one behind a server; `prompt` asks it, a text with
    {text} in it or "@FILE". A text whose sentence vector is less `similar` to the original's is not taken.
    """
    rewriter = Paraphrase(model=model, prompt=_read_prompt(prompt), count=count, tokens=tokens, heat=heat)
    made = _rewrite("paraphrase", rewriter, whole=whole)
    return replace(made, constraints=(SentenceCosine(floor=similar),)) if similar else made


def _read_prompt(prompt: str | None) -> str:
    """Return a prompt given as text, or as @FILE."""
    if prompt is None:
        return PROMPT
    if not prompt.startswith("@"):
        return prompt
    try:
        return Path(prompt[1:]).expanduser().read_text(encoding="utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
        raise SettingError(f"the prompt {prompt[1:]} cannot be read: {reason}") from None


def syntax(*, parser: Parser = "auto") -> Attack:
    """Iyyer et al. 2018, "Adversarial example generation with syntactically controlled paraphrase networks".

    Each sentence in other constructions, of the same words. Differs: the paper trains a network that paraphrases into
    templates of parses; here rules over a dependency parse exchange active and passive, move clauses and times, swap
    what is joined by *and*, and write contractions out or make them.
    """
    return _rewrite("syntax", Syntax(parser=parser))


def distract(*, asides: Sequence[str] | str | None = None, start: bool = True) -> Attack:
    """Jia and Liang 2017, "Adversarial examples for evaluating reading comprehension systems"; Naik et al. 2018.

    A neutral sentence is put behind the text, or before it. Differs: AddSent makes its sentence from a question; here
    it is one of a list of sentences that are true of anything, or of Naik et al.'s tautologies such as "and true is
    true", or of your own `asides`, divided by bars. No word of the text changes.
    """
    given = [one.strip() for one in asides.split("|")] if isinstance(asides, str) else list(asides or ())
    return _rewrite("distract", Distract(asides=tuple(filter(None, given)), start=start))


_NAMED: dict[str, Callable[[], Rewriter]] = {
    "back-translation": BackTranslation,
    "paraphrase": Paraphrase,
    "syntax": Syntax,
    "distract": Distract,
}


def sentence_then_words(
    *, sentences: Sequence[str] | str = "syntax,back-translation", words: str = "textfooler"
) -> Attack:
    """Ours: sentences are rewritten first; where that is not enough, words of the best rewrite change.

    Where no rewrite helps the words either, words of the original change, so that no less falls than to `words` alone.
    `sentences` are rewriters, in their order; `words` is a recipe of one search over words.
    """
    from malaprop.attacks.recipes import RECIPES

    names = [one.strip() for one in sentences.split(",")] if isinstance(sentences, str) else list(sentences)
    if not names or any(name not in _NAMED for name in names):
        raise SettingError(f"sentences are some of {', '.join(_NAMED)}, got {sentences!r}")
    first = _rewrite("sentences", *(_NAMED[name]() for name in names))
    second: Attack = RECIPES[words]()
    onward = replace(second, name=f"{words} on the rewrite", search=FromBest(of=second.search), fallback=None)
    return try_in_turn("sentence-then-words", [first, onward, second])
