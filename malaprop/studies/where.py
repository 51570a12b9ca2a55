"""Where: which device, processes and machines a study uses. Saving: where its files go and what is printed.

Both are groups of settings that every study holds; none of them changes a result, so all of them are `free`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from malaprop.studies.settings import opt

ENGINES = ("local", "ray")


def width_option() -> int:
    """The setting `width`, for studies that run attacks."""
    made: int = opt(256, "How many examples are attacked side by side; changes the speed alone.", min=1, free=True)
    return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where tasks run."""

    device: str = opt("auto", "cpu, cuda or auto.", free=True)
    precision: str = opt(
        "auto",
        "fp32, bf16 or auto, for transformers: bf16 is faster where the device is made for it, and what it finds "
        "is confirmed in fp32; other models reckon in fp32.",
        free=True,
    )
    jobs: int | None = opt(
        None, "Processes side by side; if not given one, on Ray one a GPU or one a core.", min=1, free=True
    )
    engine: str = opt(
        "local", "local: this machine; ray: a Ray cluster, or one started on this machine.", choices=ENGINES, free=True
    )
    address: str | None = opt(
        None, "With --engine ray: HOST:PORT of a cluster's head, or auto for the one running here.", free=True
    )
    workers: int | None = opt(None, "With --engine ray: another name for --jobs.", min=1, free=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Where a study's files go, and what is printed beside."""

    out: Path | None = opt(
        None,
        "Folder for what is written; made if it is missing. The same folder goes on with what was killed.",
        free=True,
    )
    json: bool = opt(False, "Make the last line of standard output one JSON object.", free=True)
    quiet: bool = opt(False, "Print no progress and no table.", free=True)
