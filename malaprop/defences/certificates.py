"""Certificates of many texts, written line by line as they come, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic, perf_counter

from malaprop.core.score import winners
from malaprop.core.settings import plain as plain_values
from malaprop.data.base import Examples
from malaprop.defences.certify import Certifier
from malaprop.defences.defended import Defended
from malaprop.defences.smooth import Noise
from malaprop.records.certified import CERTIFICATES, Certificate, CertifiedRecord
from malaprop.records.run import Run
from malaprop.records.store import write_entries
from malaprop.records.summary import Rate
from malaprop.runs.folder import Sized

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
    run = describe_certificates(certifier, victim, noise, data)
    given = winners(victim.victim.predict([tuple(e.fields.values()) for e in examples])).tolist()
    plain = Rate(sum(a == e.label for a, e in zip(given, examples, strict=True)), len(examples))
    place = {example.id: number for number, example in enumerate(examples)}
    so_far: list[Certificate] = []
    last = float("-inf")
    before = CertifiedRecord.read(folder)
    spent = before.seconds if before is not None else 0.0

    def add_up(lines: list[Certificate]) -> CertifiedRecord:
        ordered = sorted(lines, key=lambda line: place[line.id])
        record = add_certificates(run, ordered, plain, round(spent + perf_counter() - began, 2))
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
        run,
        CERTIFICATES,
        lambda done: certifier.certify(victim.victim, noise, (e for e in examples if e.id not in done)),
        resume=resume,
        seen=note,
    )
    return add_up(lines), sorted(lines, key=lambda line: place[line.id])


def add_certificates(run: Run, lines: Sequence[Certificate], plain: Rate, seconds: float) -> CertifiedRecord:
    """What certificates add up to; `plain` is the accuracy of the victim inside."""
    certifier = run.parts["certifier"]
    return CertifiedRecord.of(
        lines, victim=run.victim, data=run.data, defence=run.recipe, about=run.parts["about"], plain=plain,
        samples=certifier["samples"], alpha=certifier["alpha"], seconds=seconds,
    )  # fmt: skip


def describe_certificates(certifier: Certifier, victim: Defended, noise: Noise, data: Sized) -> Run:
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
