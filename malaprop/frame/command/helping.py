"""The help of a command: its options in titled sections, common ones first; `--help-all` shows rare ones, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any

from malaprop.frame.study.settings import Option, is_table, options, word
from malaprop.frame.study.vocabulary import SECTIONS, look_up

ALL = "--help-all"
Row = tuple[str, str]  # the option as it is typed, and what it means


def settings_of(command: Any) -> dict[str, Option]:
    """The settings of a command by their names; none where a plain function stands behind it."""
    cls = getattr(command.callback, "settings", None)
    return {} if cls is None else {option.key: option for option in options(cls)}


def full(command: Any, ctx: Any) -> str:
    """The whole help: rare options and old names, too."""
    ctx.meta[ALL] = True
    text: str = command.get_help(ctx)
    return text


def sections(command: Any, ctx: Any) -> Iterator[tuple[str, list[Row]]]:
    """The titled sections of the help, those of old names last where everything is shown."""
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
    """The options of a command, without old names."""
    return [one for one in command.params if one.param_type_name == "option" and not one.hidden]


def section_of(command: Any, param: Any) -> str:
    """The title under which an option stands."""
    option = settings_of(command).get(param.name)
    return look_up(_name(param)).section if option is None else option.section


def is_rare(command: Any, param: Any) -> bool:
    """Whether only --help-all shows an option; one that has to be given is always shown."""
    option = settings_of(command).get(param.name)
    if option is None:
        return look_up(_name(param)).rare and not param.required
    return option.rare and option.default is not MISSING


def default_of(command: Any, param: Any) -> str:
    """The default of an option as it would be typed, `required`, or nothing."""
    option = settings_of(command).get(param.name)
    value = param.default if option is None else option.default
    if param.required or value is MISSING:
        return "required"
    if isinstance(value, bool):
        return "on" if value else "off"
    empty = value is None or callable(value) or (option is not None and is_table(option.kind))
    return "" if empty else word(value)


def describe(command: Any, param: Any, ctx: Any) -> Row:
    """A line of the help."""
    names, _ = param.get_help_record(ctx)
    text, default = param.help or "", default_of(command, param)
    if default == "off" and not param.secondary_opts:
        default = ""  # a switch is off unless it is typed
    note = default if default == "required" else f"default: {default}" if default else ""
    return names, f"{text}  [{note}]" if note else text


def old_names(command: Any) -> Iterator[Row]:
    """The names that options had."""
    for option in settings_of(command).values():
        for name in option.old:
            yield f"--{name.replace('_', '-')}", f"now {option.flag}"


def _name(param: Any) -> str:
    return str(param.opts[0].lstrip("-").replace("-", "_"))
