"""The command reference: one page of all commands with their options, from the same place as `--help` has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from malaprop.frame.study.vocabulary import SECTIONS

PLACE = "reference/commands.md"


def commands() -> dict[str, Any]:
    """Return every command as a click object, by its name: `attack`, `natural`, `natural compare` ..."""
    import typer

    from malaprop.cli.main import Commands, Table, app

    found: dict[str, Any] = {}
    for name, whole in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(whole, "commands", None)
        if inner is None:
            found[name] = whole
            inner = Table(f"{name} ")
        elif not isinstance(whole, Commands):
            inner = dict(inner)
        found |= {f"{name} {one}": inner[one] for one in inner}
    return found


def command_pages() -> dict[str, str]:
    """Return the Markdown of the page by its path; commands of one group stand below one heading."""
    groups: dict[str, dict[str, Any]] = {}
    for name, command in commands().items():
        groups.setdefault(name.split()[0], {})[name] = command
    lines = ["# Commands and options", "", *_contents(groups)]
    for group, members in groups.items():
        lines += _group(group, members)
    return {PLACE: "\n".join(lines)}


def _contents(groups: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the page's summary, and a link to every command."""
    yield "**In short:** All options of all commands. [Command line](../command-line.md) has examples."
    yield ""
    for group, members in groups.items():
        inner = [f"[{name.partition(' ')[2]}](#{_anchor(name)})" for name in members if name != group]
        yield f"- [`malaprop {group}`](#{group})" + (f": {', '.join(inner)}" if inner else "")
    yield ""


def _group(group: str, members: Mapping[str, Any]) -> Iterator[str]:
    from malaprop.cli.main import Table

    yield f"## malaprop {group} {{ #{group} }}"
    yield ""
    if group not in members:
        yield from (Table().help(group), "")
    for name, command in members.items():
        if name != group:
            yield from (f"### malaprop {name} {{ #{_anchor(name)} }}", "")
        yield from _describe(name, command)


def _describe(name: str, command: Any) -> Iterator[str]:
    """Yield the lines on a command: its purpose, its usage, its examples, and its options."""
    from malaprop.frame.command.settings_command import EXAMPLES, wrap_example

    about, _, rest = (command.help or "").partition(EXAMPLES)
    yield from (_escape(" ".join(about.split())), "", "```sh")
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    yield " ".join(["malaprop", name, *(_argument(one) for one in arguments), "[OPTIONS]"])
    yield from (wrap_example(line.strip(), 84) for line in rest.splitlines() if line.strip().startswith("malaprop "))
    yield from ("```", "")
    if arguments:
        yield from ("| argument | meaning |", "| --- | --- |")
        yield from (f"| `{_argument(one)}` | {_escape(one.help or '')} |" for one in arguments)
        yield ""
    from malaprop.frame.command import settings_command

    for title in SECTIONS:
        rows = [
            _row(command, one)
            for one in settings_command.visible(command)
            if settings_command.section_of(command, one) == title
        ]
        if rows:
            yield from (f"{title}:", "", "| option | default | meaning |", "| --- | --- | --- |", *rows, "")
    yield from ("Help:", "", "| option | default | meaning |", "| --- | --- | --- |")
    yield "| `--help` | | Show the common options and end. |"
    yield "| `--help-all` | | Show all options and end. |"
    yield ""


def _row(command: Any, option: Any) -> str:
    from malaprop.frame.command.settings_command import default_of

    default = default_of(command, option)
    default = default if default in ("", "on", "off", "required") else f"`{default}`"
    flags = ", ".join(f"`{flag}`" for flag in (*option.opts, *option.secondary_opts))
    kind = f" `{option.metavar}`" if option.metavar else ""
    return f"| {flags}{kind} | {default} | {_escape(option.help or '')} |"


def _argument(one: Any) -> str:
    return str(one.metavar or one.name.upper())


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _escape(text: str) -> str:
    """Return help as Markdown, with marks and bars escaped."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text).replace("\n", " ")
