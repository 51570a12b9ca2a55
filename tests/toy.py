"""A victim of one line, its words, and services small enough to check by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from malaprop.attacks.attack import Attack
from malaprop.attacks.candidates.lookup import Listed, Thesaurus
from malaprop.attacks.search.greedy import Greedy
from malaprop.attacks.sentences.rewriters import PACKAGED_TRANSLATORS, PACKAGED_WRITER
from malaprop.core.ask import MASKED_LM, PARSER, TRANSLATOR, WRITER, Cloze, Guesses, Prompt
from malaprop.core.capability import Capability
from malaprop.core.example import Example, number_rows
from malaprop.core.gradient import Aim, CharLook, CharSeen, MixLook, MixSeen, SlotLook, SlotSeen, WordLook, WordSeen
from malaprop.core.insight import Apart, Blank, Focus, Toward
from malaprop.core.judgement import JUDGE, Judgement
from malaprop.core.text import Text
from malaprop.engine.service import FunctionService, GradientService, InsightService, Scoring, Service, UncachedScoring
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.runs.local import run
from malaprop.models.victims.strings import StringVictim

WEIGHTS = {"good": 2.0, "great": 3.0, "fine": 1.0, "nice": 1.0, "okay": 0.25, "bad": -2.0, "awful": -3.0, "poor": -1.0}
SYNONYMS: dict[str, tuple[str, ...]] = {
    "good": ("fine", "nice"),
    "great": ("fine", "good"),
    "fine": ("okay", "poor"),
    "bad": ("poor", "okay"),
    "awful": ("poor", "bad"),
    "film": ("movie", "picture"),
}
TAGS = {"good": "ADJ", "great": "ADJ", "fine": "ADJ", "bad": "ADJ", "awful": "ADJ", "film": "NOUN", "movie": "NOUN"}


def weigh(text: str | tuple[str, ...]) -> float:
    whole = text if isinstance(text, str) else " ".join(text)
    return sum(WEIGHTS.get(word.strip(".,!?").lower(), 0.0) for word in whole.split())


def predict(texts: Sequence[str | tuple[str, ...]]) -> list[list[float]]:
    """Probabilities of bad and good: the sum of the words' weights through a sigmoid."""
    good = [1 / (1 + math.exp(-weigh(text))) for text in texts]
    return [[1 - p, p] for p in good]


@dataclass
class Calls:
    """A victim's function that notes what it was asked."""

    function: Callable[[Sequence[Any]], Any] = predict
    texts: list[Any] = field(default_factory=list)
    batches: int = 0

    def __call__(self, texts: Sequence[Any]) -> Any:
        self.texts += texts
        self.batches += 1
        return self.function(texts)


def victim(call: Callable[..., Any] = predict, **settings: Any) -> StringVictim:
    return StringVictim(call=call, name="toy", **settings)


def examples(texts: Iterable[str | Mapping[str, str]], *, label: int | None = None, **more: Any) -> list[Example]:
    """Examples with the label that the toy victim gives, or the one given."""
    rows = [{"text": text} if isinstance(text, str) else dict(text) for text in texts]
    labels = [int(weigh(tuple(row.values())) > 0) if label is None else label for row in rows]
    return list(number_rows(zip(rows, labels, strict=True), **more))


def some_examples(count: int = 24, words: int = 8, seed: int = 0) -> list[Example]:
    """Short reviews of known and unknown words."""
    rng = np.random.default_rng(seed)
    known = [*WEIGHTS, "film", "the", "A", "Good", "plot,"]
    return examples(" ".join(rng.choice(known, rng.integers(1, words + 1))) for _ in range(count))


def listed(table: Mapping[str, tuple[str, ...]] | None = None, **parts: Any) -> Attack:
    """Greedy over a small list of synonyms, unless told otherwise."""
    defaults = {"name": "toy", "candidates": Listed(table=table or SYNONYMS), "search": Greedy()}
    return Attack(**(defaults | parts))


def tags(texts: Sequence[Text]) -> list[list[str]]:
    return [[TAGS.get(word.lower(), "X") for word in text.strings] for text in texts]


def encode(strings: Sequence[str]) -> list[np.ndarray[Any, Any]]:
    """Unit vectors of letter counts."""
    rows = [np.asarray([1e-3, *(text.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz")]) for text in strings]
    return [row / np.linalg.norm(row) for row in rows]


def perplexity(strings: Sequence[str]) -> list[float]:
    return [1.0 + len(text) for text in strings]


class Slopes:
    """Exact slopes of the toy victim: edits that put, double or drop a character, and any swap of words."""

    offers = frozenset({Capability.GRADIENTS, Capability.CHARACTERS})

    def __init__(self, inner: StringVictim) -> None:
        self.inner = inner

    def chars(self, looks: Sequence[CharLook]) -> list[CharSeen]:
        out = []
        for look in looks:
            strings = look.text.strings
            edits = [(s, w) for s in look.slots.tolist() for w in self._edits(strings[s], look.operations)]
            edits = edits[: look.most]
            gains = [self._gain(strings[s], w, look.aim) for s, w in edits]
            slots = np.asarray([s for s, _ in edits], np.int64)
            words = [w for _, w in edits]
            answer = self.inner.predict([look.text.values()])[0]
            gained = np.asarray(gains, np.float32)
            out.append(CharSeen(answer=answer, slots=slots, gains=gained, word=lambda e, words=words: words[e]))
        return out

    def words(self, looks: Sequence[WordLook]) -> list[WordSeen]:
        out = []
        for look in looks:
            strings, table = look.text.strings, look.text.table.strings
            edits = zip(look.variants.slots.tolist(), look.variants.words.tolist(), strict=True)
            gains = np.asarray([self._gain(strings[s], table[w], look.aim) for s, w in edits], np.float32)
            out.append(WordSeen(answer=self.inner.predict([look.text.values()])[0], gains=gains))
        return out

    def slots(self, looks: Sequence[SlotLook]) -> list[SlotSeen]:
        return [
            SlotSeen(
                answer=self.inner.predict([look.text.values()])[0],
                weights=np.asarray([abs(weigh(word)) for word in look.text.strings], np.float32),
            )
            for look in looks
        ]

    def mixes(self, looks: Sequence[MixLook]) -> list[MixSeen]:
        """The sum of weights is linear in the shares; no word is barred."""
        out = []
        for look in looks:
            strings, table = look.text.strings, look.text.table.strings
            inside = set(look.slots.tolist())
            rest = sum(weigh(word) for slot, word in enumerate(strings) if slot not in inside)
            weights = np.asarray([weigh(table[w]) for words in look.words for w in words.tolist()], np.float32)
            sign = 1.0 if (look.aim.label == 0) == look.aim.away else -1.0
            odds = sign * (rest + look.shares @ weights)
            slopes = np.repeat((sign * weights)[None], len(look.shares), 0)
            answer = self.inner.predict([look.text.values()])[0]
            out.append(MixSeen(answer=answer, odds=odds, slopes=slopes, barred=np.zeros(len(weights), np.bool_)))
        return out

    @staticmethod
    def _gain(old: str, new: str, aim: Aim) -> float:
        change = weigh(new) - weigh(old)
        return change if (aim.label == 0) == aim.away else -change

    @staticmethod
    def _edits(word: str, operations: Sequence[str]) -> list[str]:
        made = {
            "flip": [word[:i] + "x" + word[i + 1 :] for i in range(len(word)) if word[i] != "x"],
            "insert": [word[:i] + "x" + word[i:] for i in range(len(word) + 1)],
            "delete": [word[:i] + word[i + 1 :] for i in range(len(word)) if len(word) > 1],
        }
        return [new for operation in operations for new in made[operation]]


class Insides:
    """What else there is to see: attention by a word's weight, a vector of two numbers, and words left out."""

    offers = frozenset({Capability.ATTENTION, Capability.EMBEDDINGS, Capability.PADDING})

    def focus(self, looks: Sequence[Focus]) -> list[np.ndarray[Any, Any]]:
        """The share of its weight, whatever its sign."""
        return [shares(look.text) for look in looks]

    def apart(self, looks: Sequence[Apart]) -> list[np.ndarray[Any, Any]]:
        """The vector is the sum of the weights and a tenth of the number of letters."""
        out = []
        for look in looks:
            home = vector(look.origin)
            rows = [np.abs(vector(text) - home).sum() for text in look.variants.texts()]
            out.append(np.asarray(rows, np.float32))
        return out

    def toward(self, looks: Sequence[Toward]) -> list[np.ndarray[Any, Any]]:
        """The border lies where the sum of the weights is nought."""
        out = []
        for look in looks:
            sign = -1.0 if look.label == 1 else 1.0
            home = vector(look.origin)[0]
            rows = [sign * (vector(text)[0] - home) for text in look.variants.texts()]
            out.append(np.asarray(rows, np.float32))
        return out

    def blanked(self, looks: Sequence[Blank]) -> list[np.ndarray[Any, Any]]:
        out = []
        for look in looks:
            rest = [" ".join(w for i, w in enumerate(look.text.strings) if i != s) for s in look.slots.tolist()]
            out.append(np.asarray(predict(rest), np.float32).reshape(-1, 2))
        return out


def shares(text: Text) -> np.ndarray[Any, Any]:
    weights = np.asarray([0.1 + abs(weigh(word)) for word in text.strings], np.float32)
    return weights / weights.sum()


def vector(text: Text) -> np.ndarray[Any, Any]:
    return np.asarray([sum(map(weigh, text.strings)), 0.1 * sum(map(len, text.strings))])


class White:
    """The toy victim with its slopes and its insides to see."""

    def __init__(self, inner: StringVictim) -> None:
        self.inner, self.gradients = inner, Slopes(inner)
        self.attention = self.embeddings = self.padding = Insides()
        seen = dict.fromkeys(Insides.offers, self.attention)
        self.parts = {**dict.fromkeys(self.gradients.offers, self.gradients), **seen}
        self.offers = inner.offers.union(self.parts)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def fill(clozes: Sequence[Cloze]) -> list[Guesses]:
    """A masked language model that expects the same five words everywhere, two of them opposite in mood.

    Of words that it is asked about it finds those likelier that have fewer letters.
    """
    words = ("fine", "awful", "film", "terrible", "great")
    logs = np.log(np.float32([0.4, 0.3, 0.1, 0.1, 0.1]))
    return [
        Guesses(cloze.words, -np.float32([len(word) for word in cloze.words]))
        if cloze.words
        else Guesses(words[: cloze.most], logs[: cloze.most])
        for cloze in clozes
    ]


def translate(sentences: Sequence[str]) -> list[str]:
    """Turn the words around; there and back a sentence is what it was but for great, which becomes nice."""
    return [" ".join(sentence.replace("great", "nice").split()[::-1]) for sentence in sentences]


def write(prompts: Sequence[Prompt]) -> list[tuple[str, ...]]:
    """Answer with the last sentence of the prompt, in which each good is okay, and what is fine is poor."""
    said = [prompt.text.rpartition("Sentence: ")[2].splitlines()[0] for prompt in prompts]
    return [(f"Here it is:\n1. {text.replace('good', 'okay')}", text.replace("fine", "poor"), "") for text in said]


HARMLESS = {"good", "fine", "nice", "great", "film", "movie", "picture"}


def judge(asked: Sequence[Judgement]) -> list[float]:
    """A reader who finds the meaning kept where only harmless words changed, and is unsure of okay."""
    out = []
    for one in asked:
        fresh = {*one.changed.lower().split()} - {*one.original.lower().split()}
        out.append(0.9 if fresh <= HARMLESS else 0.5 if fresh <= HARMLESS | {"okay"} else 0.1)
    return out


def toy_services(target: Any, *, remember: int = 2_000_000) -> dict[str, Service]:
    scoring = Scoring(target, remember=remember)
    white: dict[str, Service] = {}
    if isinstance(target, White):
        white = {
            "gradient": GradientService(target.gradients, scoring),
            "attention": InsightService(target.attention.focus, scoring),
            "embeddings": InsightService(target.embeddings.apart, scoring),
            "toward": InsightService(target.embeddings.toward, scoring),
            "padding": InsightService(target.padding.blanked, scoring),
        }
    return {
        **white,
        "victim": scoring,
        "verify": UncachedScoring(target),
        "tags": FunctionService(tags, key=lambda text: text.parts.tobytes()),
        "synonyms": Thesaurus(),
        "encoder": FunctionService(encode),
        "encoder/rough": FunctionService(encode),
        "encoder/tokens": FunctionService(lambda strings: [np.asarray(encode(string.split())) for string in strings]),
        "grammar": FunctionService(lambda strings: [string.count("ie") for string in strings]),
        "agreement": FunctionService(lambda strings: [string.count("a a") for string in strings]),
        "language-model": FunctionService(perplexity),
        "next-word": FunctionService(lambda asks: [-0.5 * np.asarray([len(w) for w in ask.words]) for ask in asks]),
        "log-probability": FunctionService(lambda texts: [-0.5 * len(text) for text in texts]),
        MASKED_LM: FunctionService(fill),
        JUDGE: FunctionService(judge),
        PARSER: FunctionService(lambda sentences: [()] * len(sentences)),
        **{f"{TRANSLATOR}:{name}": FunctionService(translate) for name in PACKAGED_TRANSLATORS},
        f"{WRITER}:{PACKAGED_WRITER}": FunctionService(write),
    }


def attack_all(attack: Attack, rows: Sequence[Example], target: Any = None, **settings: Any) -> list[Outcome]:
    """Outcomes in the order of the examples."""
    target = target or victim()
    if Capability.NUMBER in attack.needs and isinstance(target, StringVictim):
        call = target.call
        target = victim(lambda texts: [row[1] for row in call(texts)], answers="number")
    if attack.needs - target.offers and isinstance(target, StringVictim):
        target = White(target)
    services = settings.pop("services", None) or toy_services(target)
    found = {o.id: o for o in run(attack, target, rows, services=services, **settings)}
    return [found[row.id] for row in rows]


def only(attack: Attack, text: str | Mapping[str, str], target: StringVictim | None = None, **more: Any) -> Outcome:
    """The outcome of one text."""
    given = {name: more.pop(name) for name in ("label", "editable") if name in more}
    (outcome,) = attack_all(attack, examples([text], **given), target, **more)
    return outcome
