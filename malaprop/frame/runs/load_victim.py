"""Load a victim from the name that a user types, or wrap a Python object as one."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, VictimError, plain
from malaprop.core.settings import call
from malaprop.core.victim import Victim, is_language_model
from malaprop.models.precision import check as check_precision
from malaprop.models.precision import check_given
from malaprop.models.victims.options import convert_options, split_options
from malaprop.models.victims.strings import complete, is_victim
from malaprop.training.splits import Read
from malaprop.zoo import names as zoo

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".h5")


def load(
    spec: str | os.PathLike[str],
    *,
    device: str = "cpu",
    precision: str = "fp32",
    data: str = "mr",
    read: Read | None = None,
    seed: int = 0,
    quiet: bool = False,
    **options: Any,
) -> Victim:
    """Load a victim by folder, zoo name, `module:attribute`, `.skops` or `.onnx` file, Hugging Face folder or hub name,
    http(s) address, `causal:FOLDER` or `openai:MODEL@ADDRESS`, or `ensemble:A+B` of any of them.

    A zoo name that is not in the cache is trained on `data`, which `read` opens (`malaprop.data.load`). `precision` is
    for transformers (see `malaprop.models.precision`); other models compute in fp32, and refuse to be asked for less.
    Functions and addresses take options, here or behind a # in the spec (`malaprop.models.victims.options`).
    """
    name = os.fspath(spec)
    typed: dict[str, str] = {}
    if not Path(name).exists() and not name.startswith("ensemble:"):
        name, typed = split_options(name)
    named = _Named(name, typed, options, device, precision, data, read, seed, quiet)
    found = _load_as_first(_KINDS_OF_NAMES, named)
    check_given(precision, found)
    return found


@dataclass(frozen=True)
class _Named:
    """A victim that a user names, with its options: `typed` ones behind a # in the spec, the others from Python."""

    name: str
    typed: Mapping[str, str]
    options: Mapping[str, Any]
    device: str
    precision: str
    data: str
    read: Read | None
    seed: int
    quiet: bool

    @property
    def path(self) -> Path:
        """Return the name as a path, with ~ expanded."""
        return Path(self.name).expanduser()

    @property
    def label(self) -> Any:
        """Return the label that the options choose, or None if they choose none."""
        return self.typed.get("label") or self.options.get("label")

    @property
    def options_beside_label(self) -> list[str]:
        """Return the names of the options, one `label` left out."""
        names = [*self.typed, *self.options]
        if "label" in names:
            names.remove("label")
        return names

    @property
    def say(self) -> Callable[[str], None] | None:
        """Return the function that prints a note to stderr, or None for a quiet load."""
        return None if self.quiet else partial(print, file=sys.stderr)


@dataclass(frozen=True)
class _Object:
    """A Python object that `wrap` turns into a victim, with the options for that victim."""

    thing: Any
    tokenizer: Any
    name: str | None
    device: str | None
    precision: str
    read: Read | None
    say: Callable[[str], None] | None
    options: Mapping[str, Any]


_Source = TypeVar("_Source", _Named, _Object)


@dataclass(frozen=True)
class _Kind(Generic[_Source]):
    """One kind of victim: what it is, a test that recognises it, and its loader."""

    what: str
    recognises: Callable[[_Source], bool]
    load: Callable[[_Source], Victim]


def _load_as_first(kinds: tuple[_Kind[_Source], ...], source: _Source) -> Victim:
    """Load a victim as the first kind that recognises it; the last kind of a table recognises all and refuses."""
    return next(kind for kind in kinds if kind.recognises(source)).load(source)


def _language_model(named: _Named) -> Victim:
    """Load a language model that classifies by a prompt, on this machine or behind a server."""
    from malaprop.models.llm.template import Asking, split_asking

    name, typed, options = named.name, named.typed, named.options
    kind, _, source = name.partition(":")
    if kind == "causal":
        from malaprop.models.llm.load import load_causal

        asked, rest = split_asking({**convert_options(typed, Asking, name), **options})
        given = {"source": source, "asking": Asking(**asked), "device": named.device, "precision": named.precision}
        causal: Victim = call(load_causal, {**given, **rest}, name)
        return causal
    from malaprop.models.llm.remote import OpenAiVictim, split_spec

    model, url = split_spec(source)
    own = {key for key in typed if key in {one.name for one in fields(OpenAiVictim)}}
    read = convert_options({key: typed[key] for key in typed if key in own}, OpenAiVictim, name)
    read |= convert_options({key: typed[key] for key in typed if key not in own}, Asking, name)
    asked, rest = split_asking({**read, **options})
    given = {"model": model, "url": url, "asking": Asking(**asked), "say": named.say}
    victim: OpenAiVictim = call(OpenAiVictim, {**given, **rest}, name)
    victim.probe()
    return victim


def _one_label(named: _Named) -> Victim:
    """Load a multi-label classifier as a victim with one of its labels."""
    from malaprop.models.victims.onnx import onnx_in

    path, label = named.path, str(named.label)
    exported = path if path.suffix.lower() == ".onnx" else onnx_in(path) if path.is_dir() else None
    if exported is not None:
        return _onnx(exported, named.device, named.precision, quiet=named.quiet, label=label)
    if not (path / "config.json").is_file():
        raise SettingError(
            f"{named.name} takes no label to choose; #label={label} is for multi-label transformers or ONNX"
        )
    return _transformers_folder(path, named.device, named.precision, label=label)


def _refuse_options(named: _Named) -> Victim:
    """Raise: victims of the kinds below in the table take no options."""
    names = ", ".join(named.options_beside_label)
    raise SettingError(f"{named.name} takes no options ({names}): functions and addresses do")


def _is_reference(named: _Named) -> bool:
    """Return whether a name is written `module:attribute` and no file has that name."""
    name = named.name
    reference = _REFERENCE.fullmatch(name) and not name.startswith("hub:") and not zoo.is_name(name)
    return bool(reference) and not named.path.exists()


def _referred(named: _Named) -> Victim:
    """Load the object at `module:attribute` as a victim; only functions take options."""
    thing = resolve(named.name)
    options = named.options
    if named.typed and not _is_function(thing):
        raise SettingError(f"{named.name} is not a function; options behind # are for functions and addresses")
    if named.typed:
        from malaprop.models.victims.strings import StringVictim

        options = {**convert_options(named.typed, StringVictim, named.name, without=("device",)), **options}
    return wrap(thing, **{"name": named.name, "device": named.device, "precision": named.precision, **options})


def _is_hub_name(named: _Named) -> bool:
    """Return whether a name is written `hub:NAME` or `owner/name`."""
    name = named.name
    return name.startswith("hub:") or bool(_HUB.fullmatch(name) and not name.startswith("."))


def _hub(named: _Named) -> Victim:
    try:
        from malaprop.models.victims.options import hub_name

        known = hub_name(named.name)
    except ImportError:
        raise VictimError(f"{named.name} needs the transformers library; install malaprop[hf]") from None
    from malaprop.models.victims.hf import load_transformers

    return load_transformers(known, device=named.device, precision=named.precision)


def _named_address(named: _Named) -> Victim:
    return _at_address(named.name, quiet=named.quiet, typed=named.typed, **named.options)


def _onnx_file(named: _Named) -> Victim:
    return _onnx(named.path, named.device, named.precision, quiet=named.quiet)


def _refuse_name(named: _Named) -> Victim:
    """Raise: the name fits no kind of victim."""
    raise _nothing(named.name)


def _nothing(name: str) -> VictimError:
    """Return the error for a name that is not a victim, with the nearest right names."""
    if "," in name:
        return VictimError(f"{name} names several victims, expected one; malaprop audit takes several")
    if os.sep in name or name.startswith((".", "~")):
        own = "; a function of your own is written module:attribute, from the folder of its file" * (":" in name)
        return VictimError(
            f"no such folder or file: {name}; expected a folder written by malaprop train or by transformers{own}"
        )
    if Path(f"{name}.py").is_file():
        return VictimError(f"{name} is a module of your own ({name}.py); name its function too, as {name}:predict")
    return VictimError(
        f"{unknown('model', name, zoo.names())}; or give a folder, module:attribute, a .skops or .onnx file, hub:NAME"
    )


def _at_address(
    url: str,
    *,
    quiet: bool = False,
    say: Callable[[str], None] | None = None,
    typed: Mapping[str, str] | None = None,
    **options: Any,
) -> Victim:
    """Load a victim behind an http(s) address and send it one word, so that it fails before the work begins."""
    from malaprop.models.victims.http import HttpVictim

    if typed and "label_names" in typed:  # as functions call it
        typed = {"order" if name == "label_names" else name: value for name, value in typed.items()}
    options = {**convert_options(typed or {}, HttpVictim, url), **options}
    victim: HttpVictim = call(
        HttpVictim, {"url": url, "say": say if say or quiet else partial(print, file=sys.stderr), **options}, url
    )
    victim.probe()
    return victim


def _ensemble(named: _Named) -> Victim:
    """Load the members of `ensemble:A+B`, each as a victim of its own."""
    from malaprop.models.victims.ensemble import Ensemble, member_specs

    def member(spec: str) -> Victim:
        return load(
            spec,
            device=named.device,
            precision=named.precision,
            data=named.data,
            read=named.read,
            seed=named.seed,
            quiet=named.quiet,
        )

    return Ensemble(members=tuple(member(spec) for spec in member_specs(named.name)))


def _folder(path: Path, device: str, precision: str) -> Victim:
    from malaprop.training.card import read_card
    from malaprop.zoo import checkpoint

    if checkpoint.is_checkpoint(path):
        if zoo.ZooSpec.from_card(read_card(path)).fine_tuned:
            return _transformers_folder(path, device, precision)
        from malaprop.zoo.victim import zoo_victim

        return zoo_victim(path, device=device)
    from malaprop.models.victims.onnx import onnx_in

    if exported := onnx_in(path):
        return _onnx(exported, device, precision)
    if (path / "config.json").is_file():
        return _transformers_folder(path, device, precision)
    raise VictimError(
        f"{path} is not a model: it holds neither model.json (malaprop train) nor config.json (transformers) nor an "
        ".onnx file"
    )


def _transformers_folder(path: Path, device: str, precision: str, label: str | None = None) -> Victim:
    """Load a classifier that transformers saved; a checkpoint of ours gets name and limit from its card."""
    from malaprop.models.victims.hf import load_transformers
    from malaprop.training.card import read_card
    from malaprop.zoo import checkpoint

    about: dict[str, Any] = {}
    if checkpoint.is_checkpoint(path):
        card = read_card(path)
        about = {"name": card.name, "limit": card.limit, "fingerprint": checkpoint.fingerprint(path)}
    return load_transformers(path, device=device, precision=precision, label=label, **about)


def _onnx(path: Path, device: str, precision: str, *, quiet: bool = False, label: str | None = None) -> Victim:
    from malaprop.models.victims.onnx import load_onnx

    say = (lambda _line: None) if quiet else None
    return load_onnx(path, device=device, precision=precision, say=say, label=label)


def _file(path: Path) -> Victim:
    from malaprop.models.victims.sklearn import REFUSED, load_skops, refuse_pickle

    suffix = path.suffix.lower()
    if suffix in REFUSED:
        raise refuse_pickle(path)
    if not path.is_file():
        raise VictimError(f"no such file: {path}")
    if suffix == ".skops":
        return load_skops(path)
    if suffix == ".py":
        raise VictimError(f"{path} is a file of Python; name a function in it, as {path.stem}:predict, from its folder")
    if suffix in _WEIGHTS:
        raise VictimError(f"{path} holds weights alone; give the folder with its configuration and tokenizer")
    raise VictimError(
        f"{path} is not a victim; expected a folder, a .skops or .onnx file, a zoo name, module:attribute or hub:NAME"
    )


def _zoo(named: _Named) -> Victim:
    """Load a zoo model from the cache; train it first if it is not there."""
    from malaprop.zoo.cache import find_or_train

    if named.read is None:
        raise SettingError(f"{named.name} may have to be trained first; pass read=malaprop.data.load")
    folder = find_or_train(
        named.name, named.data, read=named.read, seed=named.seed, device=named.device, quiet=named.quiet
    )
    return _folder(folder, named.device, named.precision)


# The first row that recognises a name loads it, so the order decides: a folder called like a zoo model is a folder.
_KINDS_OF_NAMES: tuple[_Kind[_Named], ...] = (
    _Kind("a language model", lambda it: is_language_model(it.name), _language_model),
    _Kind("an address", lambda it: bool(_ADDRESS.match(it.name)), _named_address),
    _Kind("a Python object at module:attribute", _is_reference, _referred),
    _Kind("one label of a classifier", lambda it: it.label is not None and not it.options_beside_label, _one_label),
    _Kind("any other name with options", lambda it: bool(it.options_beside_label), _refuse_options),
    _Kind("an ensemble", lambda it: it.name.startswith("ensemble:"), _ensemble),
    _Kind("a folder", lambda it: it.path.is_dir(), lambda it: _folder(it.path, it.device, it.precision)),
    _Kind("an ONNX file", lambda it: it.path.suffix.lower() == ".onnx", _onnx_file),
    _Kind("a file", lambda it: it.path.is_file() or it.path.suffix.lower() == ".skops", lambda it: _file(it.path)),
    _Kind("a zoo model", lambda it: zoo.is_name(it.name), _zoo),
    _Kind("a model of the Hugging Face hub", _is_hub_name, _hub),
    _Kind("any other name", lambda _: True, _refuse_name),
)


def resolve(reference: str) -> Any:
    """Import the object at `module:attribute`, with the working folder first on the path, as `python -m` does."""
    module, _, attribute = reference.partition(":")
    if module.endswith(".py"):
        raise VictimError(f"{module} is a file, expected a module; write {module.removesuffix('.py')}:{attribute}")
    here = str(Path.cwd())
    if here not in sys.path:  # it stays there: the function may import its neighbours when it is called
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise VictimError(
                f"no module is called {module!r} in {here} or among the installed ones; "
                "--victim takes module:attribute of a file in this folder or of an installed package"
            ) from None
        raise VictimError(f"{module} cannot be imported: {plain(error)}") from error
    except SystemExit:
        raise VictimError(
            f"{module} ends the program when it is imported; put its top-level code under if __name__ == '__main__':"
        ) from None
    except Exception as error:
        raise VictimError(f"{module} cannot be imported: {plain(error)[:300]}") from error
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise VictimError(str(unknown(f"attribute of {module}", part, _public(found)))) from None
    return found


def _public(thing: Any) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("_")]


def wrap(
    thing: Any,
    tokenizer: Any = None,
    *,
    name: str | None = None,
    device: str | None = None,
    precision: str = "fp32",
    read: Read | None = None,
    say: Callable[[str], None] | None = None,
    **options: Any,
) -> Victim:
    """Wrap a function, a scikit-learn pipeline, a transformers model or pipeline, or a torch module as a victim.

    A name, path or address is loaded, a list becomes an ensemble; a victim is returned as it is. `options` go to the
    new victim: `batch`, `pairs` and `labels` for a function, `masks`, `limit` and `pad` for a torch module,
    those of `HttpVictim` for an address, `how` for a list. A model stays where it is, unless a device is given.
    """
    check_precision(precision)
    victim = _load_as_first(_KINDS_OF_OBJECTS, _Object(thing, tokenizer, name, device, precision, read, say, options))
    check_given(precision, victim)
    return victim


def _wrap_address(given: _Object) -> Victim:
    url, typed = split_options(given.thing)
    return _at_address(url, say=given.say, typed=typed, **given.options)


def _wrap_list(given: _Object) -> Victim:
    """Wrap each object of a list as a victim; return their ensemble."""
    from malaprop.models.victims.ensemble import Ensemble

    members = (
        wrap(one, device=given.device, precision=given.precision, read=given.read, say=given.say) for one in given.thing
    )
    return Ensemble(members=tuple(members), **given.options)


def _load_by_name(given: _Object) -> Victim:
    return load(given.thing, device=given.device or "cpu", precision=given.precision, read=given.read, **given.options)


def _refuse_class(given: _Object) -> Victim:
    """Raise: a class has to be instantiated first."""
    raise VictimError(f"{given.name or given.thing.__name__} is a class; give an instance of it, or a function")


def _wrap_classifier(given: _Object) -> Victim:
    from malaprop.models.victims.sklearn import wrap_sklearn

    return wrap_sklearn(given.thing, name=given.name, **given.options)


def _wrap_function(given: _Object) -> Victim:
    """Wrap a function from a list of texts to scores or labels."""
    from malaprop.models.victims.strings import StringVictim

    called = given.name or str(getattr(given.thing, "__name__", type(given.thing).__name__))
    victim: Victim = call(
        StringVictim, {"call": given.thing, "name": called, "say": given.say, **given.options}, called
    )
    return victim


def _refuse_object(given: _Object) -> Victim:
    """Raise: the object fits no kind of victim."""
    raise VictimError(
        f"a value of type {type(given.thing).__name__} is not a victim; expected a function of a list of texts, a "
        "scikit-learn pipeline, a transformers model, a torch module with its tokenizer, or a name"
    )


def _is_classifier(thing: Any) -> bool:
    """Return whether an object has scikit-learn's interface: it scores, or is fitted and predicts."""
    scores = hasattr(thing, "predict_proba") or hasattr(thing, "decision_function")
    if scores or not hasattr(thing, "predict") or "sklearn" not in sys.modules:
        return scores or (hasattr(thing, "predict") and hasattr(thing, "classes_"))
    from malaprop.models.victims.sklearn import is_regressor

    return hasattr(thing, "classes_") or is_regressor(thing)


def _is_function(thing: Any) -> bool:
    """Return whether an object can be called and is neither a class nor a model of a known library."""
    others = (_from_transformers, _is_module, _is_classifier, is_victim)
    return callable(thing) and not inspect.isclass(thing) and not any(test(thing) for test in others)


def _from_transformers(thing: Any) -> bool:
    return any(kind.__module__.startswith("transformers.") for kind in type(thing).__mro__)


def _is_module(thing: Any) -> bool:
    torch = sys.modules.get("torch")  # whoever has a module has imported torch
    return torch is not None and isinstance(thing, torch.nn.Module)


def _wrap_transformers(given: _Object) -> Victim:
    """Wrap a model or pipeline of transformers: a causal model by a prompt, any other as a classifier."""
    from malaprop.models.victims.hf import wrap_transformers

    thing, name, device = given.thing, given.name, given.device
    options = {"precision": given.precision, **given.options}
    model = thing.model if _is_pipeline(thing) else thing
    tokenizer = given.tokenizer or _own_tokenizer(thing)
    if tokenizer is None:
        raise VictimError(f"{type(thing).__name__} needs its tokenizer; pass it as the second argument")
    if type(model).__name__.endswith(("ForCausalLM", "LMHeadModel")):
        from malaprop.models.llm.load import wrap_causal
        from malaprop.models.llm.template import Asking, split_asking

        asked, rest = split_asking(options)
        moved = model if device is None else model.to(device)
        victim: Victim = call(
            wrap_causal, {"model": moved, "tokenizer": tokenizer, "asking": Asking(**asked), "name": name, **rest}, "it"
        )
        return victim
    return wrap_transformers(model, tokenizer, name=name, device=device, **options)


def _is_pipeline(thing: Any) -> bool:
    return type(thing).__name__.endswith("Pipeline")


def _own_tokenizer(thing: Any) -> Any:
    return getattr(thing, "tokenizer", None) if _is_pipeline(thing) else None


def _wrap_module(given: _Object) -> Victim:
    """Wrap a torch module with its tokenizer."""
    from malaprop.models.victims.module import wrap_module

    thing, tokenizer, options = given.thing, given.tokenizer, given.options
    if tokenizer is None:
        raise VictimError(f"{type(thing).__name__} needs a tokenizer; pass a function from strings to lists of ids")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        from malaprop.models.tokens.wordpieces import WordPieces

        pieces = WordPieces.of(backend)
        tokenizer = pieces.pieces
        options = {"head": pieces.head, "tail": pieces.tail, "separator": pieces.between, **options}
    return wrap_module(thing, tokenizer, name=given.name, device=given.device, **options)


# In this order: a transformers model is a torch module too, and most of these objects can be called.
_KINDS_OF_OBJECTS: tuple[_Kind[_Object], ...] = (
    _Kind("an address", lambda it: isinstance(it.thing, str) and bool(_ADDRESS.match(it.thing)), _wrap_address),
    _Kind("an ensemble", lambda it: isinstance(it.thing, (list, tuple)), _wrap_list),
    _Kind("a name or path", lambda it: isinstance(it.thing, (str, os.PathLike)), _load_by_name),
    _Kind("a class", lambda it: inspect.isclass(it.thing), _refuse_class),
    _Kind("a victim", lambda it: is_victim(it.thing), lambda it: complete(it.thing)),
    _Kind("a transformers model", lambda it: _from_transformers(it.thing), _wrap_transformers),
    _Kind("a torch module", lambda it: _is_module(it.thing), _wrap_module),
    _Kind("a scikit-learn classifier", lambda it: _is_classifier(it.thing), _wrap_classifier),
    _Kind("a function", lambda it: callable(it.thing), _wrap_function),
    _Kind("any other object", lambda _: True, _refuse_object),
)
