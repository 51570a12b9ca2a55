"""Commands that are not studies, as steps use them: a function for each, so that an option changes here alone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from malaprop.papers.claims.claim import StepCommand, TypedCommand

__all__ = ["StepCommand", "TypedCommand", "explain", "harden", "rules_from_counts", "show_rules", "show_zoo", "train"]


def show_zoo() -> TypedCommand:
    """Return the command that lists all models of the zoo."""
    return TypedCommand("list models --json")


def explain(**options: Any) -> TypedCommand:
    """Return the command `malaprop explain`."""
    return _line("explain", **options)


def train(model: str, *, settings: Mapping[str, Any] | None = None, **options: Any) -> TypedCommand:
    """Return the command that trains a model of this name."""
    return _line(f"train {model}", settings=settings, **options)


def harden(method: str, *, settings: Mapping[str, Any] | None = None, **options: Any) -> TypedCommand:
    """Return the command that trains a hardened model."""
    return _line(f"harden {method}", settings=settings, **options)


def rules_from_counts(**options: Any) -> TypedCommand:
    """Return the command that makes rules from counts of words and labels."""
    return _line("rules pmi", **options)


def show_rules(folder: str, **options: Any) -> TypedCommand:
    """Return the command that shows the rules of a folder."""
    return _line(f"rules show {folder}", **options)


def _line(command: str, *, settings: Mapping[str, Any] | None = None, **options: Any) -> TypedCommand:
    """Return a command with its options; True is a switch, `settings` are --set name=value."""
    words = [command]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        words.append(flag if value is True else f"{flag} {shlex.quote(str(value))}")
    words += [
        f"--set {name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in (settings or {}).items()
    ]
    return TypedCommand(" ".join(words))
