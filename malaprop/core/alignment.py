"""Alignment: write another string into the slots of a text, so that words that stay keep their slots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from malaprop.core.text import BREAK, Cut, Text, check_text, split_characters, split_parts


def realign(origin: Text, values: Mapping[str, str], *, cut: Cut = split_characters) -> Text | None:
    """Return the text whose fields have these strings, in as many slots as the original; other fields stay.

    Words that both texts have in the same order keep their slots. Of a stretch with more words than slots the last slot
    takes all that are left; of one with fewer, the last slots are empty. None where a field would have no word, or
    where the slots cannot hold the strings exactly.
    """
    wanted = origin.fields | {name: check_text(value).strip() for name, value in values.items()}
    parts: list[str] = [""]
    before, at = origin.strings, 0
    field = origin.field_of_slots().tolist()
    for number, (name, value) in enumerate(wanted.items()):
        end = at + field.count(number)
        fresh = split_parts(value, cut)
        if name not in values:  # as it stands, empty slots too
            own = [origin.table.strings[i] for i in origin.parts[2 * at : 2 * end + 1].tolist()]
            own[0], own[-1] = own[0].rpartition(BREAK)[2], own[-1].partition(BREAK)[0]
        elif len(fresh) == 1 or at == end:
            return None
        else:
            own = list(_fill(before[at:end], fresh))
        parts[-1] += own[0] if number == 0 else BREAK + own[0]
        parts += own[1:]
        at = end
    made = Text(origin.table, origin.table.ids(parts), origin.owner, origin.names)
    return made if made.fields == wanted else None


def _fill(old: Sequence[str], fresh: Sequence[str]) -> Iterator[str]:
    """Yield gap, word, gap, ..., word, gap of a field: the fresh words in the slots of the old ones."""
    words, gaps = fresh[1::2], fresh[0::2]
    spans = _share_out(old, words)
    for first, last in spans:
        if first == last:
            yield from ("", "")
            continue
        yield gaps[first]  # right before its word, behind the slots that are empty
        yield "".join(part for pair in zip(gaps[first:last], words[first:last], strict=True) for part in pair)[
            len(gaps[first]) :
        ]
    yield gaps[-1]


def _share_out(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return for each old word the stretch of new words that stands in its slot; stretches follow one another."""
    sizes = [0] * len(old)
    matcher = SequenceMatcher(None, [w.lower() for w in old], [w.lower() for w in new], autojunk=False)
    for _, i, j, k, m in matcher.get_opcodes():
        if i == j:  # inserted: with the word before, or where there is none, with the first
            sizes[max(i - 1, 0)] += m - k
            continue
        for place in range(i, j):
            sizes[place] += min(1, max(0, m - k - (place - i)))
        sizes[j - 1] += max(0, (m - k) - (j - i))
    ends = [sum(sizes[: place + 1]) for place in range(len(old))]
    return [(end - size, end) for end, size in zip(ends, sizes, strict=True)]
