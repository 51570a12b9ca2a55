"""Writes malaprop/__init__.pyi: what editors and type checkers know of `import malaprop as mp`.

    python tools/stubs.py            writes the file; run it when a study or one of its settings changes
    python tools/stubs.py --check    exit 1 where the file is not up to date

`mp.study` is written out for each study with its settings, types, defaults and help, from the settings classes; what
several studies take is written once.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, is_dataclass
from pathlib import Path
from textwrap import fill, indent
from typing import Any, get_args

import malaprop
from malaprop.frame.study.commands import COMMANDS
from malaprop.frame.study.run_options import BudgetOptions
from malaprop.frame.study.settings import Option, core_of, is_list, is_table, options

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
    common = set.intersection(*({_setting(option) for option in _parameters(cls)} for cls in classes.values()))
    every = [option for option in _parameters(next(iter(classes.values()))) if _setting(option) in common]
    helped = {option.name: option for cls in classes.values() for option in _parameters(cls)}
    limits = [helped[option.name] for option in _parameters(BudgetOptions) if option.name in helped]
    lines += _shared("_Settings(TypedDict, total=False)", "The settings that every study takes.", every)
    lines += _shared("_Limited(_Settings, total=False)", "The settings of a study whose spending has limits.", limits)
    for name, cls in classes.items():
        lines += _overload(name, cls, every, limits)
    lines.append("\n@overload\ndef study(name: str, /, **settings: Any) -> Result: ...\n")
    return "".join(lines)


def _shared(head: str, about: str, settings: Sequence[Option]) -> Iterator[str]:
    yield f'\nclass {head}:\n    """{about}\n\n    Settings:\n'
    yield from (f"{_help(option)}\n" for option in settings)
    yield '    """\n\n'
    yield from (f"    {_setting(option).removesuffix(' = ...')}\n" for option in settings)


def _overload(name: str, cls: type, every: Sequence[Option], limits: Sequence[Option]) -> Iterator[str]:
    settings = _parameters(cls)
    limited = {option.name for option in limits} <= {option.name for option in settings}
    shared = {option.name for option in (*every, *(limits if limited else ()))}
    own = [option for option in settings if option.name not in shared]
    about = indent(inspect.cleandoc(cls.__doc__ or "").partition("\n\nExamples:")[0], "    ").strip()
    rest = "_Limited" if limited else "_Settings"
    yield f'\n@overload\ndef study(\n    name: Literal["{name}"],\n    /,\n    *,\n'
    yield from (f"    {_setting(option)},\n" for option in own)
    yield f'    **settings: Unpack[{rest}],\n) -> Result:\n    """{about}\n\n    Settings, beside those of `{rest}`:\n'
    yield from (f"{_help(option)}\n" for option in own)
    yield '    """\n'


def _parameters(cls: type) -> list[Option]:
    """Return the settings in the order of parameters: those that are typed without a name come first."""
    return sorted(options(cls), key=lambda option: not (option.argument or option.placed))


def _help(option: Option) -> str:
    text = f"{option.name}: {option.help}"
    return fill(text, 108, initial_indent=" " * 8, subsequent_indent=" " * 12, break_on_hyphens=False)


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
