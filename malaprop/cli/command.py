"""A command made of a settings class: its options, its help, and the study conducted and shown."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, replace
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from malaprop.cli.options import finish, say
from malaprop.core.errors import SettingError
from malaprop.core.settings import split_list
from malaprop.studies.settings import Option, build, core_of, is_table, options
from malaprop.studies.study import Outlined, Study, conduct
from malaprop.studies.table import GROUPS, who_has

_USAGE: type[Exception] = typer.BadParameter.__mro__[1]  # click's UsageError, wherever typer has it from


def command(cls: type, run: Callable[[Any], None]) -> Callable[..., None]:
    """A function that typer can take: the options of the class, and its docstring as help."""

    def call(**given: Any) -> None:
        values = {name: value for name, value in given.items() if value is not None}
        for name in repeated & values.keys():
            values[name] = [part for typed in values[name] for part in split_list(typed)]
        run(build(cls, values))

    repeated = {option.attribute for option in options(cls) if option.repeat and not option.argument}

    call.__signature__ = inspect.Signature([_parameter(option) for option in options(cls)])  # type: ignore[attr-defined]
    call.__doc__, call.__name__ = cls.__doc__, cls.__name__.lower()
    return call


def _parameter(option: Option) -> inspect.Parameter:
    """As typer reads it: words, which the settings read themselves, so that a wrong one is refused in the same line
    wherever it comes from; lists are separated by commas, tables are repeated name=value."""
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
        kind, default = str, default if default is MISSING or default is None else _word(default) or None
    if default is None:
        kind = kind | None
    info = (
        typer.Argument(help=option.help, metavar=option.flag)
        if option.argument
        else typer.Option(_flag(option), help=option.help, metavar=shown)
    )
    return inspect.Parameter(
        option.attribute,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=Annotated[kind, info],
    )


def _word(value: Any) -> str:
    """A default as it would be typed."""
    if isinstance(value, tuple):
        return ",".join(map(_word, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _flag(option: Option) -> str:
    """A switch that is on by default, or neither on nor off, can be turned off."""
    both = core_of(option.kind) is bool and option.default in (True, None)
    return f"{option.flag}/--no-{option.flag[2:]}" if both else option.flag


class SettingsCommand(TyperCommand):
    """Says of an option that another command of its group has which one that is."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except _USAGE as error:
            option = getattr(error, "option_name", None)
            group = ctx.parent.info_name if ctx.parent is not None else ""
            owners = who_has(option, group) if option else []
            if not owners:
                raise
            name = f"{group} {ctx.info_name}" if group in GROUPS else ctx.info_name
            raise SettingError(f"{option} is no option of {name}; it belongs to {' and '.join(owners)}") from None


def perform(study: Study) -> None:
    """Conducts a study as the command line does: progress, the figures, and where they are."""
    from malaprop.cli.github import announce
    from malaprop.cli.watch import watch
    from malaprop.records.codec import encode, finite

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
            say(f"malaprop: {spent.reached} is reached and not all is done; go on with a higher one, {_go_on(study)}")
        costs = {"state": spent.state, "spent": encode(spent)}
    place = {"out": str(result.folder), **({"report": str(report)} if view.report else {})} if view.kept else {}
    said: Mapping[str, Any] = view.summary or {"rows": result.rows}
    finish({"command": study.command.split()[0], **place, **finite(dict(said)), **costs}, saving.json)
    if view.failed:
        say(f"malaprop: {view.failed}")
        raise typer.Exit(1)
    announce(view)
    if view.code:
        raise typer.Exit(view.code)


def _go_on(study: Study) -> str:
    """The options by which the same command goes on."""
    known = {option.name for option in options(type(study))}
    return f"--out {study.saving.out}{' --resume' if 'resume' in known else ''}"


def new_folder(study: Study) -> Path:
    """A folder under runs/ that says what and when."""
    from malaprop.studies.common import slug
    from malaprop.studies.settings import flat

    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    typed = [option.name for option in options(type(study)) if option.argument]
    asked = (_single(flat(study).get(name)) for name in dict.fromkeys([*typed, "recipe", "victim", "data"]))
    path = Path("runs") / "-".join([*study.command.split(), *(slug(name) for name in asked if name), stamp])
    others = (path.with_name(f"{path.name}-{number}") for number in count(2))  # of commands of the same second
    return next(one for one in chain([path], others) if not one.exists())


def _single(value: Any) -> str:
    """A name; of a list of names the only one."""
    if isinstance(value, tuple) and len(value) == 1:
        return _single(value[0])
    return value if isinstance(value, str) else ""
