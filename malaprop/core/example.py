"""One labelled example: named fields, a label, and which fields an attack may change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

PAIR = ("premise", "hypothesis")  # the fields of a pair of sentences, in order


@dataclass(frozen=True, slots=True)
class Example:
    """`editable` names the fields that an attack may change, all of them if empty."""

    id: str
    fields: Mapping[str, str]
    label: int
    editable: tuple[str, ...] = ()

    @property
    def open(self) -> tuple[str, ...]:
        return self.editable or tuple(self.fields)


def content_id(fields: Mapping[str, str], label: int) -> str:
    """Twelve hex digits of what the example says: the same row has the same id in any file and any order."""
    whole = "\x1e".join(f"{name}\x1f{value}" for name, value in fields.items()) + f"\x1e{label}"
    return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def number(rows: Iterable[tuple[Mapping[str, str], int]], editable: tuple[str, ...] = ()) -> Iterator[Example]:
    """Examples with content ids; a repeated row gets -2, -3 and so on."""
    seen: dict[str, int] = {}
    for fields, label in rows:
        name = content_id(fields, label)
        count = seen[name] = seen.get(name, 0) + 1
        yield Example(name if count == 1 else f"{name}-{count}", fields, label, editable)
