"""Rewrites of a parsed sentence: active and passive, clauses and times moved, joined words exchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from malaprop.attacks.sentences.templates import lower_first
from malaprop.core.ask import Leaf

_SUBJECTS = {"me": "I", "him": "he", "her": "she", "us": "we", "them": "they"}
_OBJECTS = {"i": "me", "he": "him", "she": "her", "we": "us", "they": "them"}
_STATIVE = frozenset(
    {"be", "have", "become", "seem", "lack", "cost", "mean", "fit", "suit", "resemble", "get", "let", "remain", "last"}
    | {"want", "weigh", "equal", "need", "say", "feel", "look"}
)
_EXTRA = frozenset({"aux", "auxpass", "neg", "xcomp", "ccomp", "oprd", "dative", "prt", "attr", "expl", "csubj"})
_MARKERS = frozenset(
    {"although", "though", "because", "while", "when", "if", "unless", "since", "after", "before", "once"}
)
_PLACES = frozenset({"in", "on", "at", "during", "after", "before", "since", "within"})
_PLURAL = frozenset({"NNS", "NNPS"})
_MANY = frozenset({"we", "they", "you", "us", "them", "these", "those"})
_OF_PLACES = ("an", "ish", "ese", "nch", "eek", "raqi", "aeli", "tch", "iss")
_FINITE = ("VBD", "VBZ", "VBP")
Forms = Callable[[str], dict[str, str]]  # a verb to its forms: s, ed, en


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed sentence with the stretch of tokens below each one."""

    leaves: Sequence[Leaf]
    children: list[list[int]] = field(init=False)
    spans: list[tuple[int, int]] = field(init=False)  # first and last + 1; (0, 0) where it is not one stretch

    def __post_init__(self) -> None:
        children: list[list[int]] = [[] for _ in self.leaves]
        for place, leaf in enumerate(self.leaves):
            if leaf.head != place:
                children[leaf.head].append(place)
        object.__setattr__(self, "children", children)
        object.__setattr__(self, "spans", [self._span(place) for place in range(len(self.leaves))])

    def _span(self, place: int) -> tuple[int, int]:
        below, left = [place], [place]
        while left:
            more = self.children[left.pop()]
            below += more
            left += more
        first, end = min(below), max(below) + 1
        return (first, end) if end - first == len(below) else (0, 0)

    def child(self, place: int, *roles: str) -> int | None:
        """Return the one child with one of these roles; None for none, or for several."""
        found = [one for one in self.children[place] if self.leaves[one].role in roles]
        return found[0] if len(found) == 1 else None

    def write(self, first: int, end: int) -> str:
        """Return the tokens of a stretch as text."""
        return "".join(leaf.text + " " * leaf.space for leaf in self.leaves[first:end]).strip()

    def join(self, *parts: str) -> str:
        """Join stretches; marks follow without a space."""
        out = ""
        for part in filter(None, parts):
            out += part if not out or part[0] in ".,;:!?" or part.startswith("'") else f" {part}"
        return out


def rewrite_by_parse(leaves: Sequence[Leaf], forms: Forms) -> Iterator[str]:
    """Yield the sentence with one thing said in another form, all that the parse allows."""
    tree = Tree(leaves)
    for place, leaf in enumerate(leaves):
        if leaf.tag.startswith("V"):
            yield from _make_passive(tree, place, forms)
            yield from _make_active(tree, place, forms)
            yield from _make_cleft(tree, place)
        if leaf.role == "ROOT":
            yield from _move_clause(tree, place)
            yield from _move_time(tree, place)
        if leaf.role == "conj":
            yield from _exchange(tree, place)
        if leaf.tag.startswith("NN"):
            yield from _exchange_adjectives(tree, place)


def _noun(tree: Tree, place: int, other: dict[str, str]) -> str:
    """Return a noun phrase for its other place in the sentence: he becomes him."""
    first, end = tree.spans[place]
    text = tree.write(first, end)
    if end - first == 1 and text.lower() in other:
        return other[text.lower()]
    return _lower(tree, text) if first == 0 else text


def _lower(tree: Tree, text: str) -> str:
    """Return what began the sentence with a small letter, unless it is a name or a word such as Irish."""
    first = tree.leaves[0]
    named = first.tag.startswith("NNP") or (first.tag == "JJ" and first.text.endswith(_OF_PLACES))
    return text if named else lower_first(text)


def _is_plural(tree: Tree, place: int) -> bool:
    leaf = tree.leaves[place]
    joined = any(tree.leaves[one].role == "cc" and tree.leaves[one].lemma == "and" for one in tree.children[place])
    return joined or leaf.tag in _PLURAL or leaf.text.lower() in _MANY


def _to_be(tree: Tree, place: int, *, past: bool) -> str:
    if tree.leaves[place].text.lower() in ("i", "me"):
        return "was" if past else "am"
    many = _is_plural(tree, place)
    return ("were" if many else "was") if past else ("are" if many else "is")


def _make_passive(tree: Tree, verb: int, forms: Forms) -> Iterator[str]:
    """She wrote the book: the book was written by her."""
    leaf, subject, thing = tree.leaves[verb], tree.child(verb, "nsubj"), tree.child(verb, "dobj", "obj")
    if subject is None or thing is None or leaf.tag not in _FINITE or leaf.lemma in _STATIVE:
        return
    if any(tree.leaves[one].role in _EXTRA for one in tree.children[verb]) or leaf.role not in ("ROOT", "ccomp"):
        return
    (a, b), (c, d) = tree.spans[subject], tree.spans[thing]
    barred = ("PRP$", "WP", "WDT", "WP$", "EX")
    if not a < b == verb or not verb + 1 == c < d or any(one.tag in barred for one in tree.leaves[a:d]):
        return
    if any(one.text.lower().endswith(("self", "selves")) for one in tree.leaves[c:d]):
        return
    be = _to_be(tree, thing, past=leaf.tag == "VBD")
    made = (_noun(tree, thing, _SUBJECTS), be, forms(leaf.lemma)["en"], "by", _noun(tree, subject, _OBJECTS))
    yield tree.join(tree.write(0, a), *made, tree.write(d, len(tree.leaves)))


def _make_active(tree: Tree, verb: int, forms: Forms) -> Iterator[str]:
    """The book was written by her: she wrote the book."""
    subject, be, by = tree.child(verb, "nsubjpass"), tree.child(verb, "auxpass"), tree.child(verb, "agent")
    if subject is None or be is None or by is None or tree.leaves[be].tag not in _FINITE:
        return
    doer = tree.child(by, "pobj")
    if doer is None or any(tree.leaves[one].role in ("aux", "neg") for one in tree.children[verb]):
        return
    (a, b), (c, d), (e, f) = tree.spans[subject], tree.spans[doer], tree.spans[by]
    if not (a < b == be and be + 1 == verb and verb + 1 == e and d == f and c == e + 1):
        return
    if any(one.tag in ("PRP$", "WP", "WDT", "WP$") for one in tree.leaves[a:d]):
        return
    past, many = tree.leaves[be].tag == "VBD", _is_plural(tree, doer)
    first = tree.leaves[doer].text.lower() in ("me", "us", "you", "them")
    done = forms(tree.leaves[verb].lemma)["ed" if past else "" if many or first else "s"]
    made = (_noun(tree, doer, _SUBJECTS), done, _noun(tree, subject, _OBJECTS))
    yield tree.join(tree.write(0, a), *made, tree.write(f, len(tree.leaves)))


def _make_cleft(tree: Tree, verb: int) -> Iterator[str]:
    """The plot carries the film: it is the plot that carries the film."""
    leaf, subject = tree.leaves[verb], tree.child(verb, "nsubj")
    if subject is None or leaf.role != "ROOT" or leaf.tag not in _FINITE or leaf.lemma == "be":
        return
    first, last = tree.spans[subject]
    if first or not 0 < last == verb or any(one.tag in ("PRP", "WP", "WDT", "EX") for one in tree.leaves[:last]):
        return
    be = "was" if leaf.tag == "VBD" else "is"
    yield tree.join("it", be, _noun(tree, subject, {}), "that", tree.write(last, len(tree.leaves)))


def _exchange_adjectives(tree: Tree, noun: int) -> Iterator[str]:
    """A weird, vulgar comedy: a vulgar, weird comedy."""
    own = [place for place in tree.children[noun] if tree.leaves[place].role == "amod"]
    for one, two in pairwise(own):
        if two == one + 2 and tree.leaves[one + 1].text == "," and not tree.children[two]:
            left = tree.write(one, one + 1)
            left = _lower(tree, left) if one == 0 else left
            rest = tree.write(two + 1, len(tree.leaves))
            yield tree.join(tree.write(0, one), tree.write(two, two + 1), ",", left, rest)


def _move_clause(tree: Tree, root: int) -> Iterator[str]:
    """We stayed because it rained: because it rained, we stayed; and the other way round."""
    end = _end_of(tree)
    for clause in (one for one in tree.children[root] if tree.leaves[one].role == "advcl"):
        first, last = tree.spans[clause]
        if last - first < 3 or tree.leaves[first].text.lower() not in _MARKERS:
            continue
        yield from _move(tree, first, last, end)


def _move_time(tree: Tree, root: int) -> Iterator[str]:
    """Prices fell on Friday: on Friday, prices fell; and the other way round."""
    end = _end_of(tree)
    for place in (one for one in tree.children[root] if tree.leaves[one].role == "prep"):
        first, last = tree.spans[place]
        if last - first >= 2 and tree.leaves[place].text.lower() in _PLACES and first == place:
            yield from _move(tree, first, last, end)


def _move(tree: Tree, first: int, last: int, end: int) -> Iterator[str]:
    """Yield the sentence with a stretch at its end put before it, or one before it put at its end."""
    tail = tree.write(end, len(tree.leaves))
    if last == end and first > 2:
        before = tree.write(0, first).rstrip(" ,")
        yield tree.join(tree.write(first, last), ",", _lower(tree, before), tail)
    if first == 0 and last + 1 < end and tree.leaves[last].text == ",":
        yield tree.join(tree.write(last + 1, end), _lower(tree, tree.write(first, last)), tail)


def _end_of(tree: Tree) -> int:
    """Return the place of the marks that end the sentence."""
    end = len(tree.leaves)
    while end and not any(map(str.isalnum, tree.leaves[end - 1].text)):
        end -= 1
    return end


def _exchange(tree: Tree, second: int) -> Iterator[str]:
    """A moving and funny film: a funny and moving film."""
    head = tree.leaves[second].head
    one, two = tree.leaves[head], tree.leaves[second]
    links = [place for place in tree.children[head] if tree.leaves[place].role == "cc"]
    if len(links) != 1 or tree.leaves[links[0]].lemma not in ("and", "or"):
        return
    if one.role != "amod" and (one.tag[:2] != two.tag[:2] or one.tag[:2] not in ("JJ", "RB", "NN")):
        return
    link, (c, d) = links[0], tree.spans[second]
    own = [place for place in tree.children[head] if place not in (link, second)]
    if any(place > head for place in own) or not c == link + 1 < d or any(tree.leaves[p].role == "conj" for p in own):
        return
    if any(leaf.role == "conj" for leaf in tree.leaves[c + 1 : d]):
        return
    if one.tag.startswith("NN") and bool(own) != bool(tree.children[second]):  # the plot and characters share their the
        return
    first = min([head, *own])
    if any(tree.spans[place] == (0, 0) for place in own) or link != head + 1:
        return
    left, right = tree.write(first, head + 1), tree.write(c, d)
    left = _lower(tree, left) if first == 0 else left
    yield tree.join(tree.write(0, first), right, tree.leaves[link].text, left, tree.write(d, len(tree.leaves)))
