"""Asking: how a language model is asked for a label, whatever runs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, Literal

from malaprop.core.errors import SettingError
from malaprop.models.llm.template import PAIR_PROMPT, TEXT_PROMPT, Shot, Template, read_prompt

CHAT = ("auto", "no")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The prompt, the labels and their words, and worked examples, checked."""

    prompt: str = ""  # a file, or a text with {text}; empty: a plain question
    labels: tuple[str, ...] = ()
    label_words: tuple[str, ...] = ()  # what stands for the labels in the answer; empty: their names
    chat: Literal["auto", "no"] = "auto"  # no: the prompt as it is, though the model has a template for chats
    examples: tuple[tuple[Any, str], ...] = ()  # worked ones: a text (or a tuple of fields) and its label
    share: Literal["yes", "no"] = "yes"  # no: every prompt is read whole, to see what sharing saves
    pairs: bool = False  # whether texts are a premise and a hypothesis, where no prompt says so

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(map(str, self.labels)))
        object.__setattr__(self, "label_words", tuple(map(str, self.label_words)))
        if len(self.labels) < 2 or len({name.casefold() for name in self.labels}) < len(self.labels):
            got = ", ".join(self.labels) or "none"
            raise SettingError(
                f"a language model wants at least two labels that differ, as --labels negative,positive; got {got}"
            )
        if self.label_words and len(self.label_words) != len(self.labels):
            raise SettingError(
                f"--label-words names {len(self.label_words)} words, the labels are {len(self.labels)} "
                f"({', '.join(self.labels)}); give one word a label, in their order"
            )
        if any(not word.strip() for word in self.words):
            raise SettingError("a label word is empty; give one word a label with --label-words")
        if self.chat not in CHAT:
            raise SettingError(f"chat is auto or no, got {self.chat!r}")
        assert self.template

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word.strip() for word in self.label_words or self.labels)

    @property
    def template(self) -> Template:
        prompt = read_prompt(self.prompt) if self.prompt else PAIR_PROMPT if self.pairs else TEXT_PROMPT
        return Template(prompt=prompt, words=self.words, shots=tuple(self._shots()))

    @property
    def mark(self) -> str:
        """Eight digits of all that changes an answer."""
        made = self.template
        whole = "\x1f".join([made.prompt, *made.words, *self.labels, self.chat, *map(repr, made.shots)])
        return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()

    def _shots(self) -> Sequence[Shot]:
        known = {name.casefold(): word for name, word in zip(self.labels, self.words, strict=True)}
        out = []
        for text, label in self.examples:
            if (word := known.get(str(label).casefold())) is None:
                raise SettingError(f"a worked example has the label {label!r}; the labels are {', '.join(self.labels)}")
            out.append(Shot((text,) if isinstance(text, str) else tuple(text), word))
        return out


def split_asking(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of `Asking`, and all others."""
    own = {one.name for one in fields(Asking)}
    mine = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items() if name in own}
    return mine, {name: value for name, value in options.items() if name not in own}
