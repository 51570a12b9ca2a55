"""Lazy tables from name to "module:attribute": a part is imported when it is first looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from malaprop.core.errors import SettingError

_MOST = 25  # names that an error lists


_LISTED = ("recipe", "suite", "model", "defence", "dataset", "asset")


def unknown(kind: str, name: str, known: Iterable[str]) -> SettingError:
    """Return the error for an unknown name, with the nearest known names, or with all where none is near."""
    names = sorted(known)
    near = get_close_matches(name.lower(), [n.lower() for n in names], n=3, cutoff=0.5)
    meant = sorted((n for n in names if n.lower() in near), key=lambda n: near.index(n.lower()))
    rest = f", ... ({len(names)} in all)" * (len(names) > _MOST)
    hint = f"did you mean {' or '.join(meant)}?" if meant else f"known: {', '.join(names[:_MOST])}{rest}"
    see = f"{'' if meant else ';'} malaprop list {kind}s shows all" if kind in _LISTED else ""
    return SettingError(f"no {kind} is called {name!r}; {hint}{see}")


class Catalogue(Mapping[str, Any]):
    """The parts of one kind by name. Other packages add parts with entry points in the group `malaprop.KIND`."""

    def __init__(self, kind: str, table: Mapping[str, str]) -> None:
        self.kind, self._table = kind, dict(table)
        self._outside: dict[str, str] | None = None

    def _plugins(self) -> dict[str, str]:
        if self._outside is None:
            self._outside = {p.name: p.value for p in entry_points(group=f"malaprop.{self.kind}")}
        return self._outside

    def __getitem__(self, name: str) -> Any:
        target = self._table.get(name) or self._plugins().get(name)
        if target is None:
            raise unknown(self.kind, name, self)
        module, _, attribute = target.partition(":")
        return getattr(import_module(module), attribute)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the part of that name, or the default."""
        if name not in self:
            return default
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._table or name in self._plugins()

    def __iter__(self) -> Iterator[str]:
        yield from self._table
        yield from (name for name in self._plugins() if name not in self._table)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def offer(package: str, places: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any]]:
    """Return the `__all__` and `__getattr__` of a package that imports its public names from its modules on first use.

    `places` maps each module to its names, separated by spaces. An `__init__.pyi` in the package is for type checkers.
    """
    found = {name: module for module, names in places.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{found[name]}"), name)

    return sorted(found), get
