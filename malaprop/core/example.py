"""One labelled example (named fields, a label, the editable fields), and the reasons why one is not attacked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


PAIR = ("premise", "hypothesis")  # the fields of a pair of sentences, in order


@dataclass(frozen=True, slots=True)
class Example:
    """A text, or several named fields, with its label. An attack may change the `editable` fields; empty means all."""

    id: str
    fields: Mapping[str, str]
    label: int
    editable: tuple[str, ...] = ()

    @property
    def open(self) -> tuple[str, ...]:
        return self.editable or tuple(self.fields)


def content_id(fields: Mapping[str, str], label: int) -> str:
    """Return twelve hex digits that identify the content: the same row has the same id in any file and order."""
    whole = "\x1e".join(f"{name}\x1f{value}" for name, value in fields.items()) + f"\x1e{label}"
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def number_rows(rows: Iterable[tuple[Mapping[str, str], int]], editable: tuple[str, ...] = ()) -> Iterator[Example]:
    """Make examples with content ids; repeated rows get the suffixes -2, -3 and so on."""
    seen: dict[str, int] = {}
    for fields, label in rows:
        name = content_id(fields, label)
        count = seen[name] = seen.get(name, 0) + 1
        yield Example(name if count == 1 else f"{name}-{count}", fields, label, editable)


NOTHING_TO_CHANGE = "nothing to change"  # of a failed attack that had no edit to try
ALL_PROTECTED = "nothing to change: every word is protected"  # the same, because of what the user wants kept
NO_WORDS = "no words to change"  # the same, of a text without words, such as one of emoji alone
TARGET_ALREADY = "its label is the target already"  # of a skipped text that the victim answers rightly
