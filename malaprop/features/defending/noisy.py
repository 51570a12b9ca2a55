"""Training on noisy copies: a hook that replaces each text of a batch by a fresh noisy copy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from malaprop.core.seeds import generator
from malaprop.core.text import Words
from malaprop.core.victim import Fields
from malaprop.features.defending.smooth import Noise, cut_text
from malaprop.models.padded_rows import Ragged
from malaprop.models.tokens.vocab import UNKNOWN
from malaprop.training.splits import Splits
from malaprop.zoo.finetune import FineTuning
from malaprop.zoo.train import TrainingJob
from malaprop.zoo.training import Batch, Hooks, Rows

_COPIES, _JUDGED = 5, 5000  # held-out copies that judge an epoch: of each text, and about how many in all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyTraining:
    """A batch hook that replaces each text by a noisy copy; held-out texts are noisy too."""

    job: TrainingJob
    data: Splits
    noise: Noise

    @property
    def hooks(self) -> Hooks:
        return Hooks(batch=self, held_out=self.copy_held_out)

    def __call__(self, batch: Batch) -> Batch:
        rng = generator(int(torch.randint(1 << 62, ())))  # torch draws from the step's own seed here
        texts = [tuple(self.data.train[row].fields.values()) for row in batch.rows.tolist()]
        rows = self.job.rows([self._copy(text, rng) for text in texts])
        sizes = Ragged.of(rows).size
        ids = np.full((len(rows), max(1, int(sizes.max()))), self.job.parts[0].pad)
        for line, row in zip(ids, rows, strict=True):
            line[: len(row)] = row
        device = batch.ids.device
        return Batch(torch.from_numpy(ids).to(device), torch.from_numpy(sizes).to(device), batch.labels, batch.rows)

    def copy_held_out(self, rows: Rows) -> Rows:
        """Return noisy copies of the held-out texts, the same ones after every epoch."""
        texts = self.data.held_out
        times = max(1, min(_COPIES, _JUDGED // max(1, len(texts))))
        rng = generator(0, "held out")
        copies = [self._copy(tuple(text.fields.values()), rng) for text in texts for _ in range(times)]
        return Rows(self.job.rows(copies), [label for label in rows.labels for _ in range(times)], rows.pad)

    def _copy(self, fields: Fields, rng: np.random.Generator) -> Fields:
        return self.noise.draw(cut_text(fields, Words()), 1, unknown_word(self.job), rng)[0].pick(0).values()


def unknown_word(job: TrainingJob) -> str:
    """Return the word that the trained victim will read as unknown."""
    return str(job.tokenizer.unk_token or "[UNK]") if isinstance(job, FineTuning) else UNKNOWN
