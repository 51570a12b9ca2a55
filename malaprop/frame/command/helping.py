"""The help of a command: its options in titled sections, common ones first; `--help-all` adds the rare ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any

from malaprop.frame.study.settings import Option, is_table, options, word
from malaprop.frame.study.vocabulary import SECTIONS, look_up

ALL = "--help-all"
Row = tuple[str, str]  # the option as it is typed, and what it means


def settings_of(command: Any) -> dict[str, Option]:
    """Return the settings of a command by name; empty if the command is a plain function."""
    cls = getattr(command.callback, "settings", None)
    return {} if cls is None else {option.key: option for option in options(cls)}


def full(command: Any, ctx: Any) -> str:
    """Return the whole help, with rare options and old names."""
    ctx.meta[ALL] = True
    text: str = command.get_help(ctx)
    return text


def sections(command: Any, ctx: Any) -> Iterator[tuple[str, list[Row]]]:
    """Yield the titled sections of the help and their rows; old names come last, in the whole help alone."""
    whole = ctx.meta.get(ALL, False)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    if arguments:
        yield "Arguments", [describe(command, one, ctx) for one in arguments]
    shown = [one for one in visible(command) if whole or not is_rare(command, one)]
    for title in SECTIONS:
        inside = [one for one in shown if section_of(command, one) == title]
        if inside:
            inside.sort(key=lambda one: is_rare(command, one))
            yield title, [describe(command, one, ctx) for one in inside]
    if whole and (old := list(old_names(command))):
        yield "Old names, which go on working", old
    more = len(visible(command)) - len(shown)
    hint = [(ALL, f"Show {more} more options.")] if more else []
    yield "Help", [("--help", "Show the common options and end." if more else "Show the options and end."), *hint]


def visible(command: Any) -> list[Any]:
    """Return the options of a command, without old names."""
    return [one for one in command.params if one.param_type_name == "option" and not one.hidden]


def section_of(command: Any, param: Any) -> str:
    """Return the title of the section that an option belongs to."""
    option = settings_of(command).get(param.name)
    return look_up(_name(param)).section if option is None else option.section


def is_rare(command: Any, param: Any) -> bool:
    """Whether only --help-all shows an option; a required option is always shown."""
    option = settings_of(command).get(param.name)
    if option is None:
        return look_up(_name(param)).rare and not param.required
    return option.rare and option.default is not MISSING


def default_of(command: Any, param: Any) -> str:
    """Return the default of an option as a user would type it, "required", or an empty string."""
    option = settings_of(command).get(param.name)
    value = param.default if option is None else option.default
    if param.required or value is MISSING:
        return "required"
    if isinstance(value, bool):
        return "on" if value else "off"
    empty = value is None or callable(value) or (option is not None and is_table(option.kind))
    return "" if empty else word(value)


def describe(command: Any, param: Any, ctx: Any) -> Row:
    """Return an option's row in the help: how it is typed, and what it means."""
    names, _ = param.get_help_record(ctx)
    text, default = param.help or "", default_of(command, param)
    if default == "off" and not param.secondary_opts:
        default = ""  # a switch is off unless it is typed
    note = default if default == "required" else f"default: {default}" if default else ""
    return names, f"{text}  [{note}]" if note else text


def old_names(command: Any) -> Iterator[Row]:
    """Yield a row for each former name of an option, with its present name."""
    for option in settings_of(command).values():
        for name in option.old:
            yield f"--{name.replace('_', '-')}", f"now {option.flag}"


def _name(param: Any) -> str:
    return str(param.opts[0].lstrip("-").replace("-", "_"))
