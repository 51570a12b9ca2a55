"""The Python reference: what `import malaprop as mp` gives, and the parts of attacks, from their docstrings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

PLACE = "reference/python.md"
SHORT = (
    "**In short:** What `import malaprop as mp` gives, and the parts of attacks, with signatures. "
    "[Attack parts](../attacks.md) explains the parts."
)


def python_pages() -> dict[str, str]:
    """Return the Markdown of the page by its path; mkdocstrings fills in signatures and docstrings."""
    import malaprop
    from malaprop.attacks import candidates, constraints, goals, ranking, recipes, search
    from malaprop.frame.runs.victims import WRAPPERS
    from malaprop.frame.study.training_methods import DEFENCES

    tables = (
        ("import malaprop as mp", "What the package gives at its top.", malaprop._places()),
        ("Recipes", "`mp.recipe(NAME, **settings)` gives an attack.", _base(recipes.RECIPES._table)),
        ("Candidates", "What may stand in place of a word or a character.", candidates.CANDIDATES._table),
        ("Constraints", "Which changes are allowed.", constraints.CONSTRAINTS._table),
        ("Goals", "When an attack has reached its end.", goals.GOALS._table),
        ("Rankings", "Which place of a text is tried first.", ranking.RANKINGS._table),
        ("Searches", "How an attack moves from one text to the next.", search.SEARCHES._table),
        ("Defences", "`malaprop harden` and `DEFENCE(VICTIM)`.", {**DEFENCES._table, **WRAPPERS._table}),
    )
    lines = ["# Python", "", SHORT, ""]
    for number, (title, about, names) in enumerate(tables):
        lines += _section(title, about, names, before="" if number else "mp.")
    return {PLACE: "\n".join(lines)}


def _base(table: Mapping[str, str]) -> dict[str, str]:
    """Return the recipes without their presets, which have the same docstring."""
    return {name: place for name, place in table.items() if ":" not in name}


def _section(title: str, about: str, names: Mapping[str, str], before: str) -> Iterator[str]:
    yield from (f"## {title}", "", about, "")
    for name, place in names.items():
        module, _, attribute = place.partition(":")
        yield from (f"### `{before}{name}`", "", f"`{attribute}` of `{module}`", "")
        yield from (f"::: {module}.{attribute}", "    options:", "      heading_level: 4", "")
