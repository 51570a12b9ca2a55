"""Precision: in how many bits a victim's fast path computes, and what plain float32 means on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError

if TYPE_CHECKING:
    import torch

    from malaprop.core.victim import Victim

PRECISIONS = ("auto", "fp32", "bf16", "int8")
LEAST = 256  # numbers to a vector: in narrower transformers bytes save less than rounding them costs
# How far a transformer's probabilities were ever seen from its fp32 ones, with room to spare.
ROUNDING = {"fp32": 0.0, "bf16": 0.05, "int8": 0.1}


def check(asked: str) -> str:
    """Return the name of a precision; raise on any other."""
    if asked not in PRECISIONS:
        raise unknown("precision", asked, PRECISIONS)
    return asked


def check_given(asked: str, victim: Victim) -> None:
    """Raise on a victim that computes in other numbers than the user chose by name."""
    given = victim.precision
    if asked not in ("auto", "fp32", given):
        raise SettingError(f"{victim.name} computes in {given}, not in {asked}; use --precision {given} or auto")


def dtype_for(asked: str, device: torch.device | str) -> torch.dtype:
    """Return the type of the numbers in which a transformer's fast path computes.

    `auto` is bf16 where matrix units make it several times as fast, and fp32 elsewhere (but see `resolve`).
    """
    import torch

    where = torch.device(device)
    if asked == "int8":
        if where.type != "cpu":
            raise SettingError(f"int8 is for CPUs, the device is {where}; use --precision bf16")
        return torch.float32  # all but the products of linear layers
    if check(asked) == "auto":
        return torch.bfloat16 if has_bf16_units(where) else torch.float32
    if asked == "bf16" and where.type == "cuda" and not has_bf16_units(where):
        raise SettingError(f"this GPU ({torch.cuda.get_device_name(where)}) has no bf16 units; use --precision fp32")
    return torch.bfloat16 if asked == "bf16" else torch.float32


def resolve(asked: str, device: torch.device | str, *, width: int = 0) -> str:
    """Return the precision in which a request for `asked` computes: fp32, bf16 or int8.

    `auto` is int8 on a CPU without matrix units that multiplies bytes (VNNI), for a transformer whose vectors have at
    least LEAST numbers. It goes by what the machine has, never by a clock: a run must find the same when it goes on.
    """
    import torch

    if dtype_for(asked, device) == torch.bfloat16:
        return "bf16"
    pays = asked == "auto" and width >= LEAST and has_byte_products(torch.device(device))
    return "int8" if asked == "int8" or pays else "fp32"


def has_bf16_units(device: torch.device) -> bool:
    """Return whether the device has units for bf16 products: Ampere GPUs and later, CPUs with AMX."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    tiles: Any = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return device.type == "cpu" and tiles is not None and bool(tiles())


def has_byte_products(device: torch.device) -> bool:
    """Return whether the device is a CPU with VNNI and this torch has int8 products for it."""
    import torch

    known: list[Any] = [getattr(torch.cpu, f"_is_{kind}_supported", None) for kind in ("avx512_vnni", "vnni")]
    fast = device.type == "cpu" and any(asked is not None and asked() for asked in known)
    return fast and "x86" in torch.backends.quantized.supported_engines


@contextmanager
def full_precision(device: torch.device | str) -> Iterator[None]:
    """Compute float32 products in 32 bits; by default a GPU rounds some to 10 bits (TF32).

    Those are the products of convolutions and LSTMs.
    """
    import torch

    if torch.device(device).type != "cuda":
        yield
        return
    backends: Any = torch.backends
    exact: bool | str = False
    places, name = [backends.cudnn, backends.cuda.matmul], "allow_tf32"
    if hasattr(backends.cudnn, "conv"):  # from torch 2.9 on
        places, name = [backends.cudnn.conv, backends.cudnn.rnn, backends.cuda.matmul], "fp32_precision"
        exact = "ieee"
    before = [getattr(place, name) for place in places]
    try:
        for place in places:
            setattr(place, name, exact)
        yield
    finally:
        for place, was in zip(places, before, strict=True):
            setattr(place, name, was)
