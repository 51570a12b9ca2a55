"""The command line: `malaprop COMMAND`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from malaprop import __version__
from malaprop.cli import (
    attack,
    audit,
    augment,
    bench,
    certify,
    ensemble,
    explain,
    fetch,
    harden,
    humans,
    list_,
    natural,
    pretrain,
    report,
    reproduce,
    rules,
    serve,
    study,
    train,
    transfer,
    translate,
    tune,
)
from malaprop.core.errors import MalapropError, plain

app = typer.Typer(
    name="malaprop",
    help="Finds out how a text model breaks when words and characters change.",
    epilog="Start with: malaprop audit --n 50      Your own: malaprop audit --victim my_model:predict --data my.csv",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "audit": audit.audit,
    "attack": attack.attack,
    "explain": explain.explain,
    "train": train.train,
    "augment": augment.augment,
    "harden": harden.harden,
    "tune": tune.tune,
    "certify": certify.certify,
    "study": study.study,
    "transfer": transfer.transfer,
    "ensemble": ensemble.ensemble,
    "pretrain": pretrain.pretrain,
    "report": report.report,
    "reproduce": reproduce.reproduce,
    "serve": serve.serve,
    "list": list_.list_,
    "fetch": fetch.fetch,
    "bench": bench.bench,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
app.add_typer(humans.app, name="humans")
app.add_typer(rules.app, name="rules")
app.add_typer(translate.app, name="translate")
app.add_typer(natural.app, name="natural")


_STOPPED = "stopped; what was finished is kept, and --resume with the same --out goes on from there"


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
    """Runs a command: exit 0 done, 1 the run failed, 2 the input was wrong."""
    try:
        app()
    except MalapropError as error:
        _end(plain(error), 2)
    except KeyboardInterrupt:
        _end(_STOPPED, 130)
    except SystemExit as end:  # typer makes one of Ctrl-C, without a word
        _end(_STOPPED, 130) if end.code == 130 else sys.exit(end.code)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:
        if os.environ.get("MALAPROP_TRACE"):
            raise
        _end(f"the run failed: {plain(error)} (set MALAPROP_TRACE=1 to see where)", 1)


def _end(line: str, code: int) -> None:
    print(f"malaprop: {line}", file=sys.stderr)
    sys.exit(code)
