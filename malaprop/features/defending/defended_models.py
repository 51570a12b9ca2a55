"""Models by the names of defences: the victim, its twin, and hardened ones, which are given or have to be trained."""

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
from malaprop.frame.study.model_kinds import DEFENCES
from malaprop.frame.study.training_methods import Hardening, parse_defence

if TYPE_CHECKING:
    from malaprop.training.splits import Splits
    from malaprop.zoo.names import ZooSpec

NONE, TWIN = "none", "twin"
NOISY = ("safer", "ranmask", "randel")  # wrap a model that was trained with their own noise, unless another is named


def check_defences(specs: Iterable[str], given: Collection[str] = ()) -> None:
    """Refuses what no defence is called, before any model is loaded or trained; `given` are models that are there."""
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
    """The model inside a defence: none, twin, fact; of a noisy defence the one that was trained with its noise."""
    layers, inner = parse(spec)
    if inner or not layers or spec.rstrip(") ").endswith(f"({NONE}"):  # ranmask(none) is around the victim itself
        return inner or NONE
    return _name_trained(layers[-1]) if layers[-1].name in NOISY else NONE


def put_behind(spec: str, model: Victim) -> Victim:
    """The model behind the defences of a spec, whatever the spec says of what stands inside."""
    return defend_by_spec(spec, model, find=lambda _: model)


def _name_trained(layer: DefenceLayer) -> str:
    import inspect

    takes = {*inspect.signature(DEFENCES[layer.name]).parameters, *PAPER.get(layer.name, ())}
    return ":".join([layer.name, *(part for part in layer.settings if part.partition("=")[0] in takes)])


def find_folder(model: str, given: Mapping[str, Path]) -> Path | None:
    """Where a model lies that the user named; None where it has to be trained."""
    return given.get(model) or given.get(model.partition(":")[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What models beside the victim are trained from: what the victim is, and the data that it learnt from.

    `spec` is None of a user's own classifier, which is trained further as it is.
    """

    victim: str
    spec: ZooSpec | None
    seed: int
    parts: Splits
    note: str = ""  # where they learn from other data than the victim did

    def name(self, model: str) -> str:
        """What is trained, as `malaprop train` takes it, of the twin with another seed; empty of a user's own."""
        from malaprop.zoo import names as zoo

        return "" if self.spec is None else zoo.name_with_seed(self.spec, self.seed + (model == TWIN))

    def describe(self, model: str) -> str:
        """What will be trained, in a line."""
        how = "again" if model == TWIN else f"with {model}"
        kept = "" if self.spec is None else ", once; kept in the cache"
        name, parts = self.name(model) or self.victim, self.parts
        return f"training {name} {how} on {parts.name} ({len(parts.train):,} texts{kept})"

    def home(self, model: str, settings: Mapping[str, Any]) -> Path | None:
        """Where the model lies in the cache; None: a user's own classifier is not kept there."""
        from malaprop.zoo.cache import home

        if self.spec is None:
            return None
        if model == TWIN:
            return home(self.spec, self.parts, self.seed + 1, dict(settings) or None)
        said = {"hardened": f"{model.partition(':')[0]}: {parse_defence(model)}", **settings}
        return home(self.spec, self.parts, self.seed, said)


def harden_with(model: str) -> Hardening | None:
    """What is in the loop when a model is trained; nothing for the twin."""
    return None if model == TWIN else Hardening.of(model)


def find_origin(model: str, victim: str, data: str, columns: Mapping[str, str | None]) -> Origin:
    """What a model is trained from; refuses a victim that nothing can be trained like."""
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
        f"{model} is a model of its own, and {victim} is none that can be trained here; give a folder: "
        f"--hardened {model.partition(':')[0]}=FOLDER, or test defences around it: purify:spell, fuse, safer(none)"
    )


def split_folders(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Defences as they are listed: `fact=FOLDER` is the defence fact, and says where its model is."""
    listed = list(names)
    inline = tuple(name for name in listed if "=" in name.partition(":")[0].partition("(")[0])
    return tuple(name.partition("=")[0].strip() if name in inline else name for name in listed), inline


def folders(pairs: tuple[str, ...]) -> dict[str, Path]:
    """`name=FOLDER` pairs of --hardened; a name may have settings, as reject:weight=2."""
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
