"""Forms of English words: the inflections of a base form, and a base form in the form that another word has.

Irregular forms come from WordNet's own lists, the others from the rules of spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from malaprop.assets.wordnet import PARTS, WordNet

MARKS = {"n": ("", "s"), "v": ("", "s", "ing", "ed", "en"), "a": ("", "er", "est"), "r": ("",)}  # en: past participle
_HISSING = re.compile(r"(?:s|x|z|ch|sh|[^aeiou]o)$")
_SHORT = re.compile(r"[^aeiou]*[aeiou][bdgklmnprtvz]$")  # one vowel, one consonant: the consonant doubles
_COMPARED = re.compile(r"[^aeiouy]*[aeiou]+[^aeiou]*e?|[^aeiouy]*[aeiou]+[^aeiou]+y")  # short enough for -er and -est
_AS_THE_BASE = frozenset(  # verbs whose past is their base form, which WordNet does not list as irregular
    re.split(
        " ",
        "bet bid broadcast burst bust cast cost cut fit forecast hit hurt knit let offset outbid put quit read recast "
        "reset rid set shed shut slit spit split spread sublet thrust typecast undercut upset wed wet",
    )
)
_AS_THE_BASE_AFTER_HAVE = ("come", "run")  # run, ran, run; overcome, overcame, overcome
_REGULAR_NOW = ("burn", "dream", "lean", "leap", "learn", "smell", "spell", "spill", "spoil")  # burnt is listed
_OF_BE_AND_HAVE = {"be": ("is", "being", "was", "been"), "have": ("has", "having", "had", "had")}


def ending(word: str, base: str, pos: str) -> str:
    """Return the ending that the word has as a form of the base: s, ing, ed, er, est, or empty."""
    if word == base or pos == "r":
        return ""
    marks = {"n": ("s",), "v": ("ing", "s"), "a": ("est", "er")}[pos]
    return next((mark for mark in marks if word.endswith(mark)), {"n": "s", "v": "ed", "a": ""}[pos])


def add(base: str, mark: str) -> str:
    """Add an ending to a base form, by the rules of spelling."""
    if mark == "s":
        if base.endswith("y") and base[-2:-1] not in tuple("aeiou"):
            return base[:-1] + "ies"
        return base + ("es" if _HISSING.search(base) else "s")
    if not mark:
        return base
    if base.endswith("ie") and mark == "ing":
        return base[:-2] + "ying"
    if base.endswith("e") and not (mark == "ing" and base.endswith(("ee", "oe", "ye"))):
        return base[:-1] + mark
    if base.endswith("y") and base[-2:-1] not in tuple("aeiou") and mark != "ing":
        return base[:-1] + "i" + mark
    return base + base[-1] + mark if _SHORT.fullmatch(base) else base + mark


def list_forms(wordnet: WordNet, lemma: str, pos: str) -> dict[str, str]:
    """Return every form of a base form by its mark (see MARKS); long adjectives and adverbs have one form."""
    odd = wordnet.irregular(lemma, pos)
    if pos == "n":
        return {"": lemma, "s": odd[0] if odd else add(lemma, "s")}
    if pos == "v":
        return {"": lemma, **_list_verb_forms(lemma, odd)}
    if pos == "a" and odd:
        most = [form for form in odd if form.endswith("st")]
        more = [form for form in odd if form not in most]
        return {"": lemma, "er": (more or [add(lemma, "er")])[0], "est": (most or [add(lemma, "est")])[0]}
    if pos == "a" and _COMPARED.fullmatch(lemma):
        return {"": lemma, "er": add(lemma, "er"), "est": add(lemma, "est")}
    return {"": lemma}


def _list_verb_forms(lemma: str, odd: tuple[str, ...]) -> dict[str, str]:
    if lemma in _OF_BE_AND_HAVE:
        return dict(zip(("s", "ing", "ed", "en"), _OF_BE_AND_HAVE[lemma], strict=True))
    present = {
        "s": add(lemma, "s"),
        "ing": next((form for form in odd if form.endswith("ing") and form != lemma), add(lemma, "ing")),
    }
    pasts = [form for form in odd if not form.endswith(("ing", "s"))]
    if lemma in _AS_THE_BASE:
        return {**present, "ed": lemma, "en": lemma}
    if lemma in _REGULAR_NOW or not pasts:
        return {**present, "ed": add(lemma, "ed"), "en": add(lemma, "ed")}
    if lemma.endswith(_AS_THE_BASE_AFTER_HAVE):
        return {**present, "ed": pasts[0], "en": lemma}
    sung = [form for form in pasts if "u" in form and form.replace("u", "a") in pasts]
    perfect = [*sung, *(form for form in pasts if form.endswith(("n", "ne")) and form.replace("a", "u") not in sung)]
    simple = [form for form in pasts if form not in perfect] or [add(lemma, "ed")]
    return {**present, "ed": simple[0], "en": (perfect or simple)[0]}


def find_marks(wordnet: WordNet, word: str, pos: str) -> frozenset[str]:
    """Return the marks of the forms that a word can be: films (n) is s; put (v) is the base form, ed and en."""
    lower, found = word.lower(), set()
    for base in wordnet.bases(lower, pos):
        exact = {mark for mark, form in list_forms(wordnet, base, pos).items() if form == lower}
        found |= exact or {ending(lower, base, pos)}
    return frozenset(found)


def inflect_each(wordnet: WordNet, lemma: str, like: str, pos: str) -> tuple[str, ...]:
    """Return the lemma in every form that `like` may have: choose, like tried (v), gives chose and chosen."""
    bases = [base for base in wordnet.bases(like, pos) if base != like.lower()]  # a form of another word
    marks = find_marks(wordnet, like, pos) - ({""} if bases else set())
    forms = list_forms(wordnet, lemma, pos)
    return tuple(dict.fromkeys(forms.get(mark, lemma) for mark in MARKS[pos] if mark in marks)) or (lemma,)


_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|[.,;:!?()\"]")  # noqa: RUF001 - a mark parts what stands beside it
_VOWEL = re.compile(r"[aeiou]|hour|hon(?:est|ou?r)|heir")
_AS_CONSONANT = re.compile(r"one|once|uni(?![nm])|eu|us[aeu]|ut[aei]|ub|ur[aeiou]")  # spoken with w or y
_TWICE = frozenset({"that", "had", "very", "so", "no", "really", "ha", "bla", "blah"})
_ONE = frozenset({"a", "an", "this", "every", "each", "another"})
_MANY = frozenset({"these", "those", "many", "several"})
_BASE = frozenset(
    ["to", "will", "would", "can", "could", "should", "must", "may", "might", "shall", "does", "did", "cannot"]
)
_HAVE = frozenset({"has", "have", "had", "having"})


def count_slips(wordnet: WordNet, text: str) -> int:
    """Count the slips of agreement in a text."""
    return sum(1 for _ in find_slips(wordnet, text))


def find_slips(wordnet: WordNet, text: str) -> Iterator[tuple[str, str]]:
    """Yield the pairs of neighbouring words that do not agree."""
    words: Sequence[str] = _WORD.findall(text.lower())
    for one, two in pairwise(words):
        if one[0].isalpha() and two[0].isalpha() and _disagree(wordnet, one, two):
            yield one, two


def _disagree(wordnet: WordNet, one: str, two: str) -> bool:
    if one == two:
        return one not in _TWICE
    if not follows_article(one, two):
        return True
    sole = wordnet.usual(two)
    if sole == 1 << PARTS.index("n"):
        marks = find_marks(wordnet, two, "n")
        return (one in _ONE and marks == {"s"}) or (one in _MANY and marks == {""})
    if sole == 1 << PARTS.index("v"):
        marks = find_marks(wordnet, two, "v")
        return (one in _BASE and bool(marks) and marks <= {"s", "ed", "en"}) or (one in _HAVE and marks == {""})
    return False


def follows_article(before: str, word: str) -> bool:
    """Whether a word may follow `before`, which restricts it where it is a or an: an hour, a union."""
    lower = word.lower()
    vowel = bool(_VOWEL.match(lower)) and not _AS_CONSONANT.match(lower)
    return before.lower() not in ("a", "an") or (before.lower() == "an") == vowel
