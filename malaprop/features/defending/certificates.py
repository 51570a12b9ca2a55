"""Certificates of many texts: what is written beside them, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence

from malaprop.core.settings import plain as plain_values
from malaprop.features.defending.certified_record import Certificate, CertifiedRecord
from malaprop.features.defending.certify import Certifier
from malaprop.features.defending.smooth import Noise
from malaprop.frame.records.run import Run
from malaprop.frame.records.summary import Rate
from malaprop.frame.runs.defended import Defended
from malaprop.frame.runs.folder import SizedDataset

TASK = "certificates"


def add_certificates(run: Run, lines: Sequence[Certificate], plain: Rate, seconds: float) -> CertifiedRecord:
    """What certificates add up to; `plain` is the accuracy of the victim inside."""
    certifier = run.parts["certifier"]
    return CertifiedRecord.of(
        lines, victim=run.victim, data=run.data, defence=run.recipe, about=run.parts["about"], plain=plain,
        samples=certifier["samples"], alpha=certifier["alpha"], seconds=seconds,
    )  # fmt: skip


def describe_certificates(certifier: Certifier, victim: Defended, noise: Noise, data: SizedDataset) -> Run:
    """What is certified, as it is written beside the certificates."""
    return Run(
        recipe=victim.spec,
        victim=victim.victim.name,
        data=data.name,
        split=data.part,
        n=len(data),
        seed=certifier.seed,
        labels=data.labels,
        parts={"task": TASK, "certifier": plain_values(certifier), "about": noise.about},
        fingerprints={"victim": victim.victim.fingerprint, "data": data.fingerprint},
    )
