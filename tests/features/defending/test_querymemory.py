"""A memory of queries: which texts are alike, how many of them are answered, and what is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malaprop.core.errors import SettingError
from malaprop.features.defending.stateful import QueryMemory

TEXT = "gripping story told with warmth wit clever dialogue and stunning desert photography"
OTHER = "dreadful sequel wastes famous actors on stale jokes cheap effects and endless chases"
FAR = "quarterly profits rose sharply at munich insurer after currency gains abroad"
SYNONYMS = {"gripping": {"absorbing"}, "story": {"tale"}, "warmth": {"heart"}, "wit": {"humour"}, "clever": {"smart"},
            "stunning": {"gorgeous"}, "photography": {"pictures"}, "dialogue": {"talk"}, "told": {"related"},
            "desert": {"wasteland"}}  # fmt: skip
PAIRS = {word: frozenset(others) for word, others in SYNONYMS.items()} | {
    other: frozenset({word}) for word, others in SYNONYMS.items() for other in others
}

FORMS = [" ".join(form) for form in product(*[(word, *SYNONYMS.get(word, ())) for word in TEXT.split()])]


def make(limit: int = 2, **more) -> QueryMemory:
    return QueryMemory(limit=limit, synonyms=lambda word: PAIRS.get(word, frozenset()), fold=str, **more)


def are_alike(one: str, other: str) -> bool:
    memory = make(limit=1)
    assert memory.admit(one)
    return not memory.admit(other)


@pytest.mark.parametrize(
    "other",
    [
        TEXT.replace("stunning", "dull"),
        " ".join(reversed(TEXT.split())),
        " ".join(TEXT.split()[:7]),  # cut
        f"{FAR} {TEXT} {OTHER}",  # put into others
        " ".join(word for pair in zip(TEXT.split(), FAR.split(), strict=False) for word in pair),  # between others
        TEXT.replace("o", "\N{CYRILLIC SMALL LETTER O}"),
        TEXT.replace("story", "st\u200bory").upper(),
        " ".join(next(iter(SYNONYMS.get(word, {word}))) for word in TEXT.split()),  # every word by a synonym
    ],
)
def test_forms_of_one_text_are_alike(other):
    assert are_alike(TEXT, other)
    assert are_alike(other, TEXT)


@pytest.mark.parametrize("other", [OTHER, FAR, f"{OTHER} {FAR}", "a story", "", "\N{GRINNING FACE}"])
def test_other_texts_are_not(other):
    assert not are_alike(TEXT, other)
    assert not are_alike(other, TEXT)


def test_passages_of_long_texts_are_compared_not_the_whole():
    """A text that hides in two others, each longer than a passage, and differs in all else."""
    fillers = [" ".join(f"{name}{n}" for n in range(40)) for name in ("one", "two")]
    assert are_alike(f"{fillers[0]} {TEXT}", f"{TEXT} {fillers[1]}")
    assert not are_alike(*fillers)


@given(st.lists(st.sampled_from(FORMS), max_size=30), st.integers(1, 6))
def test_of_all_its_forms_by_synonyms_no_more_than_the_limit_are_answered(forms, limit):
    memory = make(limit=limit)
    answered = {form for form in forms if memory.admit(form)}
    assert len(answered) == min(limit, len(set(forms)))


class PlainMemory:
    """What the memory should say, by comparing each text with every other."""

    def __init__(self, limit: int, remember: int, synonyms: Mapping[str, Set[str]]) -> None:
        self.limit, self.remember, self.synonyms = limit, remember, synonyms
        self.texts: list[str] = []  # the oldest first

    def admit(self, text: str) -> bool:
        if text in self.texts:
            self.texts.remove(text)
        elif sum(self.is_like(text, other) for other in self.texts) >= self.limit:
            return False
        self.texts = [*self.texts, text][-self.remember :]
        return True

    def is_like(self, one: str, other: str) -> bool:
        mine, theirs = one.split(), other.split()
        if min(len({*mine}), len({*theirs})) < 3:
            return False
        if any(2 * len(a & b) >= max(6, min(len(a), len(b))) for a in cut_passages(mine) for b in cut_passages(theirs)):
            return True
        meant = {word: {word, *self.synonyms.get(word, ())} for word in mine}
        hit = sum(not others.isdisjoint(theirs) for others in meant.values())
        back = {*theirs} & {*chain.from_iterable(meant.values())}
        return 5 * hit >= 4 * len(meant) and 5 * len(back) >= 4 * len({*theirs})


def cut_passages(words: list[str]) -> list[set[str]]:
    return [{*words[start : start + 16]} for start in range(0, max(1, len(words) - 12), 4)]


def write_forms(random: Random, vocabulary: list[str], many: int) -> Iterator[str]:
    """Forms of a few texts, short and long, in which any share of the words gave way to others."""
    origins = [random.choices(vocabulary, k=random.choice((2, 4, 8, 15, 30, 45))) for _ in range(6)]
    for _ in range(many):
        share = random.random()
        origin = random.choice(origins)[random.randrange(3) :]
        yield " ".join(random.choice(vocabulary) if random.random() < share else word for word in origin)


@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("words", [20, 60, 300])
@pytest.mark.parametrize("remember", [20, 1000])
def test_it_says_what_a_comparison_with_every_text_says(limit, words, remember):
    random = Random(words + limit)
    vocabulary = [f"word{n}" for n in range(words)]
    synonyms = {word: frozenset(random.choices(vocabulary, k=random.randrange(words // 10))) for word in vocabulary}
    memory = QueryMemory(limit=limit, remember=remember, synonyms=synonyms.__getitem__, fold=str)
    plain = PlainMemory(limit, remember, synonyms)
    texts = list(write_forms(random, vocabulary, 150))
    said = [memory.admit(text) for text in texts]
    assert said == [plain.admit(text) for text in texts]
    assert {*said} == {True, False}
    assert len(memory) == len(plain.texts)


def test_a_text_that_was_answered_is_answered_again():
    memory = make(limit=1)
    assert [memory.admit(TEXT) for _ in range(5)] == [True] * 5
    assert len(memory) == 1


def test_what_is_rejected_is_not_remembered():
    memory = make(limit=1)
    assert memory.admit(TEXT)
    assert not memory.admit(TEXT + " indeed")
    assert len(memory) == 1


def test_texts_with_fewer_than_three_words_are_like_no_others():
    memory = make(limit=1)
    assert all(memory.admit(f"very good{'!' * many}") for many in range(5))


def test_the_oldest_is_forgotten_but_not_what_is_asked_again():
    memory = make(limit=1, remember=2)
    assert memory.admit(TEXT)
    assert memory.admit(OTHER)
    assert memory.admit(TEXT)  # now OTHER is the oldest
    assert memory.admit(FAR)
    assert not memory.admit(TEXT + " indeed")
    assert memory.admit(OTHER + " indeed")
    assert len(memory) == 2


def test_pairs_are_one_text():
    memory = make(limit=1)
    assert memory.admit((TEXT, OTHER))
    assert not memory.admit((TEXT, "they liked it"))


def test_threads_share_it():
    memory = make(limit=3)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(memory.admit, FORMS[:200])) == 3


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 5, "remember": 4}])
def test_bad_settings_are_one_line(wrong):
    with pytest.raises(SettingError, match="1 <= limit <= remember"):
        QueryMemory(**wrong)


def test_by_default_words_are_known_by_their_base_forms_and_synonyms(tiny_assets):
    memory = QueryMemory(limit=1)
    assert memory.admit("good films okay poor")
    assert not memory.admit("good film okay poor")
    assert not memory.admit("fine movie okay bad")
