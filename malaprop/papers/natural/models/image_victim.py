"""Image victims: networks, forests, scikit-learn classifiers and any function on arrays, behind one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from malaprop.core.capability import Capability
from malaprop.core.errors import MalapropError, VictimError, plain
from malaprop.core.score import Floats
from malaprop.training.card import ROLES, Card, read_card, write_card

if TYPE_CHECKING:
    from torch import Tensor, nn

CARD, WEIGHTS = ROLES["image classifier"].file, "image.safetensors"
KINDS = ("lenet", "mlp", "forest")
Size = tuple[int, int, int]  # channels, height, width


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageVictim:
    """A classifier of images: `scores` takes a tensor [image, channel, height, width] and gives an array or tensor."""

    name: str
    scores: Callable[[Tensor], Any]
    image: Size | None = None  # None: not known
    fingerprint: str = ""
    network: nn.Module | None = None  # logits of images; None: a black box

    @property
    def offers(self) -> frozenset[Capability]:
        known = {Capability.LABELS, Capability.SCORES}
        return frozenset(known | {Capability.GRADIENTS} if self.network is not None else known)

    def check(self, image: Size) -> None:
        if self.image is not None and self.image != image:
            raise VictimError(f"{self.name} reads images of {_size(self.image)}, got {_size(image)}")

    def __call__(self, images: Tensor | NDArray[np.float32]) -> Floats:
        """Return scores [image, label]; labels that come without scores count as scores of 0 and 1."""
        import torch

        given = torch.from_numpy(np.ascontiguousarray(images)) if isinstance(images, np.ndarray) else images
        with torch.inference_mode():
            raw = self.scores(given)
        found = np.asarray(raw.float().cpu().numpy() if isinstance(raw, torch.Tensor) else raw)
        if found.shape == (len(given),) and found.dtype.kind in "iub":
            found = np.eye(max(10, int(found.max(initial=0)) + 1), dtype=np.float32)[found.astype(np.int64)]
        if found.ndim != 2 or len(found) != len(given) or found.shape[1] < 2 or found.dtype.kind not in "fiu":
            raise VictimError(
                f"{self.name} answered {len(given)} images with shape {found.shape}; expected ({len(given)}, labels)"
            )
        if not np.isfinite(found).all():
            raise VictimError(f"{self.name} answered with scores that are not finite numbers (NaN or infinity)")
        return found.astype(np.float32)


def _size(image: Size) -> str:
    return f"{image[1]} x {image[2]} x {image[0]}"


def of_network(network: nn.Module, *, name: str, device: str = "cpu", **known: Any) -> ImageVictim:
    """Make a victim of a torch module from images [image, channel, height, width] in [0, 1] to logits."""
    network = network.to(device).eval().requires_grad_(False)

    def scores(images: Tensor) -> Tensor:
        out: Tensor = network(images.to(device)).softmax(1)
        return out

    return ImageVictim(name=name, scores=scores, network=network, **known)


def of_function(function: Callable[[NDArray[np.float32]], Any], *, name: str, **known: Any) -> ImageVictim:
    """Make a victim of a function on arrays [image, height, width], with a last axis for colours if there are any."""

    def scores(images: Tensor) -> Any:
        arrays = images.cpu().numpy()
        grey = arrays.shape[1] == 1
        try:
            return function(arrays[:, 0] if grey else np.ascontiguousarray(arrays.transpose(0, 2, 3, 1)))
        except MalapropError:
            raise
        except Exception as error:
            raise VictimError(f"{name} raised {plain(error)[:300]}") from error

    return ImageVictim(name=name, scores=scores, **known)


def of_sklearn(classifier: Any, *, name: str, **known: Any) -> ImageVictim:
    """Make a victim of a scikit-learn classifier on flattened images [image, pixel], with values in [0, 1]."""
    probabilities: Any = getattr(classifier, "predict_proba", None)
    decision: Any = getattr(classifier, "decision_function", None)
    if probabilities is None and decision is None:
        raise VictimError(f"{name} has neither predict_proba nor decision_function; expected a classifier that scores")
    wanted = getattr(classifier, "n_features_in_", None)

    def scores(images: Tensor) -> Any:
        flat = images.flatten(1).cpu().numpy()
        if wanted is not None and flat.shape[1] != wanted:
            raise VictimError(f"{name} reads {wanted} pixels an image, got {flat.shape[1]}")
        if probabilities is not None:
            return np.asarray(probabilities(flat), np.float32)
        values = np.asarray(decision(flat), np.float32)
        return np.stack([-values, values], 1) if values.ndim == 1 else values

    return ImageVictim(name=name, scores=scores, **known)


def save(folder: Path, card: Card, weights: Mapping[str, Tensor]) -> None:
    """Write the folder, its card last, so that a folder with a card is complete."""
    from safetensors.torch import save_file

    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file({k: t.detach().cpu().contiguous() for k, t in weights.items()}, folder / WEIGHTS)
        write_card(folder, card)
    except OSError as error:
        raise VictimError(f"cannot write {folder}: {error.strerror or error}; name another folder") from None


def load(spec: str, *, device: str = "cpu") -> ImageVictim:
    """Load an image victim from a folder, a `.skops` file of a scikit-learn classifier, or `module:attribute`."""
    path = Path(spec).expanduser()
    if path.is_dir():
        return _folder(path, device)
    if path.suffix.lower() == ".skops" or path.is_file():
        return of_sklearn(_skops(path), name=path.stem, fingerprint=sha256(path.read_bytes()).hexdigest()[:16])
    if ":" in spec:
        from torch import nn

        from malaprop.frame.runs.load_victim import resolve

        found = resolve(spec)
        if isinstance(found, ImageVictim):
            return found
        if isinstance(found, nn.Module):
            return of_network(found, name=spec, device=device)
        if hasattr(found, "predict_proba"):
            return of_sklearn(found, name=spec)
        if not callable(found):
            raise VictimError(f"{spec} is a {type(found).__name__}; expected a function from images to scores")
        return of_function(found, name=spec)
    raise VictimError(
        f"no image victim {spec!r}; expected a folder written by malaprop train {'|'.join(KINDS)}, a .skops file, or "
        "module:attribute (a function from images to scores)"
    )


def _skops(path: Path) -> Any:
    from malaprop.models.victims.sklearn import REFUSED, read_skops, refuse_pickle

    if path.suffix.lower() in REFUSED:
        raise refuse_pickle(path)
    if not path.is_file():
        raise VictimError(f"no such file: {path}")
    return read_skops(path)


def _folder(folder: Path, device: str) -> ImageVictim:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from malaprop.papers.natural.models.image_classifiers import network

    card = read_card(folder, "image classifier")
    try:
        weights = load_file(folder / WEIGHTS)
        channels, height, width = map(int, card.shape["image"])
        image = (channels, height, width)
        net = network(card.kind, image, int(card.shape["classes"]), card.settings, weights)
    except (OSError, SafetensorError, RuntimeError, TypeError, KeyError, ValueError) as error:
        reason = str(error).splitlines()[0][:160]
        raise VictimError(f"{folder} is damaged or cut short ({reason}); train the model again") from None
    mark = sha256((folder / WEIGHTS).read_bytes()).hexdigest()[:16]
    victim = of_network(net, name=folder.name, device=device, image=image, fingerprint=mark)
    return replace(victim, network=None) if card.kind == "forest" else victim  # a forest's steps have no slope
