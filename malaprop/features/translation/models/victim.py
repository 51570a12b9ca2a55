"""Translation victims: our own folders, sequence-to-sequence models of transformers, and any function."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import SettingError, VictimError, plain
from malaprop.core.score import Floats
from malaprop.features.translation.models.translator import Hint, Translator

if TYPE_CHECKING:
    from malaprop.features.translation.models.decoding import Look
    from malaprop.features.translation.models.guide import Guide
    from malaprop.features.translation.models.subwords import SubWords

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_GUIDED = {"cpu": 8192, "cuda": 131_072}  # pieces of sources and outputs that a sweep reads together


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OwnTranslator:
    """A model trained by malaprop train nmt-lstm or nmt-transformer."""

    name: str
    fingerprint: str
    words: Sequence[str]
    model: Any  # a network of models.translation
    subwords: SubWords
    guide: Guide
    beam: int = 5
    guides: bool = True

    def translate(self, sources: Sequence[str]) -> list[str]:
        from malaprop.features.translation.models.decoding import translate
        from malaprop.models.precision import full_precision

        with full_precision(self.guide.device):
            return translate(self.model, self.subwords, sources, width=self.beam)

    def too_long(self, source: str) -> str:
        return _too_long(self.name, len(self.subwords.ids(source)), self.guide.limit)

    def spells(self, keyword: str) -> bool:
        return bool(self.subwords.word(keyword))

    def hints(self, asked: Sequence[Hint]) -> list[Floats]:
        from malaprop.models.precision import full_precision

        with full_precision(self.guide.device):
            return self.guide.hints(asked)

    def states(self, sources: Sequence[str]) -> list[Floats]:
        return self.guide.states(sources)

    def look(self, source: str, output: str) -> Look:
        """Return the attention of a translation on its source."""
        from malaprop.features.translation.models.decoding import look

        return look(self.model, self.subwords, source, output)


def _too_long(name: str, pieces: int, limit: int) -> str:
    if pieces <= limit:
        return ""
    return f"the source has {pieces} sub-words, {name} reads {limit}; shorten it or train with a larger limit"


def _count(many: int, what: str) -> str:
    return f"{many} {what}{'s' * (many != 1)}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FunctionTranslator:
    """Any function from a list of sources to a list of translations, called in batches."""

    call: Callable[[list[str]], Sequence[str]]
    name: str
    batch: int = 64
    fingerprint: str = ""
    words: Sequence[str] = ()
    guides: bool = field(default=False, init=False)

    def translate(self, sources: Sequence[str]) -> list[str]:
        out: list[str] = []
        for begin in range(0, len(sources), self.batch):
            part = list(sources[begin : begin + self.batch])
            try:
                found = self.call(part)
            except Exception as error:
                raise VictimError(f"{self.name} failed on {len(part)} sources: {plain(error)[:200]}") from error
            strings = (
                isinstance(found, Sequence) and not isinstance(found, str) and all(isinstance(t, str) for t in found)
            )
            if not strings or len(found) != len(part):
                given = "None" if found is None else f"a {type(found).__name__}"
                answer = _count(len(found), "string") if strings else given
                raise VictimError(
                    f"{self.name} answered {answer} to {_count(len(part), 'sentence')}; expected a list of "
                    f"{_count(len(part), 'string')}"
                )
            out += found
        return out

    def too_long(self, source: str) -> str:
        del source
        return ""

    def spells(self, keyword: str) -> bool:
        return bool(keyword)

    def hints(self, asked: Sequence[Hint]) -> list[Floats]:
        raise VictimError(f"{self.name} is a function of texts alone and gives no probabilities, asked {len(asked)}")

    def states(self, sources: Sequence[str]) -> list[Floats]:
        raise VictimError(f"{self.name} is a function of texts alone and shows no states, asked {len(sources)}")


def load(spec: str | os.PathLike[str], *, device: str = "cpu", beam: int = 5) -> Translator:
    """Load a translator by folder (ours or transformers'), `module:function`, or hub name."""
    if beam < 1:
        raise SettingError(f"--beam must be 1 or more, got {beam}")
    name = os.fspath(spec)
    path = Path(name).expanduser()
    if path.is_dir():
        from malaprop.features.translation.models import checkpoint

        if checkpoint.is_translator(path):
            return own(path, device=device, beam=beam)
        if (path / "config.json").is_file():
            from malaprop.features.translation.models.transformers_victim import load_seq2seq

            return load_seq2seq(path, device=device, beam=beam)
        checkpoint.read_card(path)  # says what is missing
    if _REFERENCE.fullmatch(name) and not name.startswith("hub:"):
        from malaprop.frame.runs.load_victim import resolve

        return wrap(resolve(name), name=name)
    if name.startswith("hub:") or ("/" in name and not name.startswith((".", "/", "~"))):
        from malaprop.features.translation.models.transformers_victim import load_seq2seq

        return load_seq2seq(name.removeprefix("hub:"), device=device, beam=beam)
    raise VictimError(
        f"no translation model at {name!r}; expected a folder written by malaprop train nmt-lstm or by transformers, "
        "module:function (a list of sources to a list of translations), or hub:NAME"
    )


def wrap(thing: Any, *, name: str | None = None) -> Translator:
    """Wrap a function or an object with `translate` as a translator; a translator is returned unchanged."""
    if all(hasattr(thing, member) for member in ("translate", "hints", "guides", "spells")):
        made: Translator = thing
        return made
    call = getattr(thing, "translate", thing)
    if not callable(call) or isinstance(thing, type):
        raise VictimError(f"{name or thing!r} is not a function from a list of sources to a list of translations")
    return FunctionTranslator(call=call, name=name or str(getattr(call, "__name__", type(thing).__name__)))


def own(folder: Path, *, device: str = "cpu", beam: int = 5) -> OwnTranslator:
    """Load a translator from a folder that `malaprop train nmt-...` wrote."""
    import torch

    from malaprop.features.translation.models import checkpoint
    from malaprop.features.translation.models.guide import Guide
    from malaprop.features.translation.models.subwords import BOS

    card, model, subwords, words = checkpoint.load(folder)
    where = torch.device(device)
    model.to(where)
    guide = Guide(
        network=model,  # type: ignore[arg-type]
        device=where,
        source=subwords.ids,
        target=lambda text: subwords.ids(text)[:-1],
        word=subwords.word,
        within=subwords.within,
        head=(BOS,),
        limit=int(card.shape["limit"]),
        batch=_GUIDED.get(where.type, 8192),
    )
    return OwnTranslator(
        name=card.name,
        fingerprint=checkpoint.fingerprint(folder),
        words=words,
        model=model,
        subwords=subwords,
        guide=guide,
        beam=beam,
    )
