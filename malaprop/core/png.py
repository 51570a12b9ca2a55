"""Write small PNG pictures for model folders and reports, without an imaging library."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


def encode(picture: Bytes) -> bytes:
    """Encode a picture [height, width] in grey or [height, width, 3] in colour as the bytes of a PNG file."""
    height, width = picture.shape[:2]
    colour = 2 if picture.ndim == 3 else 0
    rows = np.ascontiguousarray(picture, np.uint8).reshape(height, -1)
    raw = np.concatenate([np.zeros((height, 1), np.uint8), rows], 1).tobytes()  # each row begins with its filter: none
    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(raw, 9)) + _chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def address(picture: Bytes) -> str:
    """Return the picture as a data URL, for a page without other files."""
    return "data:image/png;base64," + b64encode(encode(picture)).decode("ascii")


def is_address(text: str) -> bool:
    """Whether a text is a data URL of a PNG file, as `address` makes it."""
    begin = "data:image/png;base64,"
    try:
        return text.startswith(begin) and b64decode(text[len(begin) :], validate=True).startswith(b"\x89PNG\r\n\x1a\n")
    except ValueError:
        return False


def picture_of(image: NDArray[np.floating]) -> Bytes:
    """Turn an image [channel, height, width] of values in [0, 1] into a picture: grey of one channel, else colour."""
    values = np.clip(np.rint(np.asarray(image, np.float64) * 255), 0, 255).astype(np.uint8)
    return values[0] if len(values) == 1 else np.ascontiguousarray(values.transpose(1, 2, 0))


def difference(before: NDArray[np.floating], after: NDArray[np.floating]) -> Bytes:
    """Draw the change of an image on white: brighter is blue, darker is red; channels are averaged."""
    change = np.clip(np.asarray(after, np.float64).mean(0) - np.asarray(before, np.float64).mean(0), -1, 1)
    fade = 1 - np.abs(change)
    red, blue = np.where(change > 0, fade, 1.0), np.where(change < 0, fade, 1.0)
    return np.asarray(np.rint(np.stack([red, fade, blue], -1) * 255), np.uint8)


def sheet(images: NDArray[np.floating], columns: int, gap: int = 2) -> Bytes:
    """Arrange images [n, channel, height, width] in rows of `columns`, with a white gap between them."""
    pictures = [picture_of(image) for image in images]
    height, width = pictures[0].shape[:2]
    rows = -(-len(pictures) // columns)
    size = (rows * (height + gap) - gap, columns * (width + gap) - gap, *pictures[0].shape[2:])
    out = np.full(size, 255, np.uint8)
    for number, picture in enumerate(pictures):
        top, left = (number // columns) * (height + gap), (number % columns) * (width + gap)
        out[top : top + height, left : left + width] = picture
    return out
