"""Builds the packages, and installs them into empty environments: with no extra, and with each extra alone.

python tools/package.py                        # build, check, and try the base install
python tools/package.py --extras all-alone     # each extra too: torch is installed several times
python tools/package.py --extras none,web --record docs/measured/install.jsonl
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 5_000_000  # bytes that the wheel may have; half of it is the packaged table of synonyms
NOT_ALONE = ("all", "dev")
MODEL = "def predict(texts):\n    return [[0.9, 0.1] if 'bad' in t else [0.2, 0.8] for t in texts]\n"
ROWS = "text,label\na bad film,0\na good film,1\n"


def main() -> None:
    """Build and check the packages, try them, and print the results."""
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parse.add_argument("--extras", default="none", help="extras to try, with commas; none: no extra; or all-alone")
    parse.add_argument("--dist", type=Path, default=ROOT / "dist", help="where the packages are written")
    parse.add_argument("--python", default=sys.executable, help="the interpreter of the empty environments")
    parse.add_argument("--record", type=Path, help="a JSONL file that gets a line more for each")
    asked = parse.parse_args()
    wheel, source = build(asked.dist)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    alone = ["none", *(name for name in known if name not in NOT_ALONE)]
    wanted = alone if asked.extras == "all-alone" else asked.extras.split(",")
    try_source(source, asked.python)
    for row in try_each(wanted, wheel, asked.python):
        if asked.record:
            with asked.record.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"wheel_bytes": wheel.stat().st_size, **row}) + "\n")


def build(dist: Path) -> tuple[Path, Path]:
    """Build the wheel and the source package, check both with twine, and return them."""
    shutil.rmtree(dist, ignore_errors=True)
    for folder in (ROOT, ROOT / "masked-lm"):
        _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(folder))
    _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(dist.iterdir())))
    (wheel,) = dist.glob("malaprop-*.whl")
    if wheel.stat().st_size > MOST:
        raise SystemExit(f"{wheel.name} has {wheel.stat().st_size:,} bytes; at most {MOST:,} are allowed")
    (source,) = dist.glob("malaprop-*.tar.gz")
    for made in (wheel, source):
        print(f"{made.name}: {made.stat().st_size / 1e6:.2f} MB", flush=True)
    return wheel, source


def try_source(source: Path, python: str) -> None:
    """Install the source package without extras, and audit a function there."""
    with tempfile.TemporaryDirectory() as made:
        row = try_one("none", source, python, Path(made))
    print(f"{source.name}: installs in {row['seconds']} s", flush=True)


def try_each(extras: Sequence[str], wheel: Path, python: str) -> Iterator[dict[str, object]]:
    """Install the wheel with each extra into an environment of its own, and attack a function there."""
    for extra in extras:
        with tempfile.TemporaryDirectory() as made:
            row = try_one(extra, wheel, python, Path(made))
        print(f"{extra}: {row['megabytes']} MB in {row['seconds']} s, Python {row['python']}", flush=True)
        yield row


def try_one(extra: str, package: Path, python: str, place: Path) -> dict[str, object]:
    """Install the package in an empty environment; return its seconds and megabytes, without pip itself."""
    _run(python, "-m", "venv", str(place / "env"))
    run = place / "env" / "bin"
    before = _size(place / "env")
    start = time.perf_counter()
    what = str(package) if extra == "none" else f"{package}[{extra}]"
    pins = ("--constraint", str(ROOT / "constraints.txt"), "--find-links", str(package.parent))
    _run(str(run / "pip"), "install", "--quiet", "--disable-pip-version-check", *pins, what)
    seconds = time.perf_counter() - start
    try_commands(run, extra, place)
    version = _run(str(run / "python"), "-c", "import platform; print(platform.python_version())").strip()
    megabytes = round((_size(place / "env") - before) / 1e6)
    return {"extra": extra, "megabytes": megabytes, "seconds": round(seconds), "python": version}


def try_commands(run: Path, extra: str, place: Path) -> None:
    """Run help, doctor, an attack and an audit there, on a function; the doctor finds the extra's libraries."""
    (place / "my_model.py").write_text(MODEL)
    (place / "my.csv").write_text(ROWS)
    _run(str(run / "malaprop"), "--help", where=place)
    said = _run(str(run / "malaprop"), "doctor", "--offline", "--json", "--quiet", where=place)
    known = json.loads(said.splitlines()[-1])["extras"]
    lacking = [name for kind in ("", extra) for name, version in known.get(kind, {}).items() if not version]
    assert not lacking, f"malaprop doctor does not find {lacking}"
    given = ("--victim", "my_model:predict", "--data", "my.csv", "--validity", "paper")  # the judge wants the extra hf
    _run(str(run / "malaprop"), "attack", "pwws", *given, "--out", "one", where=place)
    assert (place / "one").is_dir()
    _run(str(run / "malaprop"), "audit", *given, "--attack", "deepwordbug,keyboard", "--out", "made", where=place)
    assert (place / "made" / "report.html").is_file()


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


def _run(*command: str, where: Path | None = None) -> str:
    done = subprocess.run(command, cwd=where, capture_output=True, text=True)  # noqa: S603 - our own commands
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
