"""The documentation names everything there is, and its site builds without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from malaprop.assets.manifest import entries
from malaprop.attacks import candidates, constraints, goals, ranking, recipes, search
from malaprop.attacks.sentences import REWRITERS
from malaprop.cli.list_ import needed_access
from malaprop.cli.main import app

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))

from command_pages import command_pages, commands  # noqa: E402
from links import broken_links  # noqa: E402
from python_pages import python_pages  # noqa: E402

DOCS = ROOT / "docs"
COMMANDS = typer.main.get_command(app).commands


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """What stands below each heading of the second level."""
    return dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_section(command):
    assert command in sections(read("command-line.md"))


def test_every_option_of_every_command_is_in_the_reference():
    """The reference is written from the commands themselves; what `--help-all` of each lists is on its page."""
    (page,) = command_pages().values()
    for name, command in commands().items():
        part = re.split(r"\n##+ malaprop ", page.partition(f"## malaprop {name} {{")[2])[0]
        typed = [one for one in command.params if not getattr(one, "hidden", False)]
        flags = {flag for one in typed for flag in (*one.opts, *one.secondary_opts) if flag.startswith("--")}
        rows = [line for line in part.splitlines() if line.startswith("| `--")]
        assert set(re.findall(r"`(--[a-z0-9-]+)`", "\n".join(row.split(" | ")[0] for row in rows))) == {
            *flags,
            "--help",
            "--help-all",
        }


def test_the_reference_knows_the_commands_that_are_typed():
    assert {name.split()[0] for name in commands()} == set(COMMANDS)
    assert {"attack", "natural", "natural compare", "study oneword", "humans export"} <= set(commands())


@pytest.mark.parametrize("name", [name for name in recipes.RECIPES._table if ":" in name])
def test_every_preset_is_on_the_page_of_its_recipe(name):
    import inspect

    base = name.partition(":")[0]
    told = sections(read(f"recipes/{base}.md"))["Presets"]
    rows = dict(re.findall(r"^\| `([\w:-]+)` \| ([^|]+?) \|", told, re.MULTILINE))
    given, own = (inspect.signature(recipes.RECIPES[n]).parameters for n in (base, name))
    changed = {n: p.default for n, p in own.items() if p.default != given[n].default}
    shown = {n: f'"{v}"' if isinstance(v, str) else str(v).lower() for n, v in changed.items()}
    assert rows[name] == ", ".join(f"`{n}={v}`" for n, v in shown.items())


@pytest.mark.parametrize("recipe", [name for name in recipes.RECIPES._table if ":" not in name])
def test_every_recipe_has_a_page_with_its_settings(recipe):
    import inspect

    file = recipe.replace("*", "-star")
    page = read(f"recipes/{file}.md")
    for heading in ("Steps", "Settings", "Where it differs", "Cost", "Example"):
        assert heading in sections(page)
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", sections(page)["Settings"], re.MULTILINE))
    given = inspect.signature(recipes.RECIPES[recipe]).parameters
    assert rows.keys() == given.keys()
    for name, value in rows.items():
        default = given[name].default
        assert value == ("none" if default is None else str(default).lower())
    (row,) = [line for line in read("recipes/index.md").splitlines() if f"({file}.md)" in line]
    assert f"| {needed_access(recipes.RECIPES[recipe]())} |" in row


@pytest.mark.parametrize(
    "table",
    [candidates.CANDIDATES, constraints.CONSTRAINTS, goals.GOALS, ranking.RANKINGS, search.SEARCHES, REWRITERS],
    ids=lambda table: table.kind,
)
def test_every_part_is_described(table):
    page = read("attacks.md")
    for name in table._table:
        assert f"| `{name}` | `{table[name].__name__}(" in page, name
    assert f"`malaprop.{table.kind}`" in page


@pytest.mark.parametrize("asset", entries())
def test_every_asset_is_described_as_in_the_manifest(asset):
    entry = entries()[asset]
    (row,) = [
        line for line in sections(read("assets.md"))["What there is"].splitlines() if line.startswith(f"| `{asset}` |")
    ]
    assert entry.archive is None or f"{entry.archive.name} {entry.archive.version}" in row
    assert f"| {entry.size}" in row
    assert entry.archive is None or entry.licence in row


def test_local_copies_are_described_as_in_the_manifest():
    rows = re.findall(r"^\| (`.+?`) \| (`.+?`) \|$", sections(read("assets.md"))["Environment"], re.MULTILINE)
    told = {asset.strip("`"): set(re.findall("`(.+?)`", files)) for row, files in rows for asset in row.split(", ")}
    listed = {name: set(entry.local) for name, entry in entries().items() if entry.local}
    assert {name: {file.rstrip("/") for file in files} for name, files in told.items()} == listed


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 60
    outside = re.compile(r'<(?:script|img)[^>]+src="https?:|<link[^>]+rel="stylesheet"[^>]+href="https?:')
    assert not [page.name for page in pages if outside.search(page.read_text(encoding="utf-8"))]
    assert broken_links(tmp_path / "site") == []


LONG = 1_000  # words: about two screens
LONG_PAGES = [page for page in sorted(DOCS.rglob("*.md")) if len(page.read_text(encoding="utf-8").split()) > LONG]


@pytest.mark.parametrize("page", LONG_PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_long_page_begins_with_its_summary(page):
    start = page.read_text(encoding="utf-8").partition("\n## ")[0]
    assert "\n**In short:** " in start, "write a paragraph that begins **In short:** below the title"


HOW_TO = re.findall(r"^      - (How to .+): (\S+)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
MEASURES = {"languages.md", "sentences.md"}  # their tables are on the page, not in an appendix


@pytest.mark.parametrize(("title", "name"), HOW_TO)
def test_a_how_to_page_is_titled_so_and_short(title, name):
    page = re.sub(r"<!--.*?-->|^```.*?^```", "", read(name), flags=re.DOTALL | re.MULTILINE)  # without code
    assert page.startswith(f"# {title}\n")
    assert len(page.split()) <= 900 or name in MEASURES


def test_there_are_at_most_sixty_pages_beside_recipes():
    written = [page for page in DOCS.rglob("*.md") if page.parent.name not in ("recipes", "measured")]
    assert len(written) + len(command_pages()) + len(python_pages()) <= 60


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#there">1</a><a href="b.html#not">2</a><img src="c.png">')
    (tmp_path / "b.html").write_text('<h2 id="there"></h2><a href="https://example.org">3</a><a href="a.html">4</a>')
    assert broken_links(tmp_path) == ["a.html: b.html#not", "a.html: c.png"]
    (tmp_path / "README.md").write_text("[one](a.html) [two](gone.md#x) ![three](c.png) `[no](link)`")
    assert broken_links(tmp_path / "none", [tmp_path / "README.md"]) == ["README.md: gone.md#x", "README.md: c.png"]
