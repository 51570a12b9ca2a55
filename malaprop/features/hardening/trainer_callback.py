"""Adversarial examples for the Trainer of transformers: a dataset, and a callback that renews it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from malaprop.core.errors import SettingError, VictimError
from malaprop.core.example import PAIR
from malaprop.core.seeds import generator
from malaprop.core.victim import Fields
from malaprop.features.hardening.key_star import mistype

Texts = Sequence[str] | Sequence[tuple[str, ...]]


class AdversarialSet:
    """Training texts followed by changed copies of a share of them, drawn and generated again at every epoch.

    Give it as `train_dataset` and its `callback` among the `callbacks`. With `method="attack"` the copies are what a
    recipe makes of the texts against the model as it then is; where no label falls the strongest attempt is taken.
    With `method="typos"` a share `r` of their characters is changed at random, which asks the model nothing. Items are
    rows of token ids with `labels`, as a collator that pads (`DataCollatorWithPadding`) wants them.
    """

    def __init__(  # noqa: PLR0913 - users set them by name
        self,
        texts: Texts,
        labels: Sequence[int],
        tokenizer: Any,
        *,
        method: Literal["attack", "typos"] = "attack",
        recipe: str = "deepwordbug",
        share: float = 0.25,
        r: float = 0.1,
        budget: int | None = 200,
        max_length: int | None = None,
        seed: int = 0,
    ) -> None:
        if len(texts) != len(labels) or not len(texts):
            raise SettingError(f"give as many labels as texts, at least one; got {len(labels)} and {len(texts)}")
        if method not in ("attack", "typos"):
            raise SettingError(f"method must be attack or typos, got {method!r}")
        if not 0 < share <= 1 or not 0 < r <= 1:
            raise SettingError(f"share and r lie above 0 and up to 1, got {share} and {r}")
        self.texts: list[Fields] = [(text,) if isinstance(text, str) else tuple(text) for text in texts]
        self.labels = [int(label) for label in labels]
        self.tokenizer, self.method, self.recipe = tokenizer, method, recipe
        self.r, self.budget, self.seed = r, budget, seed
        self.max_length = max_length
        self.extra = max(1, round(share * len(self.texts)))
        self.found = 0  # copies of the last epoch on which the attack succeeded
        self._epoch = 0
        self._chosen, self._copies = self._draw(), list[Fields]()
        self._copies = self._mistype()

    def __len__(self) -> int:
        return len(self.texts) + self.extra

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(index)
        own = index < len(self.texts)
        row = index if own else self._chosen[index - len(self.texts)]
        fields = self.texts[row] if own else self._copies[index - len(self.texts)]
        made: Mapping[str, Any] = self.tokenizer(*fields, truncation=True, max_length=self.max_length)
        return {**made, "labels": self.labels[row]}

    @property
    def callback(self) -> Any:
        """Return a callback that renews the copies when an epoch begins."""
        try:
            from transformers import TrainerCallback
        except ImportError:
            raise VictimError("training with Trainer needs the transformers library; install malaprop[hf]") from None
        own = self

        class Renewing(TrainerCallback):  # type: ignore[misc]
            """Renews the copies with the current model at the beginning of an epoch."""

            def on_epoch_begin(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:  # noqa: ARG002
                own.renew(model)

        return Renewing()

    def renew(self, model: Any) -> None:
        """Draw other texts and change them, by an attack on this model where the method is attack."""
        self._epoch += 1
        self._chosen = self._draw()
        self._copies = self._mistype() if self.method == "typos" else self._attack(model)

    def _draw(self) -> list[int]:
        rng = generator(self.seed, "adversarial", str(self._epoch))
        return [int(i) for i in rng.permutation(len(self.texts))[: self.extra]]

    def _mistype(self) -> list[Fields]:
        return [mistype(self.texts[row], self.r, self._rng(row)) for row in self._chosen]

    def _rng(self, row: int) -> np.random.Generator:
        return generator(self.seed, "adversarial", str(self._epoch), str(row))

    def _attack(self, model: Any) -> list[Fields]:
        from malaprop.core.example import Example
        from malaprop.frame.runs.make_attack import attack
        from malaprop.frame.runs.victims import victim

        was = model.training
        try:
            asked = victim(model, self.tokenizer, device=str(model.device), precision="fp32")
            names = [PAIR if len(self.texts[row]) == len(PAIR) else ("text",) for row in self._chosen]
            examples = [
                Example(str(row), dict(zip(name, self.texts[row], strict=True)), self.labels[row], name[-1:])
                for row, name in zip(self._chosen, names, strict=True)
            ]
            outcomes = attack(self.recipe, asked, examples, seed=self.seed, budget=self.budget)
        finally:
            model.train(was)
        self.found = sum(outcome.status == "success" for outcome in outcomes)
        return [
            tuple(outcome.adversarial.fields.values()) if outcome.adversarial is not None else self.texts[row]
            for row, outcome in zip(self._chosen, outcomes, strict=True)
        ]
