"""Templates of clauses and contractions, found by words alone, for where no parser is installed and beside one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, partial

_MARKERS = "even though|although|though|because|while|when|if|unless|since|after|before|once"
# with what a clause of its own begins; the list keeps "not good but bad" from being taken for two clauses
_SUBJECT = r"(?=(?:it|he|she|they|we|you|i|this|that|these|those|there|the|a|an|its|his|her|their|our|my)(?:'\w+)?\b)"
_END = r"(?P<end>\s*[.!?]*)$"
_BUT = re.compile(rf"^(?P<a>{_SUBJECT}.+?)\s*,\s*(?:but|yet)\s+(?P<b>{_SUBJECT}.+?){_END}", re.IGNORECASE)
_LEAD = re.compile(rf"^(?P<m>{_MARKERS})\s+(?P<b>[^,]+?)\s*,\s*(?P<a>{_SUBJECT}[^,]+?){_END}", re.IGNORECASE)
_JOINED = r"\s*,?\s+(?P<m>even though|although|though|because|unless)\s+"
_TAIL = re.compile(rf"^(?P<a>{_SUBJECT}[^,]+?){_JOINED}(?P<b>{_SUBJECT}[^,]+?){_END}", re.IGNORECASE)
_FIRM = re.compile(r"[A-Z](?:[A-Z]|\b(?!'))|I\b")  # a first word that keeps its capital: IBM, I


def rewrite_by_templates(prose: str) -> Iterator[str]:
    """Yield a sentence with its clauses in another order, and with all contractions written out, or made."""
    if found := _BUT.match(prose):
        yield f"although {lower_first(found['a'])}, {found['b']}{found['end']}"
        yield f"{found['b']}, although {lower_first(found['a'])}{found['end']}"
    if found := _LEAD.match(prose):
        yield f"{found['a']} {found['m'].lower()} {found['b']}{found['end']}"
    if found := _TAIL.match(prose):
        yield f"{found['m']} {found['b']}, {lower_first(found['a'])}{found['end']}"
    yield from swap_contractions(prose)


def swap_contractions(text: str) -> Iterator[str]:
    """Yield the text with all contractions written out, and with all that can be contracted contracted."""
    longer, pattern, shorter, shorts = _tables()
    for table, finder in ((longer, pattern), (shorter, shorts)):
        changed = finder.sub(partial(_exchange, table), text)
        if changed != text:
            yield changed


def _exchange(table: Mapping[str, str], found: re.Match[str]) -> str:
    return _like(table[_key(found[0])], found[0])


@cache
def _tables() -> tuple[dict[str, str], re.Pattern[str], dict[str, str], re.Pattern[str]]:
    from malaprop.assets.alike import contractions

    longer = contractions()
    shorter = {long: short for short, long in longer.items()}
    return longer, _any_of(longer), shorter, _any_of(shorter)


def _any_of(phrases: dict[str, str]) -> re.Pattern[str]:
    ordered = sorted(phrases, key=lambda one: (-len(one), one))
    written = "|".join(re.escape(one).replace("'", "['\u2019]").replace(r"\ ", r"\s+") for one in ordered)
    return re.compile(rf"(?<![\w'])(?:{written})(?![\w'])", re.IGNORECASE)


def _key(phrase: str) -> str:
    return " ".join(phrase.lower().replace("\u2019", "'").split())


def _like(made: str, old: str) -> str:
    if len(old) > 2 and old.isupper():
        return made.upper()
    fresh = made[:1].upper() + made[1:] if old[:1].isupper() else made
    return re.sub(r"\bi\b", "I", fresh)


def lower_first(text: str) -> str:
    """Return the text with its first letter small, unless the first word is one that keeps its capital."""
    return text if _FIRM.match(text) else text[:1].lower() + text[1:]
