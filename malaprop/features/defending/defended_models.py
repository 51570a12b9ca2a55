"""Find or describe the model behind each defence: the victim, its twin, or a hardened one, given or to be trained."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError
from malaprop.core.victim import Victim
from malaprop.data.base import load as read
from malaprop.frame.runs.victims import WRAPPERS
from malaprop.frame.runs.wrap import PAPER, DefenceLayer, defend_by_spec, parse, read_layer
from malaprop.frame.study.training_methods import DEFENCES, Hardening, parse_defence

if TYPE_CHECKING:
    from malaprop.training.splits import Splits
    from malaprop.zoo.names import ZooSpec

NONE, TWIN = "none", "twin"
NOISY = ("safer", "ranmask", "randel")  # they wrap a model trained with their own noise unless the user names another


def check_defences(specs: Iterable[str], given: Collection[str] = ()) -> None:
    """Raise on an unknown defence before any model is loaded or trained; `given` names models that exist already."""
    for spec in specs:
        layers, inner = parse(spec)
        for layer in layers:
            read_layer(layer.name, layer.settings)
        name = inner.partition(":")[0]
        if name in ("", NONE, TWIN, *given):
            continue
        if name not in DEFENCES:
            raise unknown("defence", name, [*WRAPPERS, *DEFENCES, NONE, TWIN])
        parse_defence(inner)


def name_model(spec: str) -> str:
    """Return the name of the model inside a defence: none, twin, fact; for a noisy one that trained with its noise."""
    layers, inner = parse(spec)
    if inner or not layers or spec.rstrip(") ").endswith(f"({NONE}"):  # ranmask(none) is around the victim itself
        return inner or NONE
    return _name_trained(layers[-1]) if layers[-1].name in NOISY else NONE


def put_behind(spec: str, model: Victim) -> Victim:
    """Wrap a model in the defences of a spec, whatever model the spec itself names."""
    return defend_by_spec(spec, model, find=lambda _: model)


def _name_trained(layer: DefenceLayer) -> str:
    import inspect

    takes = {*inspect.signature(DEFENCES[layer.name]).parameters, *PAPER.get(layer.name, ())}
    return ":".join([layer.name, *(part for part in layer.settings if part.partition("=")[0] in takes)])


def find_folder(model: str, given: Mapping[str, Path]) -> Path | None:
    """Return the folder that the user gave for a model; None where it has to be trained."""
    return given.get(model) or given.get(model.partition(":")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The recipe of the victim's own training, from which twins and hardened models are trained: model, seed and data.

    `spec` is None for a user's own classifier, which is trained further.
    """

    victim: str
    spec: ZooSpec | None
    seed: int
    parts: Splits
    note: str = ""  # a remark where the data differ from those that the victim was trained on

    def name(self, model: str) -> str:
        """Return the name for `malaprop train`, the twin's with another seed; empty for a user's own classifier."""
        from malaprop.zoo import names as zoo

        return "" if self.spec is None else zoo.name_with_seed(self.spec, self.seed + (model == TWIN))

    def describe(self, model: str) -> str:
        """Describe in a line what will be trained."""
        how = "again" if model == TWIN else f"with {model}"
        kept = "" if self.spec is None else ", once; kept in the cache"
        name, parts = self.name(model) or self.victim, self.parts
        return f"training {name} {how} on {parts.name} ({len(parts.train):,} texts{kept})"

    def home(self, model: str, settings: Mapping[str, Any]) -> Path | None:
        """Return the folder of the model in the cache; None for a user's own classifier, which is not cached."""
        from malaprop.zoo.cache import home

        if self.spec is None:
            return None
        if model == TWIN:
            return home(self.spec, self.parts, self.seed + 1, dict(settings) or None)
        said = {"hardened": f"{model.partition(':')[0]}: {parse_defence(model)}", **settings}
        return home(self.spec, self.parts, self.seed, said)


def harden_with(model: str) -> Hardening | None:
    """Return the method that hardens a model in training; None for the twin."""
    return None if model == TWIN else Hardening.of(model)


def find_origin(model: str, victim: str, data: str, columns: Mapping[str, str | None]) -> Origin:
    """Return what a model is trained from; raise SettingError for a victim that cannot be trained here."""
    from malaprop.models.classifierfolder import is_classifier_folder
    from malaprop.training.card import OWN, read_card
    from malaprop.training.splits import splits
    from malaprop.zoo import checkpoint
    from malaprop.zoo import names as zoo

    path = Path(victim).expanduser()
    text, label = columns.get("text"), columns.get("label")
    load = partial(read, text=text, label=label)
    card = read_card(path) if checkpoint.is_checkpoint(path) else None
    if card is not None and (spec := zoo.ZooSpec.from_card(card)).encoder != OWN:
        parts = splits(load, data)
        same = parts.fingerprint == card.data_fingerprint
        note = "" if same else f"{card.name} was trained on {card.data}; {model} is trained on {data}"
        return Origin(victim=victim, spec=spec, seed=card.seed, parts=parts, note=note)
    if zoo.is_name(victim):
        spec, seed = zoo.parse(victim)
        return Origin(victim=victim, spec=spec, seed=seed, parts=splits(read, "mr"))  # as the victim by name is
    if is_classifier_folder(victim) and model != TWIN:
        return Origin(victim=victim, spec=None, seed=0, parts=splits(load, data))
    raise SettingError(
        f"{model} has to be trained, and {victim} cannot be trained here; give a folder: "
        f"--hardened {model.partition(':')[0]}=FOLDER, or test defences around it: purify:spell, fuse, safer(none)"
    )


def split_folders(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the defences listed, and those with a folder: `fact=FOLDER` names fact and its model."""
    listed = list(names)
    inline = tuple(name for name in listed if "=" in name.partition(":")[0].partition("(")[0])
    return tuple(name.partition("=")[0].strip() if name in inline else name for name in listed), inline


def folders(pairs: tuple[str, ...]) -> dict[str, Path]:
    """Read the `name=FOLDER` pairs of --hardened; a name may have settings, as reject:weight=2."""
    out = {}
    for pair in pairs:
        cuts = [(pair[:at], Path(pair[at + 1 :]).expanduser()) for at, sign in enumerate(pair) if sign == "="]
        name, path = next((cut for cut in reversed(cuts) if _holds_model(cut[1])), cuts[-1] if cuts else ("", Path()))
        if not name.strip():
            raise SettingError(f"--hardened is written name=FOLDER, as fact=models/fact, got {pair!r}")
        if not _holds_model(path):
            raise SettingError(f"--hardened {name}={path}: no model in that folder; write one with malaprop harden")
        out[name.strip()] = path
    return out


def _holds_model(path: Path) -> bool:
    from malaprop.zoo import checkpoint

    return checkpoint.is_checkpoint(path) or (path / "config.json").is_file()
