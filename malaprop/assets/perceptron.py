"""NLTK's perceptron tagger, for peers that open it: the packaged pickle, read as data, in the JSON that NLTK wants."""

from __future__ import annotations

import json
import pickletools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from malaprop.assets.archives import Members
from malaprop.core.errors import AssetError

FOLDER = "averaged_perceptron_tagger_eng"
_PICKLE = "averaged_perceptron_tagger.pickle"
_STRINGS = frozenset({"SHORT_BINSTRING", "BINSTRING", "BINUNICODE", "SHORT_BINUNICODE"})
_VALUES = _STRINGS | {"BINFLOAT", "BININT", "BININT1", "BININT2"}
_SET = ("__builtin__ set", "builtins set", "collections set")
_MARK = object()

# Petrov, Das and McDonald 2012, "A Universal Part-of-Speech Tagset": the tags of the Penn Treebank that each stands for
UNIVERSAL: Mapping[str, str] = {
    "!": ".", "#": ".", "$": ".", "''": ".", "(": ".", ")": ".", ",": ".", "-LRB-": ".", "-RRB-": ".", ".": ".",
    ":": ".", "?": ".", "``": ".", "NN|SYM": "NOUN", "CC": "CONJ", "CD": "NUM", "CD|RB": "X", "DT": "DET", "EX": "DET",
    "FW": "X", "IN": "ADP", "IN|RP": "ADP", "JJ": "ADJ", "JJR": "ADJ", "JJRJR": "ADJ", "JJS": "ADJ", "JJ|RB": "ADJ",
    "JJ|VBG": "ADJ", "LS": "X", "MD": "VERB", "NN": "NOUN", "NNP": "NOUN", "NNPS": "NOUN", "NNS": "NOUN",
    "NN|NNS": "NOUN", "NN|VBG": "NOUN", "NP": "NOUN", "PDT": "DET", "POS": "PRT", "PRP": "PRON", "PRP$": "PRON",
    "PRP|VBP": "PRON", "PRT": "PRT", "RB": "ADV", "RBR": "ADV", "RBS": "ADV", "RB|RP": "ADV", "RB|VBG": "ADV",
    "RN": "X", "RP": "PRT", "SYM": "X", "TO": "PRT", "UH": "X", "VB": "VERB", "VBD": "VERB", "VBD|VBN": "VERB",
    "VBG": "VERB", "VBG|NN": "VERB", "VBN": "VERB", "VBP": "VERB", "VBP|TO": "VERB", "VBZ": "VERB", "VP": "VERB",
    "WDT": "DET", "WH": "X", "WP": "PRON", "WP$": "PRON", "WRB": "ADV",
}  # fmt: skip


def convert(found: Members, out: Path) -> None:
    """Write weights, known words and tags as JSON files, and the table from Penn's tags to the universal ones."""
    with found[_PICKLE]() as stream:
        weights, known, tags = _check(read_plain(stream.read()))
    place, tagset = out / "taggers" / FOLDER, out / "taggers" / "universal_tagset"
    place.mkdir(parents=True)
    tagset.mkdir()
    for name, value in (("weights", weights), ("tagdict", known), ("classes", sorted(tags))):
        (place / f"{FOLDER}.{name}.json").write_text(json.dumps(value), encoding="utf-8")
    lines = "".join(f"{tag}\t{universal}\n" for tag, universal in UNIVERSAL.items())
    (tagset / "en-ptb.map").write_text(lines, encoding="utf-8")


def _check(value: Any) -> tuple[dict[str, Any], dict[str, str], frozenset[str]]:
    """Return the three parts of a tagger; raise where the file holds something else."""
    match value:
        case (dict() as weights, dict() as known, frozenset() as tags) if weights and tags:
            return weights, known, tags
    raise AssetError(f"{_PICKLE} holds no tagger: weights, known words and tags are expected")


def read_plain(data: bytes) -> Any:
    """Return the value of a pickle of dictionaries, lists, sets, tuples, strings and numbers.

    Nothing is unpickled: no name in the file is looked up or called, and any other operation is refused.
    """
    try:
        return next(_values(data))
    except (ValueError, IndexError, KeyError, TypeError, StopIteration) as error:
        raise AssetError(f"a pickle of plain values is damaged ({error}); fetch it again") from None


def _values(data: bytes) -> Iterator[Any]:  # noqa: C901 - one case for each operation
    stack: list[Any] = []
    memory: dict[Any, Any] = {}
    for operation, given, _ in pickletools.genops(data):
        name = operation.name
        if name in _VALUES:
            stack.append(given)
        elif name.endswith("BINPUT"):
            memory[given] = stack[-1]
        elif name == "MEMOIZE":
            memory[len(memory)] = stack[-1]
        elif name.endswith("BINGET"):
            stack.append(memory[given])
        elif name in ("EMPTY_DICT", "EMPTY_LIST", "MARK"):
            stack.append({"EMPTY_DICT": {}, "EMPTY_LIST": [], "MARK": _MARK}[name])
        elif name in ("SETITEM", "SETITEMS", "APPEND", "APPENDS"):
            many = name.endswith("S")
            at = len(stack) - 1 - stack[::-1].index(_MARK) if many else len(stack) - (2 if name == "SETITEM" else 1)
            items = stack[at + many :]
            del stack[at:]
            if name.startswith("APPEND"):
                stack[-1].extend(items)
            else:
                stack[-1].update(zip(items[::2], items[1::2], strict=True))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            length = int(name[-1])
            stack[-length:] = [tuple(stack[-length:])]
        elif name == "GLOBAL" and given in _SET:
            stack.append(frozenset)
        elif name == "REDUCE" and stack[-2] is frozenset:
            stack[-2:] = [frozenset(*stack[-1])]
        elif name == "STOP":
            yield stack.pop()
        elif name not in ("PROTO", "FRAME"):
            raise ValueError(f"the operation {name} {given or ''} is not of plain values")
