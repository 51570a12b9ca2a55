"""Load what is attacked: `victim` takes names, folders, functions and models, also behind defences."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.catalogue import Catalogue, unknown
from malaprop.core.errors import SettingError
from malaprop.core.victim import Victim
from malaprop.data.base import load as read
from malaprop.frame.records.autoharden import read_choice
from malaprop.frame.rooms import added

if TYPE_CHECKING:
    from malaprop.frame.runs.defended import Method

# Defences that act at each query; as a victim they are written NAME:SETTINGS(VICTIM).
WRAPPERS = Catalogue("wrapper", added("wrappers"))
# The forms in which a victim can be written, and what each means.
WRITTEN = {
    "FOLDER": "a model that malaprop train wrote, or a transformers classifier",
    "NAME": "a model of the zoo, trained first if need be: malaprop list models",
    "module:attribute": "a function from a list of texts to scores",
    "http://host/path": "a model behind an address that takes JSON",
    "hub:ORG/NAME": "a transformers classifier of the hub",
    "FILE.skops": "a scikit-learn pipeline",
    "FILE.onnx": "an exported classifier",
    "causal:FOLDER": "a language model asked with --prompt, here; also causal:FILE.gguf and causal:smollm2",
    "openai:MODEL@http://host/v1": "a language model asked with --prompt, behind a server of OpenAI's protocol",
    "ensemble:A+B": "several victims as one",
    "DEFENCE(VICTIM)": "a victim behind a defence: malaprop list defences",
    "FILE.toml": "a victim behind defences with their settings, a [[wrap]] table each",
}
# Makers of such victims, given a function that loads the inner one: `wrap.defend` for the defences above, named as text
# because it imports this module; a plug-in may register others under the name that is typed.
_DEFEND = Catalogue("layer", {"defend": "malaprop.frame.runs.wrap:defend_by_spec"})
_OTHERS = Catalogue("victim", {})
_WRITTEN = re.compile(r"([a-z][\w-]*)(?::[^():]+)*\(.*\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Configured:
    """A victim as it is typed, with options that a name cannot hold, such as a prompt; each worker loads it itself."""

    spec: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.spec


def behind(defence: str, victim: str) -> str:
    """Return the spec of a victim behind a defence; `none` is no defence."""
    name = defence.partition(":")[0].strip()
    if name == "none":
        return victim
    if name not in WRAPPERS and name not in _OTHERS:
        raise unknown("defence", name, [*WRAPPERS, *_OTHERS, "none"])
    return f"{defence}({victim})"


def device_of(asked: str) -> str:
    """Return the device to use; `auto` is the GPU if there is one. `$MALAPROP_GPU_PARTS` processes share it."""
    if asked == "cpu":
        return asked  # every machine has it, so torch need not be loaded
    if asked == "auto" and not may_have_gpu():
        return "cpu"
    import torch

    if asked == "auto":
        asked = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=asked)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        reason = "there is no such kind of device" if "Expected one of" in reason else reason
        raise SettingError(f"--device {asked} cannot be used here: {reason}; give cpu, cuda or auto") from None
    if not asked.startswith("cuda"):
        return asked
    from malaprop.models.tokens.batches import avoid_cudnn_attention, read_parts, share_gpu

    avoid_cudnn_attention()
    if (parts := read_parts()) > 1:
        share_gpu(parts)
    return asked


def may_have_gpu() -> bool:
    """Return whether torch could find a GPU here: false without torch, with a build for CPUs, or without the driver.

    To ask torch itself takes a second, because torch has to be loaded for it.
    """
    if sys.modules.get("torch"):
        return True
    found = find_spec("torch")
    if found is None or found.origin is None:
        return False
    try:
        build = Path(found.origin).with_name("version.py").read_text(encoding="utf-8")
    except OSError:
        return True
    kinds = dict(re.findall(r"^(cuda|hip)\b[^=\n]*=\s*(\S+)", build, re.MULTILINE))
    if kinds.get("cuda") == "None" == kinds.get("hip", "None"):
        return False
    if kinds.get("hip", "None") != "None" or sys.platform != "linux":
        return True
    try:
        ctypes.CDLL("libcuda.so.1")  # what torch itself opens
    except OSError:
        return False
    return True


def victim(
    thing: Any, tokenizer: Any = None, *, device: str = "auto", precision: str = "auto", **options: Any
) -> Victim:
    """Return a victim made of a function, scikit-learn pipeline, transformers model, torch module, folder or name.

    `thing` is a function from a list of texts to scores (n, labels), an object, or a string as `--victim` takes it; a
    torch module or a transformers model comes with its tokenizer. five(BERT) is BERT behind a defence, and FILE.toml a
    victim behind defences. A victim is given back as it is. A zoo name that was not trained yet is trained on the
    packaged reviews, once. `precision` (auto, fp32, bf16, int8) is for transformers; what fewer bits find is confirmed
    in fp32 before it counts.
    """
    from malaprop.frame.runs.load_victim import wrap
    from malaprop.frame.runs.wrap import is_defence_file, put_around, read_defence_file

    if isinstance(thing, Configured):
        return victim(thing.spec, device=device, precision=precision, **{**thing.options, **options})
    if isinstance(thing, (str, os.PathLike)) and (chosen := read_choice(os.fspath(thing))) is not None:
        return victim(chosen, device=device, precision=precision, **options)
    if isinstance(thing, (str, os.PathLike)) and is_defence_file(thing):
        inner, layers = read_defence_file(Path(thing).expanduser())
        return put_around(victim(inner, tokenizer, device=device, precision=precision, **options), layers)
    if isinstance(thing, str) and (make := _maker(thing)) is not None:
        made: Victim = make(thing, find=lambda inner: victim(inner, device=device, precision=precision, **options))
        return made
    return wrap(thing, tokenizer, device=device_of(device), precision=precision, read=read, **options)


def defend(
    thing: Any, *defences: Method | str, seed: int | None = 0, device: str = "auto", precision: str = "auto",
    **options: Any,
) -> Victim:  # fmt: skip
    """Put a victim behind defences, the first of them innermost.

    `thing` and the options are those of `victim`. A defence is a value, as Purify(by="mlm"), or a string without a
    victim, as "purify:mlm", which may hold a seed of its own. With `seed=None` the defences draw anew at every ask.
    """
    from malaprop.frame.runs.wrap import put_around, read_defence

    layers = [layer for one in reversed(defences) for layer in read_defence(one, seed)]  # before a model is loaded
    return put_around(victim(thing, device=device, precision=precision, **options), layers)


def name_labels(made: Victim, labels: Sequence[str]) -> None:
    """Give a function that names no labels those of the data, in the order of its scores."""
    from malaprop.models.victims.strings import StringVictim

    while made.inside is not None:
        made = made.inside
    if isinstance(made, StringVictim) and made.answers == "scores" and not made.label_names:
        made.label_names = tuple(labels)


def assume_labels(made: Victim, labels: Sequence[str]) -> None:
    """Give a function or an address without label names those by which to read answers that are labels.

    Unlike `name_labels` this changes nothing if answers are scores.
    """
    from malaprop.data.matching import are_numbers
    from malaprop.models.victims.http import HttpVictim
    from malaprop.models.victims.strings import StringVictim

    while made.inside is not None:
        made = made.inside
    if are_numbers(labels):
        return
    if isinstance(made, HttpVictim):
        made.assume(labels)
    elif isinstance(made, StringVictim) and made.answers == "scores":
        made.assumed = tuple(labels)


def _maker(spec: str) -> Any:
    """Return the maker of a victim written NAME:SETTINGS(VICTIM); None for any other spec."""
    written = _WRITTEN.fullmatch(spec.strip())
    if written is None:
        return None
    return _DEFEND["defend"] if written[1] in WRAPPERS else _OTHERS.get(written[1])
