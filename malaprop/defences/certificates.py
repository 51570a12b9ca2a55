"""Certificates of many texts, written line by line as they come, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from malaprop.core.score import winners
from malaprop.core.settings import plain
from malaprop.data.base import Examples
from malaprop.defences.certify import Certifier
from malaprop.defences.defended import Defended
from malaprop.defences.smooth import Noise
from malaprop.records.certified import CERTIFICATES, Certificate, CertifiedRecord
from malaprop.records.run import Run
from malaprop.records.store import write_entries
from malaprop.records.summary import Rate

TASK = "certificates"
_EVERY = 2.0  # seconds between two sums of what there is: a run that is killed can be reported


def write_certificates(
    certifier: Certifier,
    victim: Defended,
    noise: Noise,
    data: Examples,
    folder: Path,
    *,
    resume: bool,
    seen: Callable[[Certificate], None] = lambda line: None,  # noqa: ARG005
) -> tuple[CertifiedRecord, list[Certificate]]:
    """Certificates of all texts in a folder, those of an earlier attempt first taken up, and what they add up to."""
    began, examples = perf_counter(), list(data)
    told: dict[str, Any] = {
        "victim": victim.victim.name,
        "data": data.name,
        "defence": victim.spec,
        "about": noise.about,
        "samples": certifier.samples,
        "alpha": certifier.alpha,
    }
    given = winners(victim.victim.predict([tuple(e.fields.values()) for e in examples])).tolist()
    told["plain"] = Rate(sum(a == e.label for a, e in zip(given, examples, strict=True)), len(examples))
    place = {example.id: number for number, example in enumerate(examples)}
    so_far: list[Certificate] = []
    last = float("-inf")
    before = CertifiedRecord.read(folder)
    spent = before.seconds if before is not None else 0.0

    def add_up(lines: list[Certificate]) -> CertifiedRecord:
        ordered = sorted(lines, key=lambda line: place[line.id])
        record = CertifiedRecord.of(ordered, **told, seconds=round(spent + perf_counter() - began, 2))
        record.write(folder)
        return record

    def note(line: Certificate) -> None:
        nonlocal last
        so_far.append(line)
        seen(line)
        if monotonic() - last >= _EVERY:
            add_up(so_far)
            last = monotonic()

    lines: list[Certificate] = write_entries(
        folder,
        describe_certificates(certifier, victim, noise, data),
        CERTIFICATES,
        lambda done: certifier.certify(victim.victim, noise, (e for e in examples if e.id not in done)),
        resume=resume,
        seen=note,
    )
    return add_up(lines), sorted(lines, key=lambda line: place[line.id])


def describe_certificates(certifier: Certifier, victim: Defended, noise: Noise, data: Examples) -> Run:
    """What is certified, as it is written beside the certificates."""
    return Run(
        recipe=victim.spec,
        victim=victim.victim.name,
        data=data.name,
        n=len(data),
        seed=certifier.seed,
        labels=data.labels,
        parts={"task": TASK, "certifier": plain(certifier), "about": noise.about},
        fingerprints={"victim": victim.victim.fingerprint, "data": data.fingerprint},
    )
