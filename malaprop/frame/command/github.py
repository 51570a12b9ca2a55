"""What a job on GitHub is told: its summary page and annotations. Elsewhere nothing is said."""

from __future__ import annotations

import os
from pathlib import Path

from malaprop.frame.study.study import View


def announce(view: View) -> None:
    """Adds to the job's summary, and prints annotations as the runner reads them."""
    if (page := os.environ.get("GITHUB_STEP_SUMMARY")) and view.markdown:
        with Path(page).open("a", encoding="utf-8") as file:
            file.write(view.markdown)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for level, title, message in view.annotations:
            print(f"::{level} title={_escape(title, more=True)}::{_escape(message)}", flush=True)


def _escape(text: str, *, more: bool = False) -> str:
    """Text that cannot end the line, or begin another command."""
    out = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return out.replace(":", "%3A").replace(",", "%2C") if more else out
