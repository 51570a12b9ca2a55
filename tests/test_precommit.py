"""The hooks of pre-commit are the checks of `make lint`."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_the_hooks_are_the_checks_of_make_lint():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (lint,) = re.findall(r"^lint:.*\n((?:\t.+\n)+)", makefile, re.MULTILINE)
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    hooks = [hook["entry"] for hook in local["hooks"] if hook["language"] == "system"]
    assert hooks == [line.strip().replace("$(RUN)", ".venv/bin") for line in lint.splitlines()]


def test_long_subjects_of_commits_are_refused():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    (subject,) = [hook for hook in local["hooks"] if hook["id"] == "subject"]
    refused = re.compile(subject["entry"], re.MULTILINE)
    assert refused.search("x" * 73 + "\n\nbody")
    assert not refused.search("x" * 72 + "\n\n" + "y" * 90)
