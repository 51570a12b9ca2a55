"""`Prompting` holds the options for victims that are language models: prompt, worked examples, label words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from malaprop.core.errors import SettingError
from malaprop.frame.study.settings import opt

if TYPE_CHECKING:
    from malaprop.attacks.attack import Attack
    from malaprop.core.example import Example
    from malaprop.data.base import Examples
    from malaprop.frame.study.selection import Selection

_NAMED = re.compile(r"(?:^|\()(?:causal|openai):")  # alone, or behind a defence


def names_language_model(victim: Any) -> bool:
    """Return whether a victim's name is a language model with a prompt, also behind a defence."""
    return isinstance(victim, str) and _NAMED.search(victim) is not None


def split_sides(fields: str | None) -> tuple[str | None, bool, bool]:
    """Split --fields into the fields that may change, whether texts are attacked, and whether the prompt is."""
    names = [name.strip() for name in (fields or "").split(",") if name.strip()]
    rest = [name for name in names if name != "prompt"]
    prompt = len(rest) < len(names)
    return ",".join(rest) or None, bool(rest) or not prompt, prompt


def on_prompt(attack: Attack, panel: int) -> Attack:
    """Return the attack on the prompt's instruction instead of the texts, judged by a panel of texts."""
    from malaprop.attacks.attack import Together

    return replace(attack, name=f"prompt:{attack.name}", together=Together(side="prompt", panel=panel))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompting:
    """How the prompt of a language model is made; labels and worked examples come from the data."""

    prompt: str | None = opt(
        None,
        "The prompt of a language model, or its file. With {text} (or {premise} and {hypothesis}) where the text "
        "belongs; {labels} stands for the label words. For causal: and openai: victims.",
    )
    shots: int = opt(
        0,
        "How many worked examples the prompt shows before the text. They are drawn from the training part by the seed. "
        "For causal: and openai: victims.",
        min=0,
    )
    label_words: tuple[str, ...] = opt(
        (),
        "Words with which the model answers, one for each label, in the labels' order, separated by commas. Default: "
        "the labels' names. For causal: and openai: victims.",
    )

    panel: int = opt(
        32,
        "With --fields prompt: how many training texts a change of the prompt is judged by.",
        min=1,
    )

    @property
    def given(self) -> bool:
        return self.prompt is not None or self.shots > 0 or bool(self.label_words)

    def check(self, victims: Sequence[Any], fields: str | None) -> None:
        """Raise, before data is read, for options that no victim uses and for a prompt that cannot be used."""
        others = [one for one in victims if isinstance(one, str) and not names_language_model(one)]
        if split_sides(fields)[2] and others:
            raise SettingError(f"{others[0]} has no prompt; --fields prompt is for causal: and openai: victims")
        if self.given and not any(map(names_language_model, victims)):
            shown = ", ".join(str(getattr(one, "name", one)) for one in victims)[:60]
            raise SettingError(f"--prompt, --shots and --label-words are for causal: and openai: victims; got {shown}")
        if self.prompt is not None:
            from malaprop.models.llm.template import read_prompt

            read_prompt(self.prompt)

    def equip(self, victim: Any, texts: Selection, examples: Examples) -> Any:
        """Return a language model with its prompt, labels and worked examples; other victims are returned unchanged."""
        if not names_language_model(victim):
            return victim
        from malaprop.frame.runs.victims import Configured

        options: dict[str, Any] = {}
        if "#" not in victim or not re.search(r"[#:&]labels=", victim):
            options["labels"] = _name_labels(examples)
        if self.prompt is not None:
            options["prompt"] = self.prompt
        if self.label_words:
            options["label_words"] = self.label_words
        if len(next(iter(examples)).fields) > 1:
            options["pairs"] = True
        if self.shots:
            options["examples"] = draw_shots(texts, examples, self.shots)
        return Configured(victim, options)


def _name_labels(examples: Examples) -> tuple[str, ...]:
    from malaprop.data.matching import are_numbers

    if not examples.labels or are_numbers(examples.labels):
        many = ", ".join(examples.labels) or "nothing"
        raise SettingError(
            f"{examples.name} calls its labels {many}, which tells a language model nothing; name them in their order, "
            "as --labels negative,positive"
        )
    return tuple(examples.labels)


def draw_shots(texts: Selection, examples: Examples, count: int) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Sample worked examples from the training part by the seed, one label after the other."""
    from malaprop.data.base import draw

    if not isinstance(texts.data, str):
        raise SettingError("--shots are drawn from the training part of a dataset or file; values of Python have none")
    attacked = {example.id for example in examples} if texts.is_file else frozenset()
    part = replace(texts, split="train", n=0, fields=None).whole()
    pool: Mapping[int, list[Example]] = {label: [] for label in range(len(part.labels))}
    for example in sorted(part, key=lambda one: draw(texts.seed, one.id)):
        if example.id not in attacked and 0 <= example.label < len(part.labels):
            pool[example.label].append(example)
    lines = [line for line in pool.values() if line]
    turns = [line[at] for at in range(max(map(len, lines), default=0)) for line in lines if at < len(line)][:count]
    if len(turns) < count:
        raise SettingError(f"--shots {count} are more than the {len(turns)} examples of the training part")
    return tuple((tuple(one.fields.values()), part.labels[one.label]) for one in turns)
