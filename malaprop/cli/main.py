"""The command line `malaprop COMMAND`: it finds commands in one table and loads each when it is called."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator, MutableMapping
from dataclasses import is_dataclass
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from malaprop import __version__
from malaprop.core.catalogue import unknown
from malaprop.core.errors import LimitReached, MalapropError, SettingError, extra_of, plain
from malaprop.frame.rooms import Command, sections
from malaprop.frame.study.commands import COMMANDS, ELSEWHERE, GROUPS, plugins

_USAGE: type[Exception] = typer.BadParameter.__mro__[1]  # click's UsageError, from whichever click typer uses
_PLAIN: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}


class Table(MutableMapping[str, Any]):
    """The commands whose names begin with `words`, keyed by the next word, and loaded on first access."""

    def __init__(self, words: str = "") -> None:
        self.words, self._loaded = words, dict[str, Any]()

    def known(self) -> dict[str, Command]:
        everything = {**COMMANDS, **plugins()}
        return {name.removeprefix(self.words): one for name, one in everything.items() if name.startswith(self.words)}

    def help(self, name: str) -> str:
        known = self.known()
        return known[name].help if name in known else GROUPS.get(name, "")

    def is_group(self, name: str) -> bool:
        """Whether the name has subcommands; it may be a command too, as in `natural` and `natural compare`."""
        return any(one.startswith(f"{name} ") for one in self.known())

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name.split()[0] for name in self.known()))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in {*self}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            found = COMMANDS.get(f"{self.words}{name}") or self.known().get(name)
            if found is None and name not in self:
                raise KeyError(name)
            self._loaded[name] = _group(name) if found is None else _load(found, name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]


class Commands(TyperGroup):
    """A command group that takes its commands from a `Table`."""

    def __init__(self, *, words: str = "", **more: Any) -> None:
        super().__init__(**more)
        self.commands: Table = Table(words)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name; raise with the nearest names if it is unknown."""
        if not args[0].startswith("-") and args[0] not in self.commands:
            if f"{self.commands.words}{args[0]}" in ELSEWHERE:
                raise SettingError(f"malaprop {args[0]} is not installed; it comes with {ELSEWHERE[args[0]]}")
            raise unknown(self.commands.words.strip() or "command", args[0], self.commands)
        if args[1:] and not args[1].startswith("-") and self.commands.is_group(args[0]):
            return args[0], _group(args[0]), args[1:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each command's line of help from the table, without loading the command."""
        del ctx
        for title, names in self._sections().items():
            with formatter.section(title):
                formatter.write_dl([(name, self.commands.help(name)) for name in names])

    def _sections(self) -> dict[str, list[str]]:
        """Return the commands by section of the help; subcommands stand together."""
        if self.commands.words:
            return {"Commands": [*self.commands]}
        found = {title: [name for name in names if name in self.commands] for title, names in sections().items()}
        listed = {name for names in found.values() for name in names}
        found[[*found][-1]] += [name for name in self.commands if name not in listed]
        return {title: names for title, names in found.items() if names}


def _load(found: Command, name: str) -> Any:
    """Import the command and convert it to a click command."""
    from malaprop.frame.command.settings_command import SettingsCommand, command, perform

    target = found.load()
    if isinstance(target, typer.Typer):
        group = typer.main.get_command(target)
        group.name = name
        return group
    single = typer.Typer(**_PLAIN)
    if is_dataclass(target):
        more = [f"malaprop {one}: {each.help}" for one, each in COMMANDS.items() if one.startswith(f"{name} ")]
        also = "\n\n".join(["More commands:", *more]) if more else None
        single.command(name, cls=SettingsCommand, epilog=also)(command(target, perform))  # type: ignore[arg-type]
    else:
        single.command(name, cls=SettingsCommand)(target)
    return typer.main.get_command(single)


def _group(name: str) -> Commands:
    return Commands(name=name, words=f"{name} ", help=GROUPS.get(name), no_args_is_help=True, rich_markup_mode=None)


app = typer.Typer(
    name="malaprop",
    cls=Commands,
    help="""Finds out how a text model breaks when words and characters change.

    \b
    Start with:  malaprop audit --n 50
    Your own:    malaprop audit --victim my_model:predict --data my.csv
    """,
    no_args_is_help=True,
    **_PLAIN,
)
_INTERRUPTED = 130  # the exit code that typer gives for Ctrl-C
_FULL = "no room left on the disk{where}; what is finished is kept: make room and give the same command again"
_STOPPED = "stopped; what was finished is kept, and the same command with the same --out goes on from there"


def _version(value: bool) -> None:
    if value:
        print(f"malaprop {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None: ...


def main() -> None:
    """Run the command line and exit: 0 done, 1 the run failed, 2 the input was wrong."""
    try:
        code = app(standalone_mode=False)
    except LimitReached as reached:
        _end(plain(reached), 1)
    except MalapropError as error:
        _end(plain(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        _end(_STOPPED, _INTERRUPTED)
    except _USAGE as error:
        _refuse(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("MALAPROP_TRACE"):
            raise
        if extra_of(error):
            _end(plain(error), 2)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            _end(_FULL.format(where=f" for {error.filename}" if error.filename else ""), 2)
        _end(f"the run failed: {plain(error)} (set MALAPROP_TRACE=1 to see where)", 1)
    else:
        if code == _INTERRUPTED:
            _end(_STOPPED, code)
        sys.exit(code if isinstance(code, int) else 0)


def _refuse(error: Any) -> None:
    """Print one line on what was typed wrongly and exit with 2; a group without a command prints its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        sys.exit(2)
    where = "malaprop" if error.ctx is None else error.ctx.command_path
    words = " ".join(error.format_message().split()).rstrip(".")
    about = getattr(getattr(error, "param", None), "help", None)
    if words.startswith("Missing") and about:
        from malaprop.frame.command.settings_command import first_sentence

        words += f" ({first_sentence(about).rstrip('.')})"
    _end(f"{words}; see {where} --help", 2)


def _end(line: str, code: int) -> None:
    print(f"malaprop: {line}", file=sys.stderr)
    sys.exit(code)
