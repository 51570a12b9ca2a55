"""malaprop doctor: what is installed, cached and reachable, for bug reports and for people whose first run fails."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Annotated, Any

import typer

from malaprop.frame.command import options as o

_PROBE = "six"  # a small package that every package index has
_WAIT = 20.0  # seconds until the package index counts as out of reach
_NAME = re.compile(r"^[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_SECRET = re.compile("KEY|TOKEN|SECRET|PASS")  # in the name of a setting whose value is not shown
_NOT_FOR_USERS = ("all", "dev")  # extras that only gather others


def doctor(
    offline: Annotated[bool, typer.Option("--offline", help="Do not ask the package index.")] = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Show versions, installed extras, cached assets, the device, and whether the package index answers.

    Put its output into a bug report. It changes nothing and downloads a few kilobytes at most.

    Examples:

      malaprop doctor

      malaprop doctor --offline --json
    """
    found = examine(ask_index=not offline)
    if not quiet:
        print(_write(found))
    o.finish({"command": "doctor", **found}, json)


def examine(*, ask_index: bool) -> dict[str, Any]:
    """Return what a bug report needs to say about this machine."""
    from malaprop import __version__
    from malaprop.assets import store
    from malaprop.assets.folders import offline
    from malaprop.core.errors import AssetError

    try:
        assets = {name: store.state(name) for name in store.entries()}
        cache = str(store.cache_root())
    except AssetError as error:  # a wrong MALAPROP_DATA is what such a report is for
        assets, cache = {}, str(error)
    settings = {
        name: "(hidden)" if _SECRET.search(name) else value
        for name, value in sorted(os.environ.items())
        if name.startswith("MALAPROP_")
    }
    return {
        "malaprop": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "device": _find_device(),
        "extras": list_extras(),
        "cache": cache,
        "writable": _is_writable(Path(cache)),
        "assets": assets,
        "settings": settings,
        "index": "not asked" if not ask_index or offline() else _ask_index(),
    }


def list_extras() -> dict[str, dict[str, str]]:
    """Return for each extra its libraries, each with its version or an empty string where it is missing."""
    found: dict[str, dict[str, str]] = {"": {}}
    try:
        lines = requires("malaprop") or []
    except PackageNotFoundError:  # run from a folder, without an installation
        lines = []
    for line in lines:
        name, extra = _NAME.match(line), _EXTRA.search(line)
        kind = extra[1] if extra else ""
        if name and kind not in _NOT_FOR_USERS and name[0] != "malaprop":
            found.setdefault(kind, {})[name[0]] = _find_version(name[0])
    return found


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _find_device() -> str:
    """Return the GPU that torch sees, or cpu, with a note if torch is missing."""
    try:
        import torch
    except ImportError:
        return "cpu (torch is not installed)"
    return f"cuda: {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "cpu"


def _is_writable(folder: Path) -> bool:
    """Whether files can be written to the folder, or to the nearest folder above it that exists."""
    there = next((one for one in (folder, *folder.parents) if one.exists()), None)
    return there is not None and there.is_dir() and os.access(there, os.W_OK)


def _ask_index() -> str:
    """Return `reachable` if pip gets a small package from its index, else the last line of what it said."""
    words = ["download", "--no-deps", "--quiet", "--no-input", "--retries", "0", "--timeout", "5"]
    with tempfile.TemporaryDirectory() as folder:
        try:
            ended = subprocess.run(  # noqa: S603 - our own words and a fixed name
                [sys.executable, "-m", "pip", *words, "--dest", folder, _PROBE],
                capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=_WAIT, check=False,
                env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"no answer in {_WAIT:.0f} seconds"
    said = (ended.stderr or ended.stdout).strip().splitlines()
    return "reachable" if ended.returncode == 0 else f"not reachable: {said[-1] if said else 'pip said nothing'}"


def _write(found: dict[str, Any]) -> str:
    """Return the report as text."""
    lines = [
        f"malaprop {found['malaprop']}, Python {found['python']}, {found['platform']}",
        f"device: {found['device']}, {found['cores']} cores",
        f"cache: {found['cache']}{'' if found['writable'] else ' (cannot be written: set MALAPROP_CACHE)'}",
        f"package index: {found['index']}",
    ]
    lines += [f"{name}={value}" for name, value in found["settings"].items()]
    lines += ["", "installed:"]
    for extra, libraries in found["extras"].items():
        lacking = [name for name, known in libraries.items() if not known]
        shown = ", ".join(f"{name} {known}" for name, known in libraries.items() if known)
        lack = f"missing: {', '.join(lacking)} (pip install 'malaprop[{extra}]')" if lacking else ""
        lines.append(f"  {extra or 'malaprop'}: {'; '.join(part for part in (shown, lack) if part)}")
    states: dict[str, list[str]] = {}
    for name, state in found["assets"].items():
        states.setdefault(state, []).append(name)
    lines += ["", "assets (malaprop fetch NAME gets one):"]
    lines += [f"  {state}: {', '.join(names)}" for state, names in states.items()]
    return "\n".join(lines)
