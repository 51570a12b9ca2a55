"""How a generative model of images is trained: the settings that `--set` reaches."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from malaprop.core.errors import SettingError

Kind = Literal["wgan", "vae"]
KINDS: tuple[Kind, ...] = ("wgan", "vae")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePlan:
    """The networks' sizes and the work. `weight` is the lambda of equation 2, or what a VAE's divergence counts."""

    kind: Kind = "wgan"
    dim: int | None = None  # None: 64, or 128 for large images
    width: int = 64
    steps: int = 20_000  # of the generator, or of the VAE
    inverter_steps: int = 10_000
    critic_steps: int = 5
    batch: int = 64
    rate: float = 2e-4
    inverter_rate: float = 5e-4
    weight: float | None = None  # None: 0.1 for an inverter, 1 for a VAE
    average: float = 0.999  # how slowly the generator that is kept follows the one that learns; 0: it is that one
    minutes: float = 0.0  # ends each phase early after its share of this; 0: never. Such a run is not repeatable

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SettingError(f"a generative model of images is one of {', '.join(KINDS)}, got {self.kind!r}")
        counts = (self.width, self.steps, self.inverter_steps, self.critic_steps, self.batch)
        if min(counts) < 1 or (self.dim is not None and self.dim < 1):
            raise SettingError(f"sizes and numbers of steps must be at least 1, got {self}")
        if min(self.rate, self.inverter_rate) <= 0 or not 0 <= self.average < 1 or self.minutes < 0:
            raise SettingError(f"rates must be above 0 and average in [0, 1), got {self}")

    @property
    def divergence(self) -> float:
        return self.weight if self.weight is not None else 0.1 if self.kind == "wgan" else 1.0

    def plain(self) -> dict[str, Any]:
        return asdict(self)
