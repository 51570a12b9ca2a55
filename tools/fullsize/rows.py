"""Weights in 6 to 7 bits a number: each row in steps of a part of its root mean square, then Huffman-coded.

What lies beyond 127 steps is kept as it is; so are vectors, small tables and whole numbers. Weights that were rounded
before have few values: with no steps these are listed, and the weights are kept exactly.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tensors = dict[str, NDArray[Any]]
_SMALL = 10_000  # a table of fewer numbers is not worth rounding


def _code(raw: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_HUFFMAN_ONLY)
    return packer.compress(raw) + packer.flush()


def _round(table: NDArray[Any], steps: int) -> list[bytes]:
    """Return a table as whole steps, the size of a step in each row, and the places and values of outliers."""
    exact = table.astype(np.float32)
    step = (np.sqrt((exact.astype(np.float64) ** 2).mean(1)) / steps).astype(np.float32)
    step[step == 0] = 1
    whole = np.rint(exact / step[:, None])
    far = np.flatnonzero(np.abs(whole) > 127).astype(np.uint32)
    near = np.clip(whole, -127, 127).astype(np.int8)
    return [_code(near.tobytes()), step.tobytes(), far.tobytes(), exact.ravel()[far].tobytes()]


def _list_values(table: NDArray[Any]) -> list[bytes]:
    """Return the values of a table, and which one stands at each place, in two bytes."""
    values, at = np.unique(table.view(np.uint16), return_inverse=True)
    places = at.ravel().astype(np.uint16)
    return [_code(values.tobytes()), *(_code((places >> by).astype(np.uint8).tobytes()) for by in (0, 8))]


def _look_up(parts: list[bytes]) -> NDArray[np.uint16]:
    values, low, high = (zlib.decompress(part, -15) for part in parts)
    places = np.frombuffer(low, np.uint8) + (np.frombuffer(high, np.uint8).astype(np.uint16) << 8)
    found: NDArray[np.uint16] = np.frombuffer(values, np.uint16)[places]
    return found


def _widen(parts: list[bytes], shape: list[int]) -> NDArray[np.float32]:
    near = np.frombuffer(zlib.decompress(parts[0], -15), np.int8).reshape(shape)
    made = near.astype(np.float32) * np.frombuffer(parts[1], np.float32)[:, None]
    made.reshape(-1)[np.frombuffer(parts[2], np.uint32)] = np.frombuffer(parts[3], np.float32)
    return made


def encode(tensors: Mapping[str, NDArray[Any]], steps: int) -> bytes:
    """Encode tables of floats with `steps` steps to a row's root mean square; store all other arrays exactly.

    With no steps tables of 16-bit floats are stored exactly too, by the list of their values.
    """
    head, body = [], []
    for name, tensor in tensors.items():
        table = tensor.ndim == 2 and tensor.dtype.kind == "f" and tensor.size > _SMALL
        if table:
            parts = _round(tensor, steps) if steps else _list_values(np.ascontiguousarray(tensor))
        else:
            parts = [zlib.compress(np.ascontiguousarray(tensor).tobytes(), 9)]
        head.append([name, tensor.dtype.str, list(tensor.shape), [len(part) for part in parts]])
        body += parts
    told = json.dumps(head).encode()
    return b"".join([len(told).to_bytes(8, "little"), told, *body])


def decode(packed: bytes) -> Tensors:
    at = 8 + int.from_bytes(packed[:8], "little")
    made: Tensors = {}
    for name, kind, shape, sizes in json.loads(packed[8:at]):
        parts = []
        for size in sizes:
            parts.append(packed[at : at + size])
            at += size
        if len(parts) == 4:
            made[name] = _widen(parts, shape).astype(kind)
        elif len(parts) == 3:
            made[name] = _look_up(parts).view(kind).reshape(shape)
        else:
            made[name] = np.frombuffer(zlib.decompress(parts[0]), kind).reshape(shape)
    return made


def measure_loss(before: NDArray[Any], after: NDArray[Any]) -> float:
    """Return the lowest cosine between a row before and after; rows of zeros are left out."""
    one, two = before.astype(np.float64), after.astype(np.float64)
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(two, axis=1)
    cosines = (one * two).sum(1)[lengths > 0] / lengths[lengths > 0]
    return float(cosines.min()) if len(cosines) else 1.0
