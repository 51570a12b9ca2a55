"""Whether a run attacked a translator."""

from __future__ import annotations

from malaprop.frame.records.run import Run

TASK = "translation"  # what such a run says of itself in its parts


def is_translation(run: Run) -> bool:
    return run.parts.get("task") == TASK
