"""Trouble: an error on its way from a worker to the driver, in words, as exceptions do not always survive that."""

from __future__ import annotations

from dataclasses import dataclass

from malaprop.core import errors
from malaprop.core.errors import MalapropError, VictimError, plain, short_of_memory


@dataclass(frozen=True, slots=True)
class RemoteError:
    """The kind of an error by its name, and its words; `node` is the machine, where it is another one."""

    kind: str
    words: str
    node: str = ""

    @classmethod
    def of(cls, error: BaseException, what: str, node: str = "") -> RemoteError:
        """An error in words that can travel."""
        if short_of_memory(error):
            words = f"{what}: no memory for it ({plain(error)[:200]}); use fewer workers a machine, or larger machines"
            return cls("NoMemoryError", words, node)
        if isinstance(error, MalapropError):
            return cls(type(error).__name__, plain(error), node)
        return cls("VictimError", f"{what}: {plain(error)[:300]}", node)

    def error(self) -> MalapropError:
        kind: type[MalapropError] = getattr(errors, self.kind, VictimError)
        return kind(f"{self.words} (on {self.node})" if self.node else self.words)
