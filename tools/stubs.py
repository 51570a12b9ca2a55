"""Writes malaprop/__init__.pyi: what editors and type checkers know of `import malaprop as mp`.

    python tools/stubs.py            writes the file; run it when a study or one of its settings changes
    python tools/stubs.py --check    exit 1 where the file is not up to date

`mp.study` is written out for each study with its settings, types, defaults and help, from the settings classes; what
all studies take is written once.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from dataclasses import MISSING, is_dataclass
from pathlib import Path
from typing import Any, get_args

import malaprop
from malaprop.frame.study.commands import COMMANDS
from malaprop.frame.study.python_api import describe, parameters
from malaprop.frame.study.settings import Option, core_of, is_list, is_table

FILE = Path(malaprop.__file__).with_suffix(".pyi")
_HEAD = '''"""{doc}
"""

# Written by tools/stubs.py from the settings of the studies.

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, Unpack, overload

'''


def stub() -> str:
    """Return the text of the stub file."""
    lines = [_HEAD.format(doc=(malaprop.__doc__ or "").strip("\n"))]
    for name, place in sorted(malaprop._places().items(), key=lambda pair: (pair[1], pair[0])):
        module, _, attribute = place.partition(":")
        if name != "study":
            lines.append(f"from {module} import {attribute} as {name}\n")
    lines.append("\n__version__: str\n__all__: list[str]\n")
    names = [name for name, command in COMMANDS.items() if name.startswith("study ") and is_dataclass(command.load())]
    classes: dict[str, type] = {name.removeprefix("study "): COMMANDS[name].load() for name in names}
    if not classes:
        return "".join([*lines, "\ndef study(name: str, /, **settings: Any) -> Result: ...\n"])
    settings = [{_setting(option) for option in parameters(cls)} for cls in classes.values()]
    common = set.intersection(*settings)
    first = parameters(next(iter(classes.values())))
    lines.append("\nclass _Settings(TypedDict, total=False):\n")
    lines += [f"    {_setting(option).removesuffix(' = ...')}\n" for option in first if _setting(option) in common]
    for name, cls in classes.items():
        lines += _overload(name, cls, common)
    lines.append("\n@overload\ndef study(name: str, /, **settings: Any) -> Result: ...\n")
    return "".join(lines)


def _overload(name: str, cls: type, common: Collection[str]) -> Iterator[str]:
    yield f'\n@overload\ndef study(\n    name: Literal["{name}"],\n    /,\n    *,\n'
    yield from (f"    {text},\n" for option in parameters(cls) if (text := _setting(option)) not in common)
    doc = "\n".join(f"    {line}".rstrip() for line in describe(cls).splitlines())
    yield f'    **settings: Unpack[_Settings],\n) -> Result:\n    """{doc.strip()}\n    """\n'


def _setting(option: Option) -> str:
    return f"{option.name}: {_type(option)}{'' if option.default is MISSING else ' = ...'}"


def _type(option: Option) -> str:
    """Return the annotation of an option: a sequence for several values, a string or path for a path."""
    kind = core_of(option.kind)
    empty = " | None" if kind is not option.kind else ""
    if is_list(option.kind):
        return f"Sequence[{_plain(get_args(kind)[0])}] | str{empty}"
    if is_table(option.kind):
        return f"Mapping[str, Any]{empty}"
    words = "".join(f' | Literal["{word}"]' for word in option.words)
    return f"{_plain(kind)}{words}{empty}"


def _plain(kind: Any) -> str:
    if kind is Path:
        return "str | PathLike[str]"
    return "Any" if kind is Any else str(kind.__name__)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(FILE.read_text(encoding="utf-8") != stub())
    FILE.write_text(stub(), encoding="utf-8")
