"""Measure the floor: the time of the victim's plain forward passes over a list of texts, with nothing around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter, process_time
from typing import TYPE_CHECKING

from malaprop.core.victim import Victim

if TYPE_CHECKING:
    from malaprop.models.scorers.plain import Forward
    from malaprop.models.victims.tokens import TokenVictim

SIZES = (16, 32, 64, 128, 256)
GPU_SIZES = (256, 512, 1024, 2048, 4096, 8192)
Pass = Callable[[], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """Seconds for all distinct texts at the best batch size, extrapolated from `measured` of them.

    `tokens` says that the texts lay ready as tokens; otherwise the victim reads strings, and cutting them is inside.
    `processor_s` is the least processor time of the passes at that size, for all texts.
    """

    seconds: float
    batch: int
    texts: int
    measured: int
    tokens: bool
    processor_s: float = 0.0


def floor(
    victim: Victim,
    texts: Iterable[str],
    *,
    sizes: Sequence[int] = SIZES,
    seconds: float = 2.0,
    repeats: int = 3,
    forward: Forward | None = None,
) -> Floor:
    """Return the quickest of `repeats` passes at each batch size, over texts sorted by length.

    If a pass takes longer than `seconds`, an even sample stands for all: it keeps the distribution of lengths.
    `forward` replaces the victim's own, for another precision; sizes that do not fit in the
    device's memory are left out.
    """
    distinct = sorted(set(texts), key=lambda text: (len(text), text))
    if not distinct:
        return Floor(seconds=0.0, batch=sizes[0], texts=0, measured=0, tokens=False)
    sample = _sample(distinct, victim, seconds, forward)
    best, spent, batch = float("inf"), 0.0, sizes[0]
    tokens = False
    for size in sizes:
        one_pass, tokens = _passes(victim, sample, size, forward)
        took, of_it = _best(one_pass, repeats)
        if took < best:
            best, spent, batch = took, of_it, size
    scale = len(distinct) / len(sample)
    return Floor(
        seconds=best * scale,
        batch=batch,
        texts=len(distinct),
        measured=len(sample),
        tokens=tokens,
        processor_s=spent * scale,
    )


def _best(one_pass: Pass, repeats: int) -> tuple[float, float]:
    """Return the shortest wall time and processor time of some passes; infinity if the device lacks the memory."""
    try:
        times = [_time(one_pass) for _ in range(repeats)]
    except RuntimeError as error:
        if "out of memory" not in str(error):
            raise
        return float("inf"), 0.0
    return min(wall for wall, _ in times), min(spent for _, spent in times)


def _sample(texts: list[str], victim: Victim, seconds: float, forward: Forward | None) -> list[str]:
    probe = texts[:: -(-len(texts) // 64)]
    one_pass, _ = _passes(victim, probe, 32, forward)
    one_pass()
    each = _time(one_pass)[0] / len(probe)
    wanted = max(64, int(seconds / max(each, 1e-9)))
    return texts[:: -(-len(texts) // wanted)]


def _passes(victim: Victim, texts: Sequence[str], size: int, forward: Forward | None) -> tuple[Pass, bool]:
    """Return a function that passes the texts through the victim once, and whether they are tokenized beforehand."""
    from malaprop.models.victims.tokens import TokenVictim

    if isinstance(victim, TokenVictim):
        return _token_pass(victim, texts, size, forward or victim.forward), True
    rows = [(text,) for text in texts]
    return lambda: [victim.predict(rows[at : at + size]) for at in range(0, len(rows), size)], False


def _token_pass(victim: TokenVictim, texts: Sequence[str], size: int, forward: Forward) -> Pass:
    import torch

    from malaprop.models.precision import full_precision
    from malaprop.models.tokens.batches import Bounds, batches
    from malaprop.models.tokens.splice import Splice

    rows = victim.encode_whole([(text,) for text in texts]) if victim.encode_whole else victim.cut(list(texts))
    work = Splice.of_rows(
        rows, limit=victim.limit, head=victim.head, tail=victim.tail, pad=victim.pad, device=victim.device
    )
    bounds = Bounds(rows=size, tokens=max(1 << 15, size * victim.limit))
    ready = [work.rows(part) for part in batches(work.length, bounds, even=not victim.masks)]

    def one_pass() -> None:
        with torch.inference_mode(), full_precision(work.device):
            for ids, lengths in ready:
                forward(ids, lengths)
            if work.device.type == "cuda":
                torch.cuda.synchronize(work.device)

    return one_pass


def _time(work: Pass) -> tuple[float, float]:
    """Return the wall and processor seconds of a call."""
    began, spent = perf_counter(), process_time()
    work()
    return perf_counter() - began, process_time() - spent


def in_threads(threads: int) -> Callable[[], None]:
    """Set the number of torch's threads; return a function that restores it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    return partial(torch.set_num_threads, before)
