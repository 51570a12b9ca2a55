"""WordNet 3.0 as an index of our own: built once, read in a moment, the same answers as NLTK's."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malaprop.assets import store
from malaprop.assets.archives import Members, copy
from malaprop.core.distinct import sort_distinct
from malaprop.core.errors import AssetError, SettingError
from malaprop.core.variants import runs

PARTS = "nvar"  # noun, verb, adjective (satellites too), adverb
NEITHER = 1 << len(PARTS)  # the bit of a word that is listed under none of them
USUAL = 0.3  # a part of speech is usual for a word that has it in this share of its uses
_FILES = dict(zip(PARTS, ("noun", "verb", "adj", "adv"), strict=True))
_KINDS = {"1": "n", "2": "v", "3": "a", "4": "r", "5": "a"}  # of a sense key
_MARKER = re.compile(r"\((?:a|p|ip)\)$")  # where an adjective may stand
_ENDINGS = {  # from an inflected form to a base form, as in WordNet's own morphy
    "n": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "v": "s: ies:y es:e es: ed:e ed: ing:e ing:",
    "a": "er: est: er:e est:e",
    "r": "",
}
_RULES = {pos: [tuple(rule.split(":")) for rule in rules.split()] for pos, rules in _ENDINGS.items()}
_BY_LAST: dict[str, list[tuple[str, str, int]]] = {}  # the same by a form's last letter: old and new ending, the bit
for _bit, _pos in enumerate(PARTS):
    for _old, _new in _RULES[_pos]:
        _BY_LAST.setdefault(_old[-1], []).append((_old, _new, 1 << _bit))
_PEER_WORD = re.compile(r"[\w'\-*@]+")  # what TextAttack takes for one word

_REMEMBERED = 1 << 16  # words whose synonyms are kept
_BITS = [[bit for bit in range(len(PARTS)) if mark >> bit & 1] for mark in range(1 << len(PARTS))]
_NOTHING: dict[int, list[str]] = {}

Ints = NDArray[np.int32]
Places = NDArray[np.int64]


class WordNet:
    """WordNet's words, senses and forms, held as flat arrays.

    Words are looked up in lower case; names are returned as WordNet writes them.
    """

    def __init__(self, folder: Path) -> None:
        self._names = (folder / "names.txt").read_text(encoding="utf-8").split("\n")
        keys = (folder / "lemmas.txt").read_text(encoding="utf-8").split("\n")
        self._keys = dict(zip(keys, range(len(keys)), strict=True))
        self._lemmas = keys
        with np.load(folder / "index.npz", allow_pickle=False) as held:
            self._arrays: dict[str, Ints] = {name: held[name] for name in held.files}
        self._irregular: dict[str, dict[str, list[str]]] = json.loads((folder / "irregular.json").read_text("utf-8"))
        self._spans = {pos: (self._arrays[f"from_{pos}"], self._arrays[f"senses_{pos}"]) for pos in PARTS}
        self._marks = self._listed_as()
        self._odd: dict[str, dict[int, list[str]]] = defaultdict(dict)  # form to its bases, by the bit of the part
        for bit, pos in enumerate(PARTS):
            for form, bases in self._irregular[pos].items():
                self._odd[form][1 << bit] = bases
        # one number at a time is read from a view in a tenth of the time it takes from an array
        self._counts = _view(self._arrays["counts"])
        self._views = {pos: (_view(starts), _view(synsets)) for pos, (starts, synsets) in self._spans.items()}
        self._members = (_view(self._arrays["members_from"]), _view(self._arrays["members"]))
        self._bases = lru_cache(_REMEMBERED)(self._find_bases)
        self._synonyms = lru_cache(_REMEMBERED)(self._find_synonyms)
        self._forms = lru_cache(4)(self._find_forms)
        self._peers: dict[str, tuple[str, ...]] = {}  # what TextAttack takes for a word
        self._single = np.full(len(self._names), -1, np.int8)  # whether it takes a name for one word; -1: not known yet

    def _listed_as(self) -> bytes:
        """Return for each lemma a byte with a bit for each part of speech under which it is listed."""
        marks = np.zeros(len(self._lemmas), np.uint8)
        for bit, pos in enumerate(PARTS):
            starts = self._spans[pos][0]
            marks |= (np.diff(starts[: len(marks) + 1]) > 0).astype(np.uint8) << bit
        return marks.tobytes()

    def _mark(self, lemma: str) -> int:
        place = self._keys.get(lemma)
        return 0 if place is None else self._marks[place]

    def _has(self, lemma: str, pos: str) -> bool:
        return bool(self._mark(lemma) >> PARTS.index(pos) & 1)

    def _find_bases(self, word: str, pos: str) -> tuple[str, ...]:
        word = word.lower().replace(" ", "_")
        forms = self._irregular[pos].get(word)
        if forms is None:
            forms = [word[: -len(old)] + new for old, new in _RULES[pos] if word.endswith(old)]
        return tuple(dict.fromkeys(form for form in (word, *forms) if self._has(form, pos)))

    def bases(self, word: str, pos: str) -> tuple[str, ...]:
        """Return every lemma of that part of speech of which the word can be a form, the word itself first."""
        _known(pos)
        return self._bases(word, pos)

    def lemma(self, word: str, pos: str) -> str | None:
        """Return the first of the word's `bases`; None where it has none."""
        return next(iter(self.bases(word, pos)), None)

    def marks(self, word: str) -> int:
        """Return the parts of speech that the word can be, as bits in the order of PARTS; faster than `parts`."""
        word = word.lower().replace(" ", "_")
        get, listed = self._keys.get, self._marks
        place = get(word)
        found = 0 if place is None else listed[place]
        odd = self._odd.get(word, {})
        for old, new, bit in _BY_LAST.get(word[-1:], ()):
            if not found & bit and bit not in odd and word.endswith(old):
                place = get(word[: -len(old)] + new)
                found |= 0 if place is None else listed[place] & bit
        for bit, bases in odd.items():
            found |= bit & (any(self._mark(base) & bit for base in bases) * bit)
        return found

    def usual(self, word: str) -> int:
        """Return the usual parts of speech of the word, as bits in the order of PARTS; NEITHER where none is listed.

        The counts of WordNet's tagged texts decide, with half a use added to every listed part.
        """
        marks = self.marks(word)
        if marks & (marks - 1) == 0:
            return marks or NEITHER
        counts = self.frequency(word)
        least = USUAL * (sum(counts.values()) + 0.5 * len(counts))
        return sum(1 << PARTS.index(pos) for pos, count in counts.items() if count + 0.5 >= least) or marks

    def parts(self, word: str) -> frozenset[str]:
        """Return which of n, v, a, r the word can be."""
        found = self.marks(word)
        return frozenset(pos for bit, pos in enumerate(PARTS) if found >> bit & 1)

    def senses(self, word: str, pos: str | None = None) -> list[int]:
        """Return the numbers of the word's synsets, in each part of speech the more frequent first."""
        found: dict[int, None] = {}
        can_be = self.marks(word)
        for one in PARTS if pos is None else _known(pos):
            if can_be >> PARTS.index(one) & 1:
                starts, synsets = self._views[one]
                for base in self._bases(word, one):
                    place = self._keys[base]
                    found |= dict.fromkeys(synsets[starts[place] : starts[place + 1]].tolist())
        return list(found)

    def senses_of_base(self, lemma: str, pos: str) -> list[int]:
        """Return the numbers of a lemma's synsets in one part of speech, in WordNet's order; no forms of it."""
        place = self._keys.get(lemma)
        if place is None:
            return []
        starts, synsets = self._views[_known(pos)]
        found: list[int] = synsets[starts[place] : starts[place + 1]].tolist()
        return found

    def names(self, synset: int) -> list[str]:
        """Return the names in a synset, with underscores for spaces, in WordNet's order."""
        starts, members = self._members
        names = self._names
        return [names[i] for i in members[starts[synset] : starts[synset + 1]].tolist()]

    def _find_synonyms(self, word: str, pos: str | None, multiword: bool) -> tuple[str, ...]:
        found = {name for synset in self.senses(word, pos) for name in self.names(synset)}
        single = {name.replace("_", " ") for name in found if multiword or "_" not in name}
        return tuple(sorted(name for name in single if name.lower() != word.lower()))

    def synonyms(self, word: str, pos: str | None = None, *, multiword: bool = False) -> tuple[str, ...]:
        """Return the names in all synsets of the word and its base forms, sorted, without the word itself in any case.

        `pos` None stands for all four. Names are base forms: see `inflect_each` to give them the word's ending.
        """
        return self._synonyms(word, pos, multiword)

    def peer_synonyms(self, words: Sequence[str]) -> list[tuple[str, ...]]:
        """Return for each word the synonyms that TextAttack 0.3.11 takes (WordSwapWordNet), sorted.

        They are of any part of speech, and the word itself in another case is among them.
        """
        known = self._peers
        fresh = [word for word in dict.fromkeys(words) if word not in known]
        if len(known) + len(fresh) > _REMEMBERED:
            known.clear()
            fresh = [*dict.fromkeys(words)]
        known.update(zip(fresh, self._find_peers(fresh), strict=True))
        return [known[word] for word in words]

    def _find_peers(self, words: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Look up `peer_synonyms` of all words in one pass of array operations, as a word has some fifty names."""
        starts, synsets, members_from, members = self._flat_senses
        listed = [self._listed(word) for word in words]
        entries = np.fromiter(chain.from_iterable(listed), np.int64)
        whose = np.repeat(np.arange(len(words)), [len(places) for places in listed])
        sizes = starts[entries + 1] - starts[entries]
        whose, senses = np.repeat(whose, sizes), synsets[runs(starts[entries], sizes)]
        sizes = members_from[senses + 1] - members_from[senses]
        whose, names = np.repeat(whose, sizes), members[runs(members_from[senses], sizes)]
        kept = self._are_single(names)
        pairs = sort_distinct(whose[kept] * len(self._names) + names[kept])
        ends = np.searchsorted(pairs, np.arange(1, len(words) + 1) * len(self._names)).tolist()
        found = [*map(self._names.__getitem__, (pairs % len(self._names)).tolist())]
        for word, begin, end in zip(words, [0, *ends], ends, strict=False):
            yield tuple(sorted(name for name in found[begin:end] if name != word))

    def _are_single(self, names: Places) -> NDArray[np.bool_]:
        """Flag the names that TextAttack takes for one word; the answers are remembered."""
        fresh = sort_distinct(names[self._single[names] < 0])
        strings = map(self._names.__getitem__, fresh.tolist())
        self._single[fresh] = [n.isalpha() or ("_" not in n and len(_PEER_WORD.findall(n)) == 1) for n in strings]
        return self._single[names] > 0

    def _listed(self, word: str) -> list[int]:
        """Return the place of each base form of a word, times the number of parts of speech, plus the part's number."""
        word = word.lower().replace(" ", "_")
        get, marks, many = self._keys.get, self._marks, len(PARTS)
        place, odd = get(word), self._odd.get(word, _NOTHING)
        found = [] if place is None else [many * place + bit for bit in _BITS[marks[place]]]
        for old, new, mark in _BY_LAST.get(word[-1:], ()):
            if word.endswith(old) and mark not in odd:
                place = get(word[: -len(old)] + new)
                if place is not None and marks[place] & mark:
                    found.append(many * place + mark.bit_length() - 1)
        for mark, bases in odd.items():
            places = (get(base) for base in bases)
            found += [many * p + mark.bit_length() - 1 for p in places if p is not None and marks[p] & mark]
        return found

    @cached_property
    def _flat_senses(self) -> tuple[Places, Places, Places, Places]:
        """Return where the synsets of each (lemma, part of speech) begin, the synsets, and the same for their names."""
        counts = np.stack([np.diff(self._spans[pos][0][: len(self._lemmas) + 1]) for pos in PARTS], 1)  # [lemma, part]
        starts = np.concatenate([[0], np.cumsum(counts.ravel())])
        order = np.argsort(np.repeat(np.arange(counts.size).reshape(counts.shape).T.ravel(), counts.T.ravel()))
        synsets = np.concatenate([self._spans[pos][1] for pos in PARTS])[order]
        members_from, members = (self._arrays[name].astype(np.int64) for name in ("members_from", "members"))
        return starts, synsets.astype(np.int64), members_from, members

    def is_name(self, word: str) -> bool:
        """Whether WordNet writes the word with a capital in every sense that it has as a noun: Paris, James."""
        lower, senses = word.lower(), self.senses(word, "n")
        forms = [name for sense in senses for name in self.names(sense) if name.lower() == lower]
        return bool(forms) and all(form[:1].isupper() for form in forms) and not self.marks(word) & ~1

    def is_proper(self, word: str) -> bool:
        """Whether WordNet writes the word with a capital in every sense of every part of speech: Russian, Paris."""
        forms = [name for sense in self.senses(word) for name in self.names(sense) if name.lower() == word.lower()]
        return bool(forms) and all(form[:1].isupper() for form in forms)

    def frequency(self, word: str) -> dict[str, int]:
        """Count the word's base forms in WordNet's tagged texts, by part of speech."""
        can_be, found = self.marks(word), {}
        for bit, pos in enumerate(PARTS):
            if can_be >> bit & 1:
                found[pos] = sum(self._counts[self._keys[base], bit] for base in self._bases(word, pos))
        return found

    def irregular(self, lemma: str, pos: str) -> tuple[str, ...]:
        """Return the irregular forms of a lemma, as WordNet lists them."""
        return self._forms(_known(pos)).get(lemma, ())

    def _find_forms(self, pos: str) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        for form, bases in self._irregular[pos].items():
            for base in bases:
                found[base].append(form)
        return {base: tuple(forms) for base, forms in found.items()}

    def antonyms(self) -> list[tuple[str, str]]:
        """Return the pairs of antonyms, each once, sorted."""
        return self._named(self._arrays["antonyms"])

    def synonym_pairs(self, pos: str | None = None, *, senses: int | None = None) -> list[tuple[str, str]]:
        """Return the pairs of names that share a synset, each once, sorted; `senses` limits both to that many."""
        return self._named(np.concatenate([self._pairs(one, senses) for one in (_known(pos) if pos else PARTS)]))

    def _pairs(self, pos: str, senses: int | None) -> Ints:
        ranks, starts, members = (self._arrays[name] for name in ("ranks", "members_from", "members"))
        pairs = []
        for synset in np.unique(self._arrays[f"senses_{pos}"]).tolist():
            start, end = starts[synset : synset + 2].tolist()
            if end - start > 1:
                kept = [members[i] for i in range(start, end) if senses is None or ranks[i] < senses]
                pairs += [(a, b) for i, a in enumerate(kept) for b in kept[i + 1 :]]
        return np.asarray(pairs, np.int32).reshape(-1, 2)

    def _named(self, pairs: Ints) -> list[tuple[str, str]]:
        named = ((self._names[a], self._names[b]) for a, b in pairs.tolist())
        return sorted({(min(a, b), max(a, b)) for a, b in named if a != b})

    def __iter__(self) -> Iterator[str]:
        return iter(self._lemmas)

    def __len__(self) -> int:
        return len(self._lemmas)


def _view(array: Ints) -> Any:
    """Return a memoryview of an array; the typed stub knows neither numpy's arrays nor two dimensions."""
    return memoryview(np.ascontiguousarray(array))  # type: ignore[arg-type]


def _known(pos: str) -> str:
    if pos not in PARTS or len(pos) != 1:
        raise SettingError(f"a part of speech for WordNet is n, v, a or r, got {pos!r}")
    return pos


@cache
def open_wordnet() -> WordNet:
    """Open the WordNet index, read once a process."""
    return WordNet(store.locate("wordnet"))


def _lines(found: Members, name: str) -> Iterator[str]:
    """Yield the lines of a file without the licence, which WordNet indents."""
    if name not in found:
        return
    with found[name]() as stream:
        for line in stream.read().decode("utf-8").split("\n"):
            if line.strip() and not line.startswith(" "):
                yield line


class _Builder:
    """Reads the four data files and the four index files of WordNet into lists and arrays."""

    def __init__(self, found: Members) -> None:
        self.found = found
        self.names: dict[str, int] = {}
        self.synsets: dict[tuple[str, str], int] = {}
        self.members: list[list[int]] = []
        self.opposed: list[tuple[tuple[int, int], tuple[str, str], int]] = []

    def read_synsets(self, pos: str) -> None:
        for line in _lines(self.found, f"data.{_FILES[pos]}"):
            fields = line.partition(" | ")[0].split()
            offset, many = fields[0], int(fields[3], 16)
            words = [_MARKER.sub("", w) if pos == "a" else w for w in fields[4 : 4 + 2 * many : 2]]
            number = self.synsets[pos, offset] = len(self.members)
            self.members.append([self.names.setdefault(word, len(self.names)) for word in words])
            pointers = fields[5 + 2 * many : 5 + 2 * many + 4 * int(fields[4 + 2 * many])]
            for symbol, target, kind, between in zip(*(iter(pointers),) * 4, strict=True):
                if symbol == "!" and between != "0000":
                    other = (_KINDS.get(kind, "a" if kind in "as" else kind), target)
                    self.opposed.append(((number, int(between[:2], 16) - 1), other, int(between[2:], 16) - 1))

    def antonyms(self) -> Ints:
        pairs = [
            (self.members[here][place], self.members[self.synsets[other]][there])
            for (here, place), other, there in self.opposed
        ]
        return np.asarray(pairs, np.int32).reshape(-1, 2)

    def read_index(self, pos: str) -> dict[str, list[int]]:
        found = {}
        for line in _lines(self.found, f"index.{_FILES[pos]}"):
            fields = line.split()
            found[fields[0]] = [self.synsets[pos, offset] for offset in fields[-int(fields[2]) :]]
        return found

    def counts(self, keys: dict[str, int]) -> Ints:
        table = np.zeros((len(keys), 4), np.int32)
        for line in _lines(self.found, "cntlist.rev"):
            sense, _, count = line.split()
            lemma, _, rest = sense.partition("%")
            if lemma in keys and rest[:1] in _KINDS:
                table[keys[lemma], PARTS.index(_KINDS[rest[0]])] += int(count)
        return table


def _flat(rows: list[list[int]]) -> tuple[Ints, Ints]:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int32)])
    return starts.astype(np.int32), np.asarray([x for row in rows for x in row], np.int32)


def _ranks(builder: _Builder, indices: dict[str, dict[str, list[int]]]) -> Ints:
    """Return for each member of each synset the rank of this sense among its name's, in its part of speech."""
    place: dict[int, dict[str, int]] = defaultdict(dict)
    for index in indices.values():
        for lemma, synsets in index.items():
            for rank, synset in enumerate(synsets):
                place[synset][lemma] = rank
    names = list(builder.names)
    return np.asarray(
        [place[s].get(names[m].lower(), 99) for s, row in enumerate(builder.members) for m in row], np.int32
    )


def convert(found: Members, out: Path) -> None:
    """Read WordNet's database files; store the index, and the files themselves for tools that need them."""
    copy(found, out / "wordnet")
    builder = _Builder(found)
    try:
        for pos in PARTS:
            builder.read_synsets(pos)
        indices = {pos: builder.read_index(pos) for pos in PARTS}
        antonyms = builder.antonyms()
    except (ValueError, IndexError, KeyError) as error:
        raise AssetError(
            f"WordNet's files cannot be read ({type(error).__name__}: {error}); fetch them again"
        ) from None
    keys = {lemma: i for i, lemma in enumerate(sorted(set().union(*indices.values())))}
    arrays = {"antonyms": antonyms, "counts": builder.counts(keys), "ranks": _ranks(builder, indices)}
    arrays["members_from"], arrays["members"] = _flat(builder.members)
    for pos, index in indices.items():
        arrays[f"from_{pos}"], arrays[f"senses_{pos}"] = _flat([index.get(lemma, []) for lemma in keys])
    split = {pos: (line.split() for line in _lines(found, f"{file}.exc")) for pos, file in _FILES.items()}
    irregular = {pos: {form: bases for form, *bases in lines} for pos, lines in split.items()}
    (out / "names.txt").write_text("\n".join(builder.names), encoding="utf-8")
    (out / "lemmas.txt").write_text("\n".join(keys), encoding="utf-8")
    (out / "irregular.json").write_text(json.dumps(irregular), encoding="utf-8")
    np.savez(out / "index.npz", **arrays)  # type: ignore[arg-type]
