"""Models by the names of defences: the victim, its twin, and hardened ones, given or trained when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.core.victim import Victim
from malaprop.data.base import load as read
from malaprop.defences import DEFENCES
from malaprop.defences.harden import Defence, parse_defence
from malaprop.defences.wrap import DefenceLayer, defend, parse, read_layer
from malaprop.runs.victims import WRAPPERS

if TYPE_CHECKING:
    from malaprop.models.splits import Splits
    from malaprop.models.zoo.zoo import ZooSpec

NONE, TWIN = "none", "twin"
NOISY = ("safer", "ranmask")  # wrap a model that was trained with their own noise, unless another is named


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stock:
    """`given` names folders of models that are there already, by defence; what is missing is trained to the cache."""

    victim: str
    data: str
    given: Mapping[str, Path] = field(default_factory=dict)
    columns: Mapping[str, str | None] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # of training, as --set has them
    open: Callable[[str], Victim]  # a victim by what a user types
    device: str = "cpu"
    say: Callable[[str], None] = print
    _held: dict[str, Victim] = field(default_factory=dict, init=False)

    def check(self, specs: tuple[str, ...]) -> None:
        """Refuses what no defence is called, before any model is loaded or trained."""
        for spec in specs:
            layers, inner = parse(spec)
            for layer in layers:
                read_layer(layer.name, layer.settings)
            name = inner.partition(":")[0]
            if name in ("", NONE, TWIN, *self.given):
                continue
            if name not in DEFENCES:
                raise unknown("defence", name, [*WRAPPERS, *DEFENCES, NONE, TWIN])
            parse_defence(inner)

    def defend(self, spec: str) -> Victim:
        """The victim behind a defence, as five:noise=2, fact or five(fact)."""
        layers, inner = parse(spec)
        if not layers:
            return self.model(inner or NONE)
        if inner:
            return defend(spec, find=self.model)
        last = layers[-1]
        inside = self.model(_name_trained(last)) if last.name in NOISY else self.model(NONE)
        return defend(spec, inside)

    def model(self, name: str) -> Victim:
        """A model as it is, loaded once."""
        if name not in self._held:
            self._held[name] = self.open(self.victim if name == NONE else str(self.folder(name)))
        return self._held[name]

    def folder(self, name: str) -> Path:
        """Where a hardened model lies, or the twin: the same model trained from another seed."""
        plain_name = name.partition(":")[0]
        if (found := self.given.get(name) or self.given.get(plain_name)) is not None:
            return found
        spec, seed, parts = self._origin(name)
        from malaprop.assets.folders import locked
        from malaprop.models.zoo import checkpoint, zoo
        from malaprop.models.zoo.trained import home

        if plain_name == TWIN:
            defence, seed, said = None, seed + 1, dict(self.settings)
        else:
            defence = parse_defence(name)
            said = {"hardened": f"{plain_name}: {defence}", **self.settings}
        target = home(spec, parts, seed, said or None)
        with locked(target.name):
            if not checkpoint.is_checkpoint(target):
                what = f"{zoo.called(spec, seed)} {'again' if defence is None else f'with {name}'}"
                self.say(f"training {what} on {parts.name} ({len(parts.train):,} texts, once; kept in the cache)")
                self._train(defence, plain_name, spec, seed, parts, target)
        return target

    def _train(
        self, defence: Defence | None, called: str, spec: ZooSpec, seed: int, parts: Splits, folder: Path
    ) -> None:
        from malaprop.models.zoo.train import Given, train
        from malaprop.models.zoo.training import Hooks

        card = train(
            spec,
            parts,
            folder,
            seed=seed,
            device=self.device,
            given=Given(settings=dict(self.settings)),
            hooks=lambda job: defence.hooks(job, parts) if defence else Hooks(),
            hardened=called if defence else "",
            about=f"Hardened: {defence}." if defence else "",
            quiet=True,
        )
        self.say(f"{card.name} is right on {card.figures['test_accuracy']:.1%} of {len(parts.test)} test texts")

    def _origin(self, name: str) -> tuple[ZooSpec, int, Splits]:
        """What the victim is in the zoo, and the data it was trained on."""
        from malaprop.models.fitting.card import read_card
        from malaprop.models.splits import splits
        from malaprop.models.zoo import checkpoint, zoo

        path = Path(self.victim).expanduser()
        if checkpoint.is_checkpoint(path):
            card = read_card(path)
            text, label = self.columns.get("text"), self.columns.get("label")
            parts = splits(partial(read, text=text, label=label), self.data)
            if parts.fingerprint != card.data_fingerprint and name != NONE:
                self.say(f"{card.name} was trained on {card.data}; {name} is trained on {self.data}")
            return card.zoo, card.seed, parts
        if zoo.is_name(self.victim):
            spec, seed = zoo.parse(self.victim)
            return spec, seed, splits(read, "mr")  # what a victim by name is trained on
        raise SettingError(
            f"{name} is a model of its own, and {self.victim} is none that can be trained here; give a folder: "
            f"--hardened {name.partition(':')[0]}=FOLDER"
        )


def _name_trained(layer: DefenceLayer) -> str:
    """The name of the model inside a noisy defence: trained with the same noise."""
    import inspect

    takes = set(inspect.signature(DEFENCES[layer.name]).parameters)
    return ":".join([layer.name, *(part for part in layer.settings if part.partition("=")[0] in takes)])


def split_folders(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Defences as they are listed: `fact=FOLDER` is the defence fact, and says where its model is."""
    listed = list(names)
    inline = tuple(name for name in listed if "=" in name.partition(":")[0].partition("(")[0])
    return tuple(name.partition("=")[0].strip() if name in inline else name for name in listed), inline


def folders(pairs: tuple[str, ...]) -> dict[str, Path]:
    """`name=FOLDER` pairs of --hardened."""
    from malaprop.models.zoo import checkpoint

    out = {}
    for pair in pairs:
        name, equals, folder = pair.partition("=")
        path = Path(folder).expanduser()
        if not equals or not name.strip():
            raise SettingError(f"--hardened is written name=FOLDER, as fact=models/fact, got {pair!r}")
        if not checkpoint.is_checkpoint(path) and not (path / "config.json").is_file():
            raise SettingError(f"--hardened {name}={folder}: no model in that folder; write one with malaprop harden")
        out[name.strip()] = path
    return out
