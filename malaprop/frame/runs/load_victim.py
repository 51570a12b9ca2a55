"""Load a victim from the name that a user types, or wrap a Python object as one."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from malaprop.core.catalogue import unknown
from malaprop.core.errors import SettingError, VictimError, plain
from malaprop.core.settings import call
from malaprop.core.victim import Victim, is_language_model
from malaprop.models.precision import check as check_precision
from malaprop.models.precision import check_given
from malaprop.models.victims.complete import complete, is_victim
from malaprop.models.victims.options import convert_options, split_options
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
    if is_language_model(name):
        found: Victim = _language_model(name, typed, device=device, precision=precision, quiet=quiet, **options)
    elif _ADDRESS.match(name):
        found = _at_address(name, quiet=quiet, typed=typed, **options)
    elif _is_reference(name) and not Path(name).expanduser().exists():
        found = _referred(name, typed, device=device, precision=precision, **options)
    elif (chosen := typed.pop("label", None) or options.pop("label", None)) is not None and not typed and not options:
        found = _one_label(name, str(chosen), device, precision, quiet=quiet)
    elif typed or options:
        raise SettingError(f"{name} takes no options ({', '.join([*typed, *options])}): functions and addresses do")
    else:
        found = _load(name, device=device, precision=precision, data=data, read=read, seed=seed, quiet=quiet)
    check_given(precision, found)
    return found


def _language_model(
    name: str, typed: Mapping[str, str], *, device: str, precision: str, quiet: bool = False, **options: Any
) -> Victim:
    """Load a language model that is asked with a prompt, on this machine or behind a server."""
    from malaprop.models.llm.template import Asking, split_asking

    kind, _, source = name.partition(":")
    if kind == "causal":
        from malaprop.models.llm.load import load_causal

        asked, rest = split_asking({**convert_options(typed, Asking, name), **options})
        given = {"source": source, "asking": Asking(**asked), "device": device, "precision": precision}
        made: Victim = call(load_causal, {**given, **rest}, name)
        return made
    from malaprop.models.llm.remote import OpenAiVictim, split_spec

    model, url = split_spec(source)
    own = {key for key in typed if key in {one.name for one in fields(OpenAiVictim)}}
    read = convert_options({key: typed[key] for key in typed if key in own}, OpenAiVictim, name)
    read |= convert_options({key: typed[key] for key in typed if key not in own}, Asking, name)
    asked, rest = split_asking({**read, **options})
    say = None if quiet else partial(print, file=sys.stderr)
    victim: OpenAiVictim = call(
        OpenAiVictim, {"model": model, "url": url, "asking": Asking(**asked), "say": say, **rest}, name
    )
    victim.probe()
    return victim


def _one_label(name: str, label: str, device: str, precision: str, *, quiet: bool) -> Victim:
    """Load a multi-label classifier as a victim with one of its labels."""
    from malaprop.models.victims.onnx import onnx_in

    path = Path(name).expanduser()
    exported = path if path.suffix.lower() == ".onnx" else onnx_in(path) if path.is_dir() else None
    if exported is not None:
        return _onnx(exported, device, precision, quiet=quiet, label=label)
    if not (path / "config.json").is_file():
        raise SettingError(f"{name} takes no label to choose; #label={label} is for multi-label transformers or ONNX")
    return _transformers_folder(path, device, precision, label=label)


def _is_reference(name: str) -> bool:
    return bool(_REFERENCE.fullmatch(name)) and not name.startswith("hub:") and not zoo.is_name(name)


def _referred(name: str, typed: Mapping[str, str], *, device: str, precision: str, **options: Any) -> Victim:
    """Load the object at `module:attribute` as a victim; only functions take options."""
    thing = resolve(name)
    if typed and not _is_function(thing):
        raise SettingError(f"{name} is no function; options behind # are for functions and addresses")
    if typed:
        from malaprop.models.victims.strings import StringVictim

        options = {**convert_options(typed, StringVictim, name), **options}
    return wrap(thing, name=name, device=device, precision=precision, **options)


def _load(name: str, *, device: str, precision: str, data: str, read: Read | None, seed: int, quiet: bool) -> Victim:
    if name.startswith("ensemble:"):
        return _ensemble(name, device=device, precision=precision, data=data, read=read, seed=seed, quiet=quiet)
    path = Path(name).expanduser()
    if path.is_dir():
        return _folder(path, device, precision)
    if path.suffix.lower() == ".onnx":
        return _onnx(path, device, precision, quiet=quiet)
    if path.is_file() or path.suffix.lower() == ".skops":
        return _file(path)
    if zoo.is_name(name):
        return _zoo(name, device=device, precision=precision, data=data, read=read, seed=seed, quiet=quiet)
    if name.startswith("hub:") or (_HUB.fullmatch(name) and not name.startswith(".")):
        return _hub(name, device, precision)
    raise _nothing(name)


def _hub(name: str, device: str, precision: str) -> Victim:
    try:
        from malaprop.models.victims.options import hub_name

        known = hub_name(name)
    except ImportError:
        raise VictimError(f"{name} needs the transformers library; install malaprop[hf]") from None
    from malaprop.models.victims.hf import load_transformers

    return load_transformers(known, device=device, precision=precision)


def _nothing(name: str) -> VictimError:
    """Return the error for a name that is no victim, with the nearest right ones."""
    if "," in name:
        return VictimError(f"{name} names several victims, one is wanted; malaprop audit takes several")
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


def _ensemble(spec: str, **options: Any) -> Victim:
    from malaprop.models.victims.ensemble import Ensemble, member_specs

    return Ensemble(members=tuple(load(member, **options) for member in member_specs(spec)))


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
        f"{path} is no model: it holds neither model.json (malaprop train) nor config.json (transformers) nor an .onnx "
        "file"
    )


def _transformers_folder(path: Path, device: str, precision: str, label: str | None = None) -> Victim:
    """A classifier as the library saves it; where it is a checkpoint of ours, as its card says."""
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
        f"{path} is no victim; expected a folder, a .skops or .onnx file, a zoo name, module:attribute or hub:NAME"
    )


def _zoo(name: str, *, device: str, precision: str, data: str, read: Read | None, seed: int, quiet: bool) -> Victim:
    from malaprop.zoo.cache import find_or_train

    if read is None:
        raise SettingError(f"{name} may have to be trained first; pass read=malaprop.data.load")
    return _folder(find_or_train(name, data, read=read, seed=seed, device=device, quiet=quiet), device, precision)


def resolve(reference: str) -> Any:
    """Import the object at `module:attribute`, with the working folder first on the path, as `python -m` does."""
    module, _, attribute = reference.partition(":")
    if module.endswith(".py"):
        raise VictimError(f"{module} is a file, a module is wanted; write {module.removesuffix('.py')}:{attribute}")
    here = str(Path.cwd())
    if here not in sys.path:  # it stays there: the function may import its neighbours when it is called
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise VictimError(f"no module is called {module!r} in {here} or among the installed ones") from None
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
    victim that is made: `batch`, `pairs` and `labels` for a function, `masks`, `limit` and `pad` for a torch module,
    those of `HttpVictim` for an address, `how` for a list. A model stays where it is, unless a device is given.
    """
    check_precision(precision)
    made = _wrap(thing, tokenizer, name=name, device=device, precision=precision, read=read, say=say, **options)
    check_given(precision, made)
    return made


def _wrap(
    thing: Any,
    tokenizer: Any,
    *,
    name: str | None,
    device: str | None,
    precision: str,
    read: Read | None,
    say: Callable[[str], None] | None,
    **options: Any,
) -> Victim:
    if isinstance(thing, str) and _ADDRESS.match(thing):
        url, typed = split_options(thing)
        return _at_address(url, say=say, typed=typed, **options)
    if isinstance(thing, (list, tuple)):
        from malaprop.models.victims.ensemble import Ensemble

        return Ensemble(
            members=tuple(wrap(one, device=device, precision=precision, read=read, say=say) for one in thing), **options
        )
    if isinstance(thing, (str, os.PathLike)):
        return load(thing, device=device or "cpu", precision=precision, read=read, **options)
    if inspect.isclass(thing):
        raise VictimError(f"{name or thing.__name__} is a class; give an instance of it, or a function")
    if is_victim(thing):
        return complete(thing)
    if _from_transformers(thing):
        return _transformers(thing, tokenizer, name=name, device=device, precision=precision, **options)
    if _is_module(thing):
        return _module(thing, tokenizer, name=name, device=device, **options)
    if _is_classifier(thing):
        from malaprop.models.victims.sklearn import wrap_sklearn

        return wrap_sklearn(thing, name=name, **options)
    if callable(thing):
        from malaprop.models.victims.strings import StringVictim

        called = name or str(getattr(thing, "__name__", type(thing).__name__))
        made: Victim = call(StringVictim, {"call": thing, "name": called, "say": say, **options}, called)
        return made
    raise VictimError(
        f"a {type(thing).__name__} is no victim; expected a function of a list of texts, a scikit-learn pipeline, "
        "a transformers model, a torch module with its tokenizer, or a name"
    )


def _is_classifier(thing: Any) -> bool:
    """Return whether an object has scikit-learn's interface: it scores, or is fitted and predicts."""
    scores = hasattr(thing, "predict_proba") or hasattr(thing, "decision_function")
    if scores or not hasattr(thing, "predict") or "sklearn" not in sys.modules:
        return scores or (hasattr(thing, "predict") and hasattr(thing, "classes_"))
    from malaprop.models.victims.sklearn import is_regressor

    return hasattr(thing, "classes_") or is_regressor(thing)


def _is_function(thing: Any) -> bool:
    others = (_from_transformers, _is_module, _is_classifier, is_victim)
    return callable(thing) and not inspect.isclass(thing) and not any(test(thing) for test in others)


def _from_transformers(thing: Any) -> bool:
    return any(kind.__module__.startswith("transformers.") for kind in type(thing).__mro__)


def _is_module(thing: Any) -> bool:
    torch = sys.modules.get("torch")  # whoever has a module has imported torch
    return torch is not None and isinstance(thing, torch.nn.Module)


def _transformers(thing: Any, tokenizer: Any, *, name: str | None, device: str | None, **options: Any) -> Victim:
    from malaprop.models.victims.hf import wrap_transformers

    model = thing.model if _is_pipeline(thing) else thing
    tokenizer = tokenizer or _own_tokenizer(thing)
    if tokenizer is None:
        raise VictimError(f"{type(thing).__name__} needs its tokenizer; pass it as the second argument")
    if type(model).__name__.endswith(("ForCausalLM", "LMHeadModel")):
        from malaprop.models.llm.load import wrap_causal
        from malaprop.models.llm.template import Asking, split_asking

        asked, rest = split_asking(options)
        moved = model if device is None else model.to(device)
        made: Victim = call(
            wrap_causal, {"model": moved, "tokenizer": tokenizer, "asking": Asking(**asked), "name": name, **rest}, "it"
        )
        return made
    return wrap_transformers(model, tokenizer, name=name, device=device, **options)


def _is_pipeline(thing: Any) -> bool:
    return type(thing).__name__.endswith("Pipeline")


def _own_tokenizer(thing: Any) -> Any:
    return getattr(thing, "tokenizer", None) if _is_pipeline(thing) else None


def _module(thing: Any, tokenizer: Any, *, name: str | None, device: str | None, **options: Any) -> Victim:
    from malaprop.models.victims.module import wrap_module

    if tokenizer is None:
        raise VictimError(f"{type(thing).__name__} needs a tokenizer; pass a function from strings to lists of ids")
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        from malaprop.models.tokens.wordpieces import WordPieces

        pieces = WordPieces.of(backend)
        tokenizer = pieces.pieces
        options = {"head": pieces.head, "tail": pieces.tail, "separator": pieces.between, **options}
    return wrap_module(thing, tokenizer, name=name, device=device, **options)
