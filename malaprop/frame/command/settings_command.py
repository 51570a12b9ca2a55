"""Terminal commands from settings classes: their options and help, and a function that runs and shows a study."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from textwrap import indent
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from malaprop.core.errors import SettingError
from malaprop.core.settings import split_list
from malaprop.frame.command.options import finish, say, suggest
from malaprop.frame.study.commands import GROUPS, who_has
from malaprop.frame.study.settings import Option, build, core_of, is_list, is_table, options, word
from malaprop.frame.study.study import Outlined, Result, Study, conduct
from malaprop.frame.study.vocabulary import SECTIONS, look_up

# --- the help: options in titled sections, common ones first; `--help-all` adds the rare ones

ALL = "--help-all"
Row = tuple[str, str]  # the option as it is typed, and what it means
_SENTENCE_END = re.compile(r"(?<=[^.]\.) ")
EXAMPLES = "Examples:"
_SHORT = 40  # characters of the meaning and the default together, so that --help shows both


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
    hint = [(ALL, f"Show {more} more option{'s' if more > 1 else ''}.")] if more else []
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
    """Return an option's row in the help: how it is typed, and what it means.

    `--help` shows the first sentence, and a default if it is short; `--help-all` shows everything.
    """
    names, _ = param.get_help_record(ctx)
    text, default = param.help or "", default_of(command, param)
    if default == "off" and not param.secondary_opts:
        default = ""  # a switch is off unless it is typed
    if not ctx.meta.get(ALL, False):
        text = first_sentence(text)
        default = default if default == "required" or len(text) + len(default) <= _SHORT else ""
    note = default if default == "required" else f"default: {default}" if default else ""
    return names, f"{text}  [{note}]" if note else text


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text."""
    return _SENTENCE_END.split(text, maxsplit=1)[0]


def wrap_example(line: str, width: int) -> str:
    """Return a command over several lines of at most this width, cut before options."""
    kept: list[str] = []
    for part in re.split(r" (?=--)", line):
        if kept and len(kept[-1]) + len(part) < width:
            kept[-1] += f" {part}"
        else:
            kept.append(part)
    return " \\\n  ".join(kept)


def old_names(command: Any) -> Iterator[Row]:
    """Yield a row for each former name of an option, with its present name."""
    for option in settings_of(command).values():
        for name in option.old:
            yield f"--{name.replace('_', '-')}", f"now {option.flag}"


def _name(param: Any) -> str:
    return str(param.opts[0].lstrip("-").replace("-", "_"))


# --- the command

_USAGE: type[Exception] = typer.BadParameter.__mro__[1]  # click's UsageError, from whichever click typer uses


def command(cls: type, run: Callable[[Any], None]) -> Callable[..., None]:
    """Return a function for typer with the options of the settings class, and the class docstring as help."""
    by_name = {name: option for option in options(cls) for name in _names(option)}

    def call(**given: Any) -> None:
        run(build(cls, {name: _join(by_name[name], name, value) for name, value in given.items() if value is not None}))

    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(option, name) for name, option in by_name.items()]
    )
    call.settings = cls  # type: ignore[attr-defined]
    call.__doc__, call.__name__ = cls.__doc__, cls.__name__.lower()
    return call


def _names(option: Option) -> list[str]:
    """Return the names of an option as Python parameters: the positional one first, the old ones last."""
    return [*([option.placed] if option.placed else []), option.key, *option.old]


def _join(option: Option, name: str, value: Any) -> Any:
    """Return the one value of an option that may be typed several times; a list splits each at commas."""
    if not option.repeat or option.whole or option.argument or name == option.placed:
        return value
    if is_list(option.kind):
        return [part for typed in value for part in split_list(typed)]
    if len(value) > 1:
        raise SettingError(f"{option.flag} takes one value here, got {len(value)}: {', '.join(value)[:100]}")
    return value[0]


def _parameter(option: Option, name: str) -> inspect.Parameter:
    """Return the option as typer reads it: as strings, which the settings parse, so that an error reads the same
    wherever the value comes from; lists are separated by commas, tables are repeated name=value."""
    kind, default = core_of(option.kind), option.default
    shown: str | None = "<str>"
    if is_table(option.kind):
        kind, default, shown = list[str], None, "<name=value>"
    elif option.repeat:
        kind, default = list[str], MISSING if default is MISSING else None
    elif kind is bool:
        shown = None
    else:
        shown = {int: "<int>", float: "<float>", Path: "<path>"}.get(kind, "<str>")
        kind, default = str, default if default is MISSING or default is None else word(default) or None
    if name == option.placed:
        kind, default = str, None
    elif option.old or option.placed:
        default = None if default is MISSING else default
    if name in option.old:
        default = None
    if default is None:
        kind = kind | None
    hidden = option.hidden or name in option.old
    info: Any = typer.Option(_flag(option, name), help=option.help, metavar=shown, hidden=hidden)
    if name == option.placed:
        info = typer.Argument(help=f"The same as {option.flag}.", metavar=option.placed)
    elif option.argument:
        info = typer.Argument(help=option.help, metavar=option.flag)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[kind, info],
    )


def _flag(option: Option, name: str) -> str:
    """Return the option's flag; a switch that is on by default, or has no default, gets a --no- form too."""
    flag = f"--{name.replace('_', '-')}" if name in option.old else option.flag
    both = core_of(option.kind) is bool and option.default in (True, None)
    return f"{flag}/--no-{flag[2:]}" if both else flag


class SettingsCommand(TyperCommand):
    """A command with help in sections; for an option of another command, its error names that one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ALL in args:
            print(full(self, ctx))
            raise typer.Exit
        try:
            rest = super().parse_args(ctx, args)
        except _USAGE as error:
            self._redirect(ctx, error)
            raise
        for option in settings_of(self).values():
            if option.default is MISSING and not any(ctx.params.get(name) for name in _names(option)):
                said = f"argument '{option.placed}'" if option.placed else f"option '{option.flag}'"
                raise _USAGE(f"Missing {said}", ctx)
        return rest

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the help text; examples keep their lines, and long ones go on after a backslash."""
        del ctx
        about, mark, shown = inspect.cleandoc(self.help or "").partition(EXAMPLES)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(about.rstrip())
            if mark:
                formatter.write(f"\n  {EXAMPLES}\n")
            for line in filter(None, map(str.strip, shown.splitlines())):
                formatter.write(indent(wrap_example(line, formatter.width - 6), "    ") + "\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for title, rows in sections(self, ctx):
            with formatter.section(title):
                formatter.write_dl(rows)

    def _redirect(self, ctx: Any, error: Any) -> None:
        """Raise naming the commands that have the option, and drop old names from suggestions."""
        old = {flag for param in self.params if getattr(param, "hidden", False) for flag in param.opts}
        if getattr(error, "possibilities", None):
            error.possibilities = [flag for flag in error.possibilities if flag not in old]
        option = getattr(error, "option_name", None)
        group = ctx.parent.info_name if ctx.parent is not None else ""
        if option and (owners := who_has(option, group)):
            name = f"{group} {ctx.info_name}" if group in GROUPS else ctx.info_name
            raise SettingError(f"{option} is not an option of {name}; it belongs to {' and '.join(owners)}") from None


def perform(study: Study) -> None:
    """Run a study for the command line: show its progress and figures, and say where they were written."""
    from malaprop.core.codec import encode, finite
    from malaprop.frame.command.options import announce
    from malaprop.frame.command.watch import watch

    saving = study.saving
    if isinstance(study, Outlined) and (shown := study.outline()) is not None:
        if shown.text is not None:
            print(shown.text())
        finish({"command": study.command, **dict(shown.summary)}, saving.json)
        return
    if saving.out is None:
        study = replace(study, saving=replace(saving, out=new_folder(study)))  # type: ignore[type-var]
    with watch(saving.quiet) as listen:
        result = conduct(study, listen=[listen])
    view, report = result.view, result.folder / "report.html"
    if result.finished:
        where = f"report: {report}" if report.is_file() else f"see it with: malaprop report {result.folder}"
        say(f"{study.command} in {result.folder} is finished; nothing is run again; {where}")
    for line in view.notes:
        say(line, saving.quiet)
    for line in view.troubles:
        say(f"malaprop: {line}")
    if not saving.quiet:
        result.show()
    say(view.last or f"figures in {result.folder}; report: {report}", saving.quiet)
    costs = {}
    if (spent := result.spent) is not None:
        say(f"spent: {spent.describe()}", saving.quiet)
        if spent.state == "budget":
            higher = f"go on with a higher one, --out {study.saving.out}"
            say(f"malaprop: {spent.reached} is reached and not all is done; {higher}")
        costs = {"state": spent.state, "spent": encode(spent)}
    place = {"out": str(result.folder), **({"report": str(report)} if view.report else {})} if view.kept else {}
    suggest(_next(result), saving.quiet, saving.json)
    said: Mapping[str, Any] = view.summary or {"rows": result.rows}
    finish({"command": study.command.split()[0], **place, **finite(dict(said)), **costs}, saving.json)
    if view.failed:
        say(f"malaprop: {view.failed}")
        raise typer.Exit(1)
    announce(view)
    if view.code:
        raise typer.Exit(view.code)


def _next(result: Result) -> str:
    """Return what to do after a study: what it suggests, or how to see its results; empty if it is not all done."""
    if result.view.failed or not result.view.kept or result.state == "budget":
        return ""
    report = result.folder / "report.html"
    seen = f"open {report} in a browser" if report.is_file() else f"malaprop report {result.folder}"
    return result.view.next or seen


def new_folder(study: Study) -> Path:
    """Return an unused path under runs/, named after the command, its main settings and the time."""
    from malaprop.frame.study.settings import flat
    from malaprop.frame.study.shared_tasks import slug

    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    typed = [option.name for option in options(type(study)) if option.argument]
    parts = (_single(flat(study).get(name)) for name in dict.fromkeys([*typed, "attack", "victim", "data"]))
    path = Path("runs") / "-".join([*study.command.split(), *(slug(name) for name in parts if name), stamp])
    others = (path.with_name(f"{path.name}-{number}") for number in count(2))  # for commands of the same second
    return next(one for one in chain([path], others) if not one.exists())


def _single(value: Any) -> str:
    """Return a name, or the only name of a list; an empty string otherwise."""
    if isinstance(value, tuple) and len(value) == 1:
        return _single(value[0])
    return value if isinstance(value, str) else ""
