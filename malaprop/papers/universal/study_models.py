"""The models of a transfer study: what is known of each, and its second, the same model trained from another seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from malaprop.core.errors import MalapropError, SettingError
from malaprop.papers.universal.record import Traits
from malaprop.training.card import OWN, Card, read_card
from malaprop.zoo import checkpoint
from malaprop.zoo import names as zoo
from malaprop.zoo.names import ZooSpec

Find = Callable[[Sequence[str]], Mapping[str, Path]]  # where models of the zoo are, or will be when they are trained


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyModel:
    """One model of a study: `spec` is what the user typed, `thing` what is loaded (a folder, a name, or a victim)."""

    name: str
    spec: str
    thing: Any
    traits: Traits | None = None
    number: int | None = None
    trains: bool = False  # it is trained where its folder is missing
    second: StudyModel | None = None

    @classmethod
    def of(cls, thing: Any, name: str | None = None) -> StudyModel:
        """Make a study model from a folder, a name, or a victim itself."""
        if not isinstance(thing, (str, Path)):
            name = name or str(getattr(thing, "name", None) or getattr(thing, "__name__", type(thing).__name__))
            return cls(name=name, spec=name, thing=thing)
        spec = str(thing)
        card = _card(Path(spec).expanduser())
        name = name or (card.name if card else spec)
        known = ZooSpec.from_card(card) if card else None
        return cls(name=name, spec=spec, thing=spec, traits=traits(known), number=_number(known))


def traits(spec: ZooSpec | None) -> Traits | None:
    """Return the traits of a model that is in the paper's table of 63; None for all others."""
    if spec is None or _number(spec) is None:
        return None
    return Traits(architecture=spec.encoder, input=spec.units, embedding=spec.embedding, layers=spec.depth)


def _number(spec: ZooSpec | None) -> int | None:
    """Return a model's number in the paper's table of 63; None for other models, and for one trained further."""
    if spec is None or spec.encoder == OWN:
        return None
    return next((at for at, one in enumerate(zoo.grid(), 1) if one.name == spec.name), None)


def _card(folder: Path) -> Card | None:
    try:
        return read_card(folder) if checkpoint.is_checkpoint(folder) else None
    except MalapropError:
        return None  # said when it is loaded


def expand_names(specs: Sequence[Any]) -> list[Any]:
    """Replace `all63` and folders of models by the models they stand for; objects stay as they are."""
    out: list[Any] = []
    for spec in specs:
        if not isinstance(spec, str):
            out.append(spec)
            continue
        folder = Path(spec).expanduser()
        if spec.lower() == zoo.ALL:
            out += [one.name for one in zoo.grid()]
        elif folder.is_dir() and not checkpoint.is_checkpoint(folder) and not (folder / "config.json").is_file():
            inside = sorted(str(path) for path in folder.iterdir() if checkpoint.is_checkpoint(path))
            if not inside:
                raise SettingError(f"{folder} holds no model, nor folders of models; give what malaprop train wrote")
            out += inside
        else:
            out.append(spec)
    return list(dict.fromkeys(out))


def choose_models(specs: Sequence[Any], find: Find, *, base: bool = True) -> list[StudyModel]:
    """Return the models in the order of the paper's table, others behind them; `find` gives the folders of zoo names.

    With `base` each gets its second: `NAME#2` of a zoo name, the folder `FOLDER#2` beside a folder, or one that is
    listed itself.
    """
    typed = expand_names(specs)
    names = [spec for spec in typed if _is_name(spec)]
    seconds = {name: f"{name}#2" for name in names if base and "#" not in name}
    folders = find(list(dict.fromkeys([*names, *seconds.values()])))
    found = [_make_model(spec, folders) for spec in typed]
    mains = _pair(found)
    out = []
    for model in mains:
        other = model.second
        if base and other is None:
            other = _second(model, seconds, folders)
        out.append(replace(model, second=other if base else None))
    _check_names(out)
    place = {id(model): at for at, model in enumerate(out)}
    return sorted(out, key=lambda e: (e.number or 10_000, place[id(e)]))


def _is_name(spec: Any) -> bool:
    return isinstance(spec, str) and zoo.is_name(spec) and not Path(spec).expanduser().is_dir()


def _make_model(spec: Any, folders: Mapping[str, Path]) -> StudyModel:
    if not _is_name(spec):
        return StudyModel.of(spec)
    known, seed = zoo.parse(spec)
    return StudyModel(
        name=zoo.name_with_seed(known, seed), spec=spec, thing=folders[spec], traits=traits(known),
        number=_number(known), trains=True,
    )  # fmt: skip


def weight(model: StudyModel) -> int:
    return weigh_traits(model.traits)


def weigh_traits(traits: Traits | None) -> int:
    """Estimate how long attacks on a model take; the longest start first, so that none runs alone at the end."""
    if traits is None or traits.input == "piece":
        return 60
    layers = {"BiLSTM": 5, "LSTM": 3, "CNN": 1}.get(traits.architecture, 4) * traits.layers
    return layers + {"both": 20, "character": 3}.get(traits.input, 0)


def _pair(found: Sequence[StudyModel]) -> list[StudyModel]:
    """Pair models of one name by seed: the lowest seed is the model, the next its second, others are left out."""
    mains: dict[str, StudyModel] = {}
    for model in sorted(found, key=lambda e: _seed(e.name)):
        plain, hash_, _ = model.name.rpartition("#")
        main = mains.get(plain) if hash_ and model.traits is not None else None
        if main is None or main.traits != model.traits:
            mains[model.name] = model
        elif main.second is None:
            mains[plain] = replace(main, second=model)
    order = {model.name: at for at, model in enumerate(found)}
    if len(order) < len(found):
        twice = next(e.name for e in found if sum(o.name == e.name for o in found) > 1)
        raise SettingError(f"two victims are called {twice}, so their outcomes could not be told apart; leave one out")
    return sorted(mains.values(), key=lambda e: order[e.name])


def _seed(name: str) -> int:
    plain, hash_, number = name.rpartition("#")
    return int(number) if hash_ and plain and number.isdecimal() else 1


def _second(model: StudyModel, seconds: Mapping[str, str], folders: Mapping[str, Path]) -> StudyModel | None:
    if model.spec in seconds:
        return _make_model(seconds[model.spec], folders)
    beside = Path(f"{model.spec}#2").expanduser()
    return StudyModel.of(str(beside)) if model.traits is not None and checkpoint.is_checkpoint(beside) else None


def _check_names(found: Sequence[StudyModel]) -> None:
    names = [one.name for model in found for one in (model, model.second) if one is not None]
    if twice := [name for name in names if names.count(name) > 1]:
        raise SettingError(f"two victims are called {twice[0]}; give each a name of its own")
    if len(found) < 2:
        one = found[0].name if found else "none"
        raise SettingError(f"a transfer study needs at least two victims, got {one}; separate them by commas")
