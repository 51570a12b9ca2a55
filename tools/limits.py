"""The limits of the house, which no formatter knows: `python tools/limits.py` names what passes them; exit 1 then.

Functions have at most 60 lines and 8 parameters, a class has a name of its own, and no function of the upper half is
called by a participle (`told`, `drawn`): functions are verbs. Parameters are not counted where they are settings that
users type: commands, recipes, shapes of networks, and what `import malaprop` gives. What passed a limit when this check
came is listed in tools/limits.toml. The list only shrinks: what no longer needs an entry is named, and its entry should
go.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINES, PARAMETERS = 60, 8
SPOKEN = (  # the folders whose functions are verbs by now
    "cli", "frame/records", "frame/report", "frame/study", "frame/tasks", "features/audit", "features/hardening",
    "features/defending", "features/humans", "papers/claims", "papers/hotflip", "papers/universal",
)  # fmt: skip
SETTINGS = ("attacks/recipes/", "cli/", "zoo/blocks/")  # whose functions' parameters users set by their names
_IRREGULAR = (
    "told", "drawn", "seen", "heard", "said", "kept", "held", "made", "found", "shown", "known", "given", "taken",
    "chosen", "done", "left", "met", "built",
)  # fmt: skip
_VERBS = ("need", "embed", "feed", "speed", "proceed", "seed")  # end as participles do, and are none

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Each module of the package by its path below it."""
    for path in sorted((ROOT / "malaprop").rglob("*.py")):
        yield path.relative_to(ROOT / "malaprop").as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def functions(node: ast.AST, above: str = "", method: bool = False) -> Iterator[tuple[str, Function, bool]]:
    """Functions with the names of what they stand in, and whether they are methods."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield f"{above}{child.name}", child, method
            yield from functions(child, f"{above}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from functions(child, f"{above}{child.name}.", method=True)
        else:
            yield from functions(child, above, method)


def _count_parameters(function: Function) -> int:
    given = function.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return sum(name not in ("self", "cls") for name in names)


def _takes_settings(path: str, node: Function, public: set[str]) -> bool:
    """Whether its parameters are settings of users; keywords, all but the first few."""
    command = path.startswith("cli/") or path.endswith("command.py")
    by_name = len(node.args.kwonlyargs) + PARAMETERS >= _count_parameters(node) or command
    study = path.startswith(("features/", "papers/", "frame/study/"))
    return by_name and (command or path.startswith(SETTINGS) or (study and node.name in public))


def _is_participle(name: str) -> bool:
    last = name.lstrip("_")
    return last in _IRREGULAR or (last.endswith("ed") and "_" not in last and last not in _VERBS)


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(getattr(base, "id", getattr(base, "attr", "")) == "Protocol" for base in node.bases)


def find() -> dict[str, set[str]]:
    """What passes each limit: of functions FILE:NAME, of classes the name."""
    found: dict[str, set[str]] = {"lines": set(), "parameters": set(), "participles": set(), "classes": set()}
    classes: Counter[str] = Counter()
    public = set(re.findall(r'"(\w+)": "malaprop', (ROOT / "malaprop" / "__init__.py").read_text(encoding="utf-8")))
    for path, tree in modules():
        for name, node, method in functions(tree):
            place = f"{Path(path).name}:{name}"  # without folders, as files move
            if (node.end_lineno or 0) - node.lineno + 1 > LINES:
                found["lines"].add(place)
            if _count_parameters(node) > PARAMETERS and not _takes_settings(path, node, public):
                found["parameters"].add(place)
            if not method and path.startswith(SPOKEN) and _is_participle(node.name):
                found["participles"].add(place)
        classes.update(
            node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and not _is_protocol(node)
        )
    found["classes"] = {name for name, many in classes.items() if many > 1}
    return found


def main() -> int:
    listed = tomllib.loads((ROOT / "tools" / "limits.toml").read_text(encoding="utf-8"))
    said = {
        "lines": f"has more than {LINES} lines",
        "parameters": f"has more than {PARAMETERS} parameters",
        "participles": "is called by a participle; functions are verbs",
        "classes": "is the name of several classes",
    }
    faults, spare = list[str](), list[str]()
    for limit, passed in find().items():
        known = set(listed.get(limit, ()))
        faults += [f"{one} {said[limit]}" for one in sorted(passed - known)]
        spare += [f"{one} keeps to the limit now: take it out of {limit}" for one in sorted(known - passed)]
    for line in (*faults, *spare):
        print(line)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
