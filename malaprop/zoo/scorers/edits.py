"""Which variants differ from their base by one stretch also after the cut at the limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from malaprop.core.distinct import find_used
from malaprop.core.text import Ints
from malaprop.models.tokens.splice import Splice

_SHARE = 3  # variants of one base from which on its states cost less than reading each variant from end to end


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Edits:
    """The edits of a splice on bases of `size` tokens, cut at the limit; where one does not fit, nothing holds."""

    size: Ints  # [variant] of its base
    at: Ints  # [variant]
    old: Ints  # [variant]
    new: Ints  # [variant]
    fits: NDArray[np.bool_]  # [variant]

    @classmethod
    def of(cls, work: Splice) -> Edits:
        full, whole = work.lengths[work.base], work.whole
        long = np.maximum(full, whole) > work.limit
        if work.turn < work.limit:
            return cls(size=full, at=work.at, old=work.old, new=work.new, fits=~long)
        beyond = long & (work.at >= work.limit)  # an edit of what is cut off is none
        old, new = (np.where(beyond, 0, a) for a in (work.old, work.new))
        same = (work.old == work.new) & (work.at + work.new <= work.limit)
        at = np.minimum(work.at, work.limit)
        return cls(size=np.minimum(full, work.limit), at=at, old=old, new=new, fits=~long | beyond | same)


def keep_large_groups(work: Splice, fits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of the variants that fit, those whose base has enough of them."""
    return fits & (np.bincount(work.base[fits], minlength=len(work.lengths))[work.base] >= _SHARE)


def blocks(work: Splice, chosen: Ints, tokens: int) -> Iterator[tuple[Ints, Ints]]:
    """Bases, longest first, of about `tokens` tokens together, and those of the chosen variants that they have."""
    bases, _ = find_used(work.base[chosen], len(work.lengths))
    sizes = np.minimum(work.lengths[bases], work.limit)
    order = np.argsort(-sizes, kind="stable")
    number = np.empty(len(work.lengths), np.int64)
    number[bases[order]] = (np.cumsum(sizes[order]) - 1) // tokens
    by_block = chosen[np.argsort(number[work.base[chosen]], kind="stable")]
    many = np.bincount(number[work.base[chosen]])
    for block in np.flatnonzero(many).tolist():
        begin = int(many[:block].sum())
        here = bases[order]
        yield here[number[here] == block], by_block[begin : begin + int(many[block])]
