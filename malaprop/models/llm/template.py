"""The prompt around a text: its settings, its worked examples, as plain text or as the turns of a chat."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.example import PAIR
from malaprop.core.victim import Fields

ONE = ("text",)
_NAMES = (*ONE, *PAIR)
_HOLE = re.compile(r"\{(text|premise|hypothesis|labels)\}")
_MARKS = {name: chr(0xF8F0 + at) for at, name in enumerate(_NAMES)}  # of the private use area: no text of a prompt
_MARK = re.compile("[" + "".join(_MARKS.values()) + "]")
_LONGEST = 100_000  # characters of a prompt

TEXT_PROMPT = "Classify the text. Answer with one of these words: {labels}.\n\nText: {text}\nAnswer:"
PAIR_PROMPT = (
    "How does the hypothesis relate to the premise? Answer with one of these words: {labels}.\n\n"
    "Premise: {premise}\nHypothesis: {hypothesis}\nAnswer:"
)
Chat = Callable[[Sequence[Mapping[str, str]]], str]  # messages to the text that a model reads


@dataclass(frozen=True, slots=True)
class Shot:
    """A worked example: the fields of a text and the word that answers it."""

    fields: Fields
    word: str


@dataclass(frozen=True, slots=True)
class PromptFrame:
    """The finished text around the fields: literal, field, literal, ...; the model answers behind the last one."""

    literals: tuple[str, ...]
    order: tuple[int, ...]  # which field stands behind each literal but the last
    space: str  # what comes between the prompt and the answer's word

    def fill(self, fields: Fields) -> str:
        """Return the prompt around one text."""
        parts = [self.literals[0]]
        for at, literal in zip(self.order, self.literals[1:], strict=True):
            parts += [fields[at], literal]
        return "".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A prompt with {text}, or {premise} and {hypothesis}; {labels} stands for the allowed words.

    The lines from the first that holds a field on are repeated for each worked example, with its answer.
    """

    prompt: str
    words: tuple[str, ...]
    shots: tuple[Shot, ...] = ()

    def __post_init__(self) -> None:
        check_prompt(self.prompt)
        for shot in self.shots:
            if len(shot.fields) != len(self.fields):
                raise SettingError(
                    f"a worked example has {len(shot.fields)} fields, the prompt needs {len(self.fields)}"
                )

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of the fields, in the order in which a text gives them."""
        return fields_of(self.prompt)

    @property
    def instruction(self) -> str:
        """Return the prompt before the line with the first field; empty where the prompt begins with it."""
        return self.prompt[: self._cut()].rstrip("\n")

    @property
    def instruction_text(self) -> str:
        """Return the instruction with the words of the labels in it."""
        return self._listed(self.instruction)

    def with_instruction(self, instruction: str) -> Template:
        """Return the template with another instruction before the lines that hold the text."""
        rest = self.prompt[len(self.instruction) :]
        return Template(prompt=instruction + rest, words=self.words, shots=self.shots)

    def frame(self, chat: Chat | None = None) -> PromptFrame:
        """Return the whole prompt around the fields, in a chat model's own template where `chat` is given."""
        item = self.prompt[self._cut() :]
        head = self.prompt[: self._cut()]
        if chat is not None:
            return _split(chat(self._turns(self._marked(item))), self.fields, "")
        gap = "" if item.endswith("\n") else " "
        shots = "".join(self._worked(item, shot.fields) + gap + shot.word + "\n\n" for shot in self.shots)
        return _split(self._listed(head) + shots + self._marked(item), self.fields, gap)

    def messages(self, fields: Fields) -> list[dict[str, str]]:
        """Return the turns of a chat that classify one text."""
        return self._turns(self._worked(self.prompt[self._cut() :], fields))

    def _turns(self, last: str) -> list[dict[str, str]]:
        item, before = self.prompt[self._cut() :], self._listed(self.prompt[: self._cut()])
        turns: list[dict[str, str]] = []
        for shot in self.shots:
            turns.append({"role": "user", "content": before + self._worked(item, shot.fields)})
            turns.append({"role": "assistant", "content": shot.word})
            before = ""
        return [*turns, {"role": "user", "content": before + last}]

    def _cut(self) -> int:
        """Return where the line begins that holds the first field."""
        found = next(one for one in _HOLE.finditer(self.prompt) if one[1] != "labels")
        return self.prompt.rfind("\n", 0, found.start()) + 1

    def _listed(self, text: str) -> str:
        return text.replace("{labels}", list_words(self.words))

    def _marked(self, item: str) -> str:
        return _HOLE.sub(lambda found: self._listed(found[0]) if found[1] == "labels" else _MARKS[found[1]], item)

    def _worked(self, item: str, fields: Fields) -> str:
        given = dict(zip(self.fields, fields, strict=True))
        return _HOLE.sub(lambda found: self._listed(found[0]) if found[1] == "labels" else given[found[1]], item)


def list_words(words: Sequence[str]) -> str:
    """Join words as a sentence lists them: negative or positive; World, Sports, Business or Sci/Tech."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def fields_of(prompt: str) -> tuple[str, ...]:
    """Return the fields that a prompt names."""
    named = {found[1] for found in _HOLE.finditer(prompt)}
    return PAIR if named & set(PAIR) else ONE


def check_prompt(prompt: str) -> str:
    """Return the prompt; raise where a text cannot be put into it."""
    named = [found[1] for found in _HOLE.finditer(prompt) if found[1] != "labels"]
    if not named:
        shown = " ".join(prompt.split())[:40]
        raise SettingError(
            f"the prompt ({shown!r}) has no {{text}}: write {{text}} where the text belongs, or {{premise}} and "
            "{hypothesis} for pairs"
        )
    if "text" in named and set(named) & set(PAIR):
        raise SettingError("the prompt has both {text} and fields of a pair; use {text}, or {premise} and {hypothesis}")
    if "text" not in named and (missing := [name for name in PAIR if name not in named]):
        raise SettingError(f"the prompt has no {{{missing[0]}}}; a pair needs {{premise}} and {{hypothesis}}")
    if _MARK.search(prompt):
        raise SettingError("the prompt holds characters of the private use area (U+F8F0 to U+F8F2); leave them out")
    return prompt


def read_prompt(given: str | os.PathLike[str]) -> str:
    """Return a prompt given as a file or as the text itself; a text has {text} in it, or several lines."""
    if isinstance(given, str) and (_HOLE.search(given) or "\n" in given):
        return check_prompt(given)
    path = Path(given).expanduser()
    try:
        if path.stat().st_size > 4 * _LONGEST:
            raise SettingError(f"the prompt {path} is larger than {_LONGEST:,} characters; expected a short text")
        found = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingError(
            f"the prompt {str(given)[:80]!r} is not a readable file ({error.strerror}) and holds no {{text}}; "
            "give a file, or the prompt itself with {text} in it"
        ) from None
    except ValueError:
        raise SettingError(f"the prompt {path} is not text in UTF-8") from None
    return check_prompt(found.removesuffix("\n"))


def check_fields(template: Template, texts: Sequence[Fields], name: str) -> None:
    """Raise on texts with other fields than those of the prompt."""
    wanted = template.fields
    for text in texts:
        if len(text) != len(wanted):
            holes = " and ".join(f"{{{one}}}" for one in wanted)
            has = "a pair of fields" if len(text) == len(PAIR) else f"{len(text)} field{'s' * (len(text) != 1)}"
            raise VictimError(f"the prompt of {name} has {holes}, the text has {has}; change the prompt or the data")


def chat_of(tokenizer: Any) -> Chat | None:
    """Return a function that writes a chat by the tokenizer's template; None where it has no template."""
    if not getattr(tokenizer, "chat_template", None):
        return None

    def write(messages: Sequence[Mapping[str, str]]) -> str:
        try:
            return str(tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True))
        except Exception as error:  # noqa: BLE001 - a template is a program of the model's makers
            reason = " ".join(str(error).split())[:160]
            raise VictimError(
                f"the model's own chat template cannot write the prompt ({reason}); try #chat=no"
            ) from None

    return write


def _split(text: str, fields: tuple[str, ...], space: str) -> PromptFrame:
    """Cut a text at its marks, which stand in the place of fields."""
    places = {_MARKS[name]: at for at, name in enumerate(fields)}
    literals, order, at = [], [], 0
    for found in _MARK.finditer(text):
        literals.append(text[at : found.start()])
        order.append(places[found[0]])
        at = found.end()
    last = text[at:]
    if last.endswith(" "):  # which belongs to the token of the word behind it
        last, space = last.rstrip(" "), " "
    return PromptFrame((*literals, last), tuple(order), space)


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
                f"a language model needs at least two labels that differ, as --labels negative,positive; got {got}"
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
        """Return eight hex digits of all that changes an answer."""
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
    """Split options into those of `Asking` and all others."""
    own = {one.name for one in fields(Asking)}
    mine = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items() if name in own}
    return mine, {name: value for name, value in options.items() if name not in own}
