"""Open Multilingual WordNet 1.4: synonyms in some thirty languages, by the senses of WordNet 3.0."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from pathlib import Path

from malaprop.assets import store
from malaprop.assets.archives import Members
from malaprop.assets.chinese import read_synonyms
from malaprop.assets.lexicon import read_packaged
from malaprop.assets.segment import open_segmenter
from malaprop.assets.wordlists import base_forms, is_frequent
from malaprop.core.errors import AssetError
from malaprop.core.text import word_pattern

CODES = {  # of OMW, to those of two letters
    "als": "sq", "arb": "ar", "bul": "bg", "cat": "ca", "cmn": "zh", "dan": "da", "ell": "el", "eus": "eu",
    "fin": "fi", "fra": "fr", "glg": "gl", "heb": "he", "hrv": "hr", "ind": "id", "isl": "is", "ita": "it",
    "jpn": "ja", "lit": "lt", "nld": "nl", "nno": "nn", "nob": "nb", "pol": "pl", "por": "pt", "ron": "ro",
    "slk": "sk", "slv": "sl", "spa": "es", "swe": "sv", "tha": "th", "zsm": "ms",
}  # fmt: skip
_REMEMBERED = 1 << 16  # words whose synonyms are kept
_SHARE = 0.125  # of a word's senses that a synonym must have too: else it is one in a rare sense alone
_WHOLE = 2  # characters of a Chinese word from which on it means one thing
_KIND = 0.25  # of a name's senses that must be of the part of speech in which it stands for the word
_IN_USE = 100_000  # most frequent words of a language among which replacements are


def convert(found: Members, out: Path) -> None:
    """Write a file for each language, with a line for each sense: its number and part of speech, and its words.

    Names of several words are left out, as a slot holds one word.
    """
    is_word = word_pattern().fullmatch
    senses: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for name in sorted(found):
        code = CODES.get(name.rpartition("-")[2].removesuffix(".tab"))
        if code is None:
            continue
        with found[name]() as stream:
            for line in stream.read().decode("utf-8").split("\n"):
                sense, _, rest = line.partition("\t")
                kind, _, word = rest.partition("\t")
                word = word.strip().replace("+", "") if code == "zh" else word.strip()
                if kind.endswith("lemma") and is_word(word):
                    senses[code][sense.replace("-s", "-a")][word] = None
    if not senses:
        raise AssetError("the archive holds no wordnet of Open Multilingual WordNet; fetch it again")
    for code, listed in senses.items():
        lines = ("\t".join((sense, *words)) for sense, words in sorted(listed.items()))
        (out / f"{code}.txt").write_text("\n".join(lines), encoding="utf-8")


class Thesaurus:
    """The words of one language by their senses, and the forms of its words."""

    def __init__(self, code: str, lines: Iterable[str]) -> None:
        self.code = code
        self.names: dict[str, list[str]] = {}
        self._senses: dict[str, list[str]] = defaultdict(list)
        for sense, *words in (line.split("\t") for line in lines if line):
            self.names[sense] = words
            for word in words:
                self._senses[word.lower()].append(sense)
        self._fitting: dict[str, frozenset[str]] = {}
        self.synonyms = lru_cache(_REMEMBERED)(self._find_synonyms)  # of a word; `wide`: in rare senses too
        self.forms = lru_cache(_REMEMBERED)(self._find_forms)

    def __contains__(self, word: str) -> bool:
        return word.lower() in self._senses

    def _bases(self, word: str) -> tuple[str, ...]:
        """Return the word itself and its base form; in German the case says whether it is that of a noun."""
        known = base_forms(self.code)
        found = next((known[form] for form in (word, word.lower(), word.capitalize()) if form in known), word)
        return (word, found)

    def bases(self, word: str) -> tuple[str, ...]:
        """Return the words of the thesaurus of which the word can be a form, itself first, in lower case."""
        return tuple(dict.fromkeys(base.lower() for base in self._bases(word) if base.lower() in self._senses))

    def senses(self, word: str) -> list[str]:
        """Return the senses of the word and of its base forms, as offset and part of speech."""
        return list(dict.fromkeys(sense for base in self.bases(word) for sense in self._senses[base]))

    def _find_synonyms(self, word: str, wide: bool = False) -> tuple[str, ...]:
        found: set[str] = set()
        if self.code == "zh" and len(word) < _WHOLE and not wide:
            return ()  # a character by itself has a sense for each word that it is a part of
        for base in self.bases(word):
            names = self._share_senses(base, 0.0 if wide else _SHARE)
            found.update(filter(None, (self._agree(name, word.lower(), base) for name in names)))
        return tuple(sorted(name for name in found if name.lower() != word.lower() and self._is_in_use(name)))

    def _share_senses(self, base: str, least: float) -> list[str]:
        """Return the names that share this part of the word's senses or more, and whose own senses are of that kind."""
        own = self._senses[base]
        shared: Counter[str] = Counter()
        for sense in own:
            shared.update(
                {name for name in self.names[sense] if name.lower() != base and self._fits(name, sense, base)}
            )
        return [name for name, many in shared.items() if many >= least * len(own)]

    def _fits(self, name: str, sense: str, base: str) -> bool:
        """Whether enough senses of the name are of the part of speech of this sense; in Chinese, whether it is as long.

        A wordnet that was made by machine puts nouns into senses of verbs.
        """
        if self.code == "zh" and abs(len(name) - len(base)) > 1:
            return False
        _, dash, part = sense.partition("-")
        if not dash:
            return True
        return part in self._list_parts(name.lower())

    def _list_parts(self, name: str) -> frozenset[str]:
        """Return the parts of speech that enough senses of the name are of."""
        if name not in self._fitting:
            own = Counter(sense.rpartition("-")[2] for sense in self._senses[name])
            least = _KIND * own.total()
            self._fitting[name] = frozenset(part for part, many in own.items() if many >= least)
        return self._fitting[name]

    def _is_in_use(self, name: str) -> bool:
        if self.code == "th":  # no list says what is frequent, and a name may be a phrase without spaces
            return len(open_segmenter(self.code)(name)) == 1
        return is_frequent(name, self.code, most=_IN_USE)

    def _find_forms(self, word: str) -> tuple[str, ...]:
        """Return the other forms of the word's base forms that are in use, sorted."""
        found = {
            form
            for base in self._bases(word)
            for form in self._forms.get(base, ())
            if form[:1].isupper() == base[:1].isupper()  # a German noun that is made of a verb is another word
        }
        return tuple(sorted(form for form in found if form.lower() != word.lower()))

    @cached_property
    def _forms(self) -> dict[str, list[str]]:
        """The forms in use of each base form."""
        found: dict[str, list[str]] = defaultdict(list)
        for form, base in base_forms(self.code).items():
            if self._is_in_use(form):
                found[base].append(form)
        return found

    def _agree(self, name: str, like: str, base: str) -> str:
        """Return the name in the form that `like` is of `base`; empty where it has no form with such an ending."""
        if like == base:
            return name
        start = _count_shared(like, base)
        old, new = base[start:], like[start:]
        forms = self._forms.get(name) or self._forms.get(name.lower()) or []
        if name.endswith(old) and (made := name[: len(name) - len(old)] + new) in forms:
            return made
        ends = [(_count_shared(form[::-1], like[::-1]), -len(form), form) for form in forms]
        shared, _, form = max(ends, default=(0, 0, ""))
        return form if shared >= max(1, min(2, len(new))) else ""


def _count_shared(one: str, two: str) -> int:
    """Return the length of the common beginning."""
    count = 0
    for a, b in zip(one, two, strict=False):
        if a != b:
            break
        count += 1
    return count


def has_thesaurus(code: str) -> bool:
    """Whether Open Multilingual WordNet has the language."""
    return code in CODES.values()


@cache
def open_thesaurus(code: str) -> Thesaurus:
    """Open the thesaurus of a language, read once a process; of German a short list, and of some an empty one."""
    lines: list[str] = []
    if has_thesaurus(code):
        lines = (store.locate("omw") / f"{code}.txt").read_text(encoding="utf-8").split("\n")
    if code == "zh":  # what the thesaurus of Chinese has is better than what was made from an English one
        better = read_synonyms()
        known = {word for line in better for word in line.split("\t")[1:]}
        rows = (line.split("\t") for line in lines)
        lines = ["\t".join(word for word in row if word not in known) for row in rows] + better
    if code == "de":
        listed = (line for line in read_packaged("german.txt").split("\n") if line and not line.startswith("#"))
        lines = ["\t".join((str(number), *line.split())) for number, line in enumerate(listed)]
    return Thesaurus(code, lines)
