"""Pictures: a file that is a PNG, pixel for pixel."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

from malaprop.core import png


def decoded(raw):
    """Reads what `encode` writes: one IDAT, no filters; every checksum is checked."""
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(raw):
        (size,) = struct.unpack(">I", raw[at : at + 4])
        kind, body = raw[at + 4 : at + 8], raw[at + 8 : at + 8 + size]
        assert struct.unpack(">I", raw[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, rest) == (8, [0, 0, 0])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape((height, width, 3) if colour == 2 else (height, width))


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (2, 4, 3)])
def test_pixels_come_back(shape):
    picture = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    assert np.array_equal(decoded(png.encode(picture)), picture)


def test_images_become_pictures():
    grey = np.asarray([[[0.0, 1.0], [0.5, 2.0]]])
    assert png.picture_of(grey).tolist() == [[0, 255], [128, 255]]
    assert png.picture_of(np.zeros((3, 2, 4))).shape == (2, 4, 3)
    assert png.address(png.picture_of(grey)).startswith("data:image/png;base64,iVBOR")


def test_a_difference_is_blue_where_brighter_and_red_where_darker():
    before, after = np.asarray([[[0.0, 1.0, 0.5]]]), np.asarray([[[1.0, 0.0, 0.5]]])
    assert png.difference(before, after).tolist() == [[[0, 0, 255], [255, 0, 0], [255, 255, 255]]]


def test_a_sheet_has_gaps():
    made = png.sheet(np.zeros((3, 1, 2, 2)), columns=2, gap=1)
    assert made.shape == (5, 5)
    assert made[:2, :2].max() == 0
    assert made[2].min() == 255
    assert made[3:, 3:].min() == 255  # nothing is in the last place
