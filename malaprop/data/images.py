"""Image sets: the packaged digits, MNIST from local copies, drawn scenes, and a user's own arrays."""

from __future__ import annotations

import gzip
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from malaprop.core.errors import DataError
from malaprop.core.seeds import generator
from malaprop.data.base import SPLITS, check_split

Images = NDArray[np.float32]  # [image, channel, height, width], values in [0, 1]
PACKAGED, FULL, SCENES = "mnist", "mnist-full", "scenes"
NAMES = (PACKAGED, FULL, SCENES)
_FOLDER = "mnist"  # under $MALAPROP_DATA
_IDX = {"train": "train", "test": "t10k"}
_IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageSet:
    """One split of an image set; an id is the image's place in the split."""

    name: str
    images: Images
    labels: NDArray[np.int64]
    classes: int
    ids: tuple[str, ...]

    def __post_init__(self) -> None:
        """Make the images contiguous: torch's sums differ in their last bits with the stride of a single channel."""
        object.__setattr__(self, "images", self.images.reshape(-1).reshape(self.images.shape))

    def __len__(self) -> int:
        return len(self.images)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return channels, height and width of every image."""
        _, channels, height, width = self.images.shape
        return channels, height, width

    @cached_property
    def fingerprint(self) -> str:
        """Return sixteen hex digits that identify pixels and labels."""
        digest = blake2b(self.images.tobytes(), digest_size=8)
        digest.update(self.labels.tobytes())
        return digest.hexdigest()

    def pick(self, places: NDArray[np.int64]) -> ImageSet:
        return replace(
            self, images=self.images[places], labels=self.labels[places], ids=tuple(self.ids[i] for i in places)
        )

    def sample(self, n: int | None, seed: int) -> ImageSet:
        """Sample `n` images by the seed, as evenly over the labels as possible; all where n is None or too large."""
        if n is None or n >= len(self):
            return self
        rng = generator(seed, "images", self.name)
        turns = np.zeros(len(self), np.int64)
        order = rng.permutation(len(self))
        for label in range(self.classes):
            mine = order[self.labels[order] == label]
            turns[mine] = np.arange(len(mine))
        place = np.empty(len(self), np.int64)
        place[order] = np.arange(len(self))
        return self.pick(np.sort(np.lexsort((place, turns))[:n]))


def names() -> tuple[str, ...]:
    """Return the names of image sets; the full MNIST is among them where local copies are."""
    from malaprop.assets.folders import data_root

    root = data_root()
    return NAMES if root is not None and (root / _FOLDER).is_dir() else (PACKAGED, SCENES)


def is_images(spec: str | os.PathLike[str]) -> bool:
    """Whether a dataset's name, file or folder holds images."""
    path = Path(spec)
    return os.fspath(spec) in NAMES or path.suffix.lower() == ".npz" or (path.is_dir() and bool(_idx_files(path)))


def load(spec: str | os.PathLike[str], split: str = "test") -> ImageSet:
    """Load one split of `mnist` (packaged, 5,000), `mnist-full` (local copies), `scenes`, an .npz file, or idx files.

    An .npz holds images [n, height, width] or [n, height, width, channel] and labels [n] (or x_train, y_train, x_test,
    y_test), as bytes or as numbers in [0, 1]. A set without a test part is split 80/10/10 by a hash of each image; of
    a set with one, a tenth of the rest is for validation.
    """
    check_split(split)
    return _parts(os.fspath(spec))[split]


@lru_cache(maxsize=2)
def _parts(spec: str) -> dict[str, ImageSet]:
    raw = _raw(spec)
    classes = 1 + max(int(labels.max()) for _, labels in raw.values() if len(labels))
    found: dict[str, ImageSet] = {}
    for part, (images, labels) in raw.items():
        tenths = _hash_to_tenths(images)
        for split in SPLITS:
            keep = _flag_split(part, split, tenths)
            if keep is not None and keep.any():
                found[split] = _part(f"{Path(spec).stem}:{split}", images[keep], labels[keep], classes)
    missing = [split for split in SPLITS if split not in found]
    if missing:
        raise DataError(f"{spec} has too few images: none is left for {' and '.join(missing)}; expected at least 100")
    return found


def _flag_split(part: str, split: str, tenths: NDArray[np.uint8]) -> NDArray[np.bool_] | None:
    """Flag the rows of a part that belong to a split; the part `all` is a set without a test part."""
    if part == "all":
        return np.isin(tenths, {"test": [0], "validation": [1], "train": list(range(2, 10))}[split])
    if part == "test":
        return np.ones(len(tenths), bool) if split == "test" else None
    return None if split == "test" else np.isin(tenths, [1], invert=split == "train")


def _hash_to_tenths(images: NDArray[np.generic]) -> NDArray[np.uint8]:
    return np.asarray([blake2b(image.tobytes(), digest_size=1).digest()[0] % 10 for image in images], np.uint8)


def _part(name: str, images: NDArray[np.generic], labels: NDArray[np.int64], classes: int) -> ImageSet:
    ids = tuple(map(str, range(len(images))))
    return ImageSet(name=name, images=as_images(images, name), labels=labels, classes=classes, ids=ids)


def as_images(raw: NDArray[np.generic], where: str = "images") -> Images:
    """Return an array of images as [n, channel, height, width] in [0, 1]; raise on other shapes and values."""
    if raw.ndim == 3:
        raw = raw[..., None]
    if raw.ndim != 4 or raw.shape[-1] not in (1, 3):
        raise DataError(
            f"{where} has shape {raw.shape}; expected [n, height, width] in grey or [n, height, width, 3] in colour"
        )
    if raw.dtype == np.uint8:
        scaled = raw.astype(np.float32) / np.float32(255)
    else:
        scaled = raw.astype(np.float32)
        if not np.isfinite(scaled).all():
            raise DataError(f"{where} has values that are not finite; expected numbers in [0, 1] or bytes")
        if scaled.min(initial=0) < 0 or scaled.max(initial=0) > 1:
            low, high = scaled.min(), scaled.max()
            raise DataError(f"{where} has values from {low:g} to {high:g}; expected numbers in [0, 1] or bytes")
    return np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))


_Raw = dict[str, tuple[NDArray[np.generic], NDArray[np.int64]]]


def _raw(spec: str) -> _Raw:
    if spec == PACKAGED:
        from malaprop.assets import store
        from malaprop.assets.digits import FILE

        return _from_npz(store.locate("mnist") / FILE)
    if spec == FULL:
        return _from_idx(_local(), spec)
    if spec == SCENES:
        return {"all": draw_scenes()}
    path = Path(spec).expanduser()
    if path.is_dir():
        return _from_idx(path, spec)
    if not path.is_file():
        raise DataError(
            f"no such image set: {spec}; expected {', '.join(NAMES)}, an .npz file or a folder of idx files"
        )
    return _from_npz(path)


def _local() -> Path:
    from malaprop.assets.folders import data_root

    root = data_root()
    if root is None or not (root / _FOLDER).is_dir():
        raise DataError(f"{FULL} is read from local copies; set MALAPROP_DATA to a folder that holds {_FOLDER}/")
    return root / _FOLDER


def _from_npz(path: Path) -> _Raw:
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name.lower(): stored[name] for name in stored.files}
    except (OSError, ValueError, zipfile.BadZipFile, KeyError) as error:
        raise DataError(f"{path} cannot be read as an .npz file of plain arrays: {str(error)[:100]}") from None
    if {"x_train", "y_train", "x_test", "y_test"} <= set(arrays):
        return {part: _pair(arrays, f"x_{part}", f"y_{part}", path) for part in ("train", "test")}
    for images, labels in (("images", "labels"), ("x", "y")):
        if images in arrays and labels in arrays:
            return {"all": _pair(arrays, images, labels, path)}
    raise DataError(
        f"{path} holds {', '.join(sorted(arrays)) or 'nothing'}; expected images and labels, or x_train, y_train, "
        "x_test and y_test"
    )


def _pair(
    arrays: Mapping[str, NDArray[np.generic]], images: str, labels: str, path: Path
) -> tuple[NDArray[np.generic], NDArray[np.int64]]:
    return arrays[images], _labels(arrays[labels], len(arrays[images]), f"{labels} of {path}")


def _labels(raw: NDArray[np.generic], count: int, where: str) -> NDArray[np.int64]:
    if raw.shape != (count,) or raw.dtype.kind not in "iu" or (count and int(raw.min()) < 0):
        raise DataError(f"{where} has shape {raw.shape} of {raw.dtype}; expected {count} whole numbers from 0")
    return raw.astype(np.int64)


def _idx_files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if "-ubyte" in path.name and "images" in path.name]


def _from_idx(folder: Path, spec: str) -> _Raw:
    out: _Raw = {}
    for part, prefix in _IDX.items():
        files = [_find(folder, f"{prefix}-{kind}", spec) for kind in ("images-idx3-ubyte", "labels-idx1-ubyte")]
        images, labels = map(_read_idx, files)
        out[part] = (images, _labels(labels, len(images), str(files[1])))
    return out


def _find(folder: Path, name: str, spec: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise DataError(f"{spec}: no file {name} or {name}.gz in {folder}; expected the four files of MNIST")


def _read_idx(path: Path) -> NDArray[np.generic]:
    """Read an array from a file in MNIST's format: a magic number (type, number of axes), the sizes, the values."""
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        kind, axes = _IDX_TYPES[raw[2]], raw[3]
        sizes = np.frombuffer(raw, ">u4", axes, 4)
        return np.frombuffer(raw, kind, offset=4 + 4 * axes).reshape(tuple(map(int, sizes)))
    except (OSError, EOFError, ValueError, KeyError, IndexError) as error:
        raise DataError(f"{path} is not an idx file, or is cut short: {str(error)[:100]}") from None


# --- images of churches and towers under a sky, in colour, drawn by program: a second image set beside digits. They
# stand in for the photographs of churches and towers (LSUN) on which natural adversaries were first shown, which no
# package holds. Results on them need not hold for photographs.

SIDE, MANY = 32, 3000
LABELS = ("church", "tower")
_ROWS: NDArray[np.float32] = np.repeat(np.arange(SIDE, dtype=np.float32)[:, None], SIDE, 1)
_COLUMNS: NDArray[np.float32] = _ROWS.T.copy()


def draw_scenes(many: int = MANY) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Draw scenes as bytes [scene, side, side, 3], with alternating labels; the result is always the same."""
    labels = np.arange(many) % len(LABELS)
    return np.stack([_draw(int(label), generator(0, "scene", str(n))) for n, label in enumerate(labels)]), labels


def _draw(label: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw sky, ground and a building: a church with a wide nave, gable and spire, or a tall tower with a crown."""
    sky, ground = rng.uniform(0.45, 1, 3), rng.uniform(0.1, 0.5, 3)
    stone = rng.uniform(0.25, 0.75) * np.ones(3) + rng.uniform(-0.12, 0.12, 3)
    horizon = rng.uniform(23, 28)
    shade = (1 - 0.35 * _ROWS / SIDE)[..., None]
    picture = np.where((horizon > _ROWS)[..., None], sky * shade, ground)
    middle = rng.uniform(11, 21)
    inside = (_church, _tower)[label](middle, horizon, rng)
    light = (1 + 0.25 * np.sign(middle - _COLUMNS))[..., None]
    picture = np.where(inside[..., None], stone * light, picture)
    windows = inside & ((_COLUMNS.astype(int) % 4) == int(rng.integers(4))) & ((_ROWS.astype(int) % 6) < 2)
    picture = np.where((windows & (horizon - 14 < _ROWS))[..., None], 0.12, picture)
    noisy = picture + rng.normal(0, 0.03, picture.shape)
    return np.asarray(np.clip(np.rint(noisy * 255), 0, 255), np.uint8)


def _box(left: float, right: float, top: float, bottom: float) -> NDArray[np.bool_]:
    return (left <= _COLUMNS) & (right >= _COLUMNS) & (top <= _ROWS) & (bottom >= _ROWS)


def _gable(middle: float, half: float, top: float, bottom: float) -> NDArray[np.bool_]:
    """Return the mask of a triangle that stands on its base."""
    share = (_ROWS - top) / max(bottom - top, 1e-6)
    return np.asarray((share >= 0) & (share <= 1) & (np.abs(_COLUMNS - middle) <= half * share))


def _church(middle: float, horizon: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    half, eaves = rng.uniform(6, 10), horizon - rng.uniform(6, 9)
    side = middle + rng.choice([-1.0, 1.0]) * half * 0.8
    top = eaves - rng.uniform(5, 8)
    nave = _box(middle - half, middle + half, eaves, horizon) | _gable(middle, half + 1, eaves - half * 0.6, eaves)
    return nave | _box(side - 2, side + 2, top, horizon) | _gable(side, 2.5, top - rng.uniform(4, 7), top)


def _tower(middle: float, horizon: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    half, top = rng.uniform(2.5, 5), rng.uniform(3, 10)
    crown = _box(middle - half - 1, middle + half + 1, top, top + 3) & ~((top + 1.5 > _ROWS) & (_COLUMNS % 3 < 1))
    return _box(middle - half, middle + half, top, horizon) | crown
