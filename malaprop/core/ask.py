"""How an attack requests work: it yields an Ask and is sent the answers; and what it asks models of language."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from malaprop.core.score import Floats

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to a named service; the answer is a list, one entry an item.

    For a victim the items are Variants, also of different bases, and each answer is a float array [variant, label].
    An ask without items is answered at once with [].
    """

    service: str
    items: Sequence[Any]  # each service says what it takes


Steps = Generator[Ask, list[Any], T]  # an attack on one example, or a part of one


class ServiceFailed(Exception):  # noqa: N818 - it is thrown into the generator that asked, and the attack catches it
    """A service failed on this request, also when the request was sent alone; the message is the reason."""


def relay(
    steps: Steps[T], answer: Callable[[Ask], Steps[list[Any]]], *, begin: Callable[[Steps[T]], Ask] = next
) -> Steps[T]:
    """Run an attack with `answer` in place of the services: it answers each request, and may send others for it.

    `begin` starts the attack and returns its first request.
    """
    try:
        ask = begin(steps)
        while True:
            try:
                reply = yield from answer(ask)
            except ServiceFailed as failure:
                ask = steps.throw(failure)
            else:
                ask = steps.send(reply)
    except StopIteration as done:
        ended: T = done.value
        return ended
    finally:
        steps.close()


# --- requests to language models: fill a place of a text (`Cloze`), score words as the next one (`NextWord`)

Vocabulary = Literal["words", "pieces", "tokens", "top"]
MASKED_LM = "masked-lm"  # the service of the packaged model; MASKED_LM:NAME is that of another, by folder or hub name


@dataclass(frozen=True, slots=True)
class Cloze:
    """A place of a text that a masked language model fills: characters `start` to `end`, an empty span to insert.

    With `hidden` the model does not see what stands there; without, it reads the text as it is and predicts what else
    could stand in that place. With `words` the answer scores each of them; without, it holds the `most` likeliest words
    of a vocabulary:

    - `words`: tokens that are whole words of letters;
    - `pieces`: the same, but where the model cuts the word that stands there into several pieces, and sees it, words
      put together of the pieces that are likeliest in their places (BERT-Attack);
    - `tokens`: any token of letters and digits, the mark of a piece taken off (as TextAttack's BAE and CLARE have it);
    - `top`: of the `most` likeliest tokens those that are whole words; of a word in several pieces the first `most`
      combinations of the likeliest tokens of each place, in their order (as TextAttack's BERT-Attack has it).
    """

    text: str
    start: int
    end: int
    hidden: bool = True
    most: int = 50
    words: tuple[str, ...] = ()
    vocabulary: Vocabulary = "words"


class Gap(NamedTuple):
    """A word of a text, as a span of characters, and candidates for its place."""

    start: int
    end: int
    words: tuple[str, ...]


class Guesses(NamedTuple):
    """The answer to a cloze: whole words, the likeliest first, and the logarithms of their probabilities."""

    words: tuple[str, ...]
    logs: Floats


NEXT_WORD = "next-word"  # the service; its answer is a float array, one number for each word


@dataclass(frozen=True, slots=True)
class NextWord:
    """A question to a causal language model: how likely is each word after the text's characters up to `end`?

    The answer holds, for each word, the logarithm of the probability of its first token.
    """

    text: str
    end: int
    words: tuple[str, ...]


# --- requests for whole sentences: translate them, write them anew, parse them

TRANSLATOR = "translator"  # TRANSLATOR:NAME is a service from strings to strings; an empty answer is no translation
WRITER = "writer"  # WRITER:NAME is a language model that continues a `Prompt`; its answer is a list of strings


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that a language model answers `count` times, each time drawn anew by the seed.

    An answer has at most so many `tokens`; `heat` is the temperature, and 0 takes the likeliest token each time.
    """

    text: str
    count: int = 1
    tokens: int = 64
    heat: float = 0.8
    seed: int = 0


PARSER = "parser"  # the service from strings to their tokens (`Leaf`); an empty answer where no parser is installed


class Leaf(NamedTuple):
    """A token of a parsed sentence: the word that it depends on, and its role there (nsubj, dobj, ...)."""

    text: str
    space: bool  # whether white space follows
    lemma: str
    tag: str  # of the Penn Treebank: NN, VBD, ...
    role: str
    head: int  # the place of that word; its own place for the root
