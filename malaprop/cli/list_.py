"""malaprop list and malaprop fetch: list what malaprop and its plug-ins provide, and fetch resources from outside."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

from malaprop.frame.command import options as o

KINDS = (
    "recipes",
    "suites",
    "models",
    "victims",
    "defences",
    "datasets",
    "assets",
    "searches",
    "rankings",
    "candidates",
    "rewriters",
    "constraints",
    "goals",
)
_NEXT = {
    "recipes": "malaprop attack RECIPE --victim VICTIM --data DATA",
    "suites": "malaprop audit --attack SUITE --victim VICTIM --data DATA",
    "models": "malaprop train MODEL --data DATA",
    "victims": "malaprop audit --victim VICTIM --data DATA",
    "defences": "malaprop study defences --defence DEFENCE",
    "datasets": "malaprop audit --data DATA",
    "assets": "malaprop fetch ASSET",
}
_WIDE = 110  # characters a terminal needs for all columns
_SPARED = ("parameters", "date")  # columns left out on narrower terminals; --json has them


def list_(
    kind: Annotated[
        str,
        typer.Argument(
            help=f"What to list, such as recipes. One of {', '.join(KINDS)}. Detectors are among the defences."
        ),
    ],
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """List recipes, models, datasets, assets, or the parts that attacks are made of.

    Examples:

      malaprop list recipes

      malaprop list assets --json
    """
    from malaprop.core.errors import SettingError

    if kind not in KINDS:
        raise SettingError(
            f"malaprop list does not know {kind!r}; choose from {', '.join(KINDS)}; detectors are among the defences"
        )
    rows = _rows(kind)
    if not quiet:
        _print(kind, rows)
    o.suggest(_NEXT.get(kind, "see how parts make an attack: docs/attacks.md"), quiet, json)
    o.finish({"command": "list", "kind": kind, "items": rows}, json)


def _rows(kind: str) -> list[dict[str, Any]]:
    if kind == "assets":
        from malaprop.assets import store

        return [
            {"name": name, "state": store.state(name), "MB": e.size, "licence": e.licence, "what": e.about}
            for name, e in store.entries().items()
        ]
    if kind == "datasets":
        from malaprop.data import images
        from malaprop.data.base import names

        return [{"name": name} for name in (*names(), *images.names())]
    if kind == "suites":
        from malaprop.attacks.recipes.suites import SUITES

        return [{"name": name, "recipes": ", ".join(one.recipes), "what": one.about} for name, one in SUITES.items()]
    if kind == "victims":
        from malaprop.frame.runs.victims import WRITTEN

        return [{"name": written, "what": what} for written, what in WRITTEN.items()]
    if kind == "models":
        from malaprop.zoo.cache import listing

        return listing()
    if kind == "defences":
        from malaprop.frame.rooms import added, load
        from malaprop.frame.runs.victims import WRAPPERS
        from malaprop.frame.study.training_methods import DEFENCES

        tables = {defence: load(place) for defence, place in added("descriptions").items()}
        kinds = {f"{defence}:{name}": thing for defence, table in tables.items() for name, thing in table.items()}
        return _describe({**WRAPPERS, **DEFENCES, **kinds}, (*DEFENCES, *WRAPPERS, *kinds))
    from malaprop.attacks import candidates, constraints, goals, ranking, recipes, search, sentences

    table: Mapping[str, Any] = {
        "recipes": recipes.RECIPES,
        "searches": search.SEARCHES,
        "rankings": ranking.RANKINGS,
        "candidates": candidates.CANDIDATES,
        "rewriters": sentences.REWRITERS,
        "constraints": constraints.CONSTRAINTS,
        "goals": goals.GOALS,
    }[kind]
    rows = _describe(table, table)
    if kind == "recipes":
        rows = [{**row, "access": _access(table[row["name"]])} for row in rows]
    return rows


def _access(recipe: Any) -> str:
    """Return what a recipe needs to see of a model; a dash for a plug-in that cannot be made without settings."""
    given = inspect.signature(recipe).parameters.values()
    bare = all(p.default is not p.empty or p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) for p in given)
    return needed_access(recipe()) if bare else "-"


def needed_access(attack: Any) -> str:
    """Return what an attack needs to see of a model: labels, scores, or its weights."""
    needs = {capability.value for capability in attack.needs}
    inside = sorted(needs - {"labels", "scores", "characters", "padding"})
    if inside or "padding" in needs:
        return f"weights ({', '.join(inside or ['embeddings'])})"
    return "scores" if "scores" in needs else "labels"


def _describe(table: Mapping[str, Any], names: Iterable[str]) -> list[dict[str, Any]]:
    """Return a row for each part: its name, the first line of its docstring, and its settings."""
    return [{"name": name, "what": _first_line(table[name]), "settings": _settings(table[name])} for name in names]


def _first_line(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n")[0]


def _settings(thing: Any) -> str:
    given = inspect.signature(thing).parameters.values()
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in given)


def _print(kind: str, rows: list[dict[str, Any]]) -> None:
    if not rows:
        print(f"no {kind} yet")
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from malaprop.frame.report.tables import keep_words

    console = Console()
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    if console.width < _WIDE:
        columns = [column for column in columns if column not in _SPARED]
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "name" or _is_figure(column, rows))
    cells = [[str(row.get(column, "")) for column in columns] for row in rows]
    for line in cells:
        table.add_row(*map(escape, line))
    keep_words(table, [columns, *cells], console.width)
    console.print(table)


def _is_figure(column: str, rows: list[dict[str, Any]]) -> bool:
    """Whether a column holds numbers, which are hard to read when broken over two lines."""
    return any(isinstance(row.get(column), (int, float)) for row in rows)


def fetch(
    names: Annotated[list[str], typer.Argument(help="Assets, or all. See malaprop list assets.")],
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fetch resources into the cache, or check the cached ones against their hashes.

    Examples:

      malaprop fetch wordnet glove

      malaprop fetch all
    """
    from malaprop.assets import store
    from malaprop.core.catalogue import unknown

    known = store.entries()
    wanted = list(known) if names == ["all"] else names
    for name in wanted:
        if name not in known:
            raise unknown("asset", name, known)
    states = {}
    for name in wanted:
        path = store.fetch(name)
        store.verify(name)
        states[name] = store.state(name)
        if not quiet:
            print(f"{name}: {states[name]} in {path}")
    o.suggest("malaprop list assets shows what is in the cache; malaprop audit --n 50 uses it", quiet, json)
    o.finish({"command": "fetch", "assets": states}, json)
