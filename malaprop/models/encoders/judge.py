"""The packaged judge of meaning: would a reader say that a changed text has the same meaning and the same label?

An encoder that was trained to tell what a text entails reads the two texts in both orders. A linear head, trained here,
weighs its two vectors together with what differs by words: opposites, numbers, negations, polarity. docs/judge.md says
what it was trained on and how good it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from malaprop.assets import store
from malaprop.core.errors import AssetError
from malaprop.core.judgement import Judgement, MeaningJudge
from malaprop.core.score import Floats
from malaprop.models.encoders.differences import NAMES, describe, has_unlikely_synonym, pair_sentences
from malaprop.models.encoders.entailment import Entailment
from malaprop.models.folder import quietly
from malaprop.models.tokens.batches import Bounds, batches

LIMIT = 256  # tokens of a pair; two stretches of LONGEST words have about half as many
DOUBT = 0.5  # most that a text gets in which a word became one that is no synonym of it in the packaged table
DIGITS = 4  # of a chance: what a batch changes lies far below
_BOUNDS = Bounds(rows=64, tokens=4096, waste=0.05)
_HEAD = ("malaprop.assets", "judge/head.npz")


class Head:
    """The numbers that were trained: a weight for each number of the two vectors and for each lexical number."""

    def __init__(self, path: Path) -> None:
        try:
            with np.load(path, allow_pickle=False) as held:
                self._held = {name: held[name] for name in held.files}
            words = bytes(self._held["words"]).decode("utf-8").split("\n")
            weights = self._held["polarity"].astype(np.float32) * self._held["polarity_scale"]
            names = json.loads(bytes(self._held["names"]))
        except (OSError, ValueError, KeyError) as error:
            raise AssetError(f"{path} cannot be read as a judge's head: {error}") from None
        if tuple(names) != NAMES:
            raise AssetError(f"{path} was made for other lexical numbers than this version's; make it again")
        self.polarity = dict(zip(words, weights.tolist(), strict=True))

    def chance(self, vectors: Floats, lexical: Floats) -> Floats:
        """Return a chance for each pair, of its vectors [pair, both] and its lexical numbers [pair, name]."""
        held = self._held
        seen = np.concatenate([vectors, np.clip(lexical, held["low"], held["high"])], 1, dtype=np.float64)
        logit = ((seen - held["mean"]) / held["scale"]) @ held["weight"].astype(np.float64) + float(held["bias"])
        return np.asarray(1 / (1 + np.exp(-logit)))


class PackagedJudge:
    """Reads pairs of texts in batches; a text of many words is judged by the sentence that kept its meaning least."""

    def __init__(self, folder: Path, head: Head, *, device: str = "cpu", bounds: Bounds = _BOUNDS) -> None:
        try:
            from tokenizers import Tokenizer
            from transformers import AutoModel
        except ImportError:
            raise AssetError("the judge of meaning needs the transformers library; install malaprop[hf]") from None
        self.device, self.head, self.bounds = torch.device(device), head, bounds
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LIMIT)
        with quietly():
            model: Any = AutoModel.from_pretrained(
                folder, dtype=torch.float32, local_files_only=True, trust_remote_code=False, use_safetensors=True
            )
        self.encoder = Entailment.of(model.eval().to(self.device))

    def kept(self, judgements: Sequence[Judgement]) -> list[float]:
        """Return for each pair the chance that meaning and label are kept; equal texts have 1."""
        stretches = [pair_sentences(one.original, one.changed) for one in judgements]
        wanted = list(dict.fromkeys(pair for pairs in stretches for pair in pairs if pair[0] != pair[1]))
        chances = dict(zip(wanted, self._judge(wanted), strict=True)) if wanted else {}
        return [min(chances.get(pair, 1.0) for pair in pairs) for pairs in stretches]

    def _judge(self, pairs: list[tuple[str, str]]) -> list[float]:
        both = self.read([*pairs, *((b, a) for a, b in pairs)])
        vectors = np.concatenate([both[: len(pairs)], both[len(pairs) :]], 1)
        lexical = np.stack([describe(a, b, self.head.polarity) for a, b in pairs])
        chances = self.head.chance(vectors, lexical).round(DIGITS)
        # The head learnt from WordNet's synonyms, and takes some of another sense for synonyms: overall -> boilersuit.
        return [
            min(float(p), DOUBT) if has_unlikely_synonym(*q) else float(p) for p, q in zip(chances, pairs, strict=True)
        ]

    @torch.inference_mode()
    def read(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """Return the encoder's vector of each pair [pair, dim], read in the order given."""
        rows = [one.ids for one in self.tokenizer.encode_batch(list(pairs))]
        out = np.empty((len(rows), self.encoder.dim), np.float32)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        for part in batches(lengths, self.bounds):
            out[part] = self._vectors([rows[i] for i in part.tolist()]).cpu().numpy()
        return out

    def _vectors(self, rows: list[list[int]]) -> Float[Tensor, "batch dim"]:
        ids = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = torch.tensor(row)
        return self.encoder.first(ids.to(self.device))  # padding has the number 0, which no text has


@dataclass(frozen=True, slots=True)
class Reference:
    """A classifier of the same task: `ask` gives probabilities [text, label], `column` finds a label among them.

    The label is given by its name, where it has one, and by its number.
    """

    ask: Callable[[Sequence[tuple[str, ...]]], Floats]
    column: Callable[[str | None, int], int]


class Referred:
    """A judge that also asks classifiers of the same task whether the changed text still has its label.

    A chance is multiplied by the share of the label's probability that the changed text keeps, the mean over the
    references. One that would not give the original its label has no say on it.
    """

    def __init__(self, judge: MeaningJudge, references: Sequence[Reference]) -> None:
        self.judge, self.references = judge, tuple(references)

    def kept(self, judgements: Sequence[Judgement]) -> list[float]:
        """Return the chances of the judge behind it, lowered where the references see the label go."""
        chances = self.judge.kept(judgements)
        known = ((i, one.labelled) for i, one in enumerate(judgements) if one.original != one.changed)
        asked = {i: labelled for i, labelled in known if labelled is not None}
        if not asked:
            return chances
        texts = [text for one in asked.values() for text in (one.original, one.changed)]
        shares = np.full((len(self.references), len(asked)), np.nan)
        for at, reference in enumerate(self.references):
            found = np.asarray(reference.ask(texts), np.float64).reshape(len(asked), 2, -1)
            for row, (i, one) in enumerate(asked.items()):
                before, after = found[row]
                shares[at, row] = _share(before, after, reference.column(judgements[i].label, one.label))
        for i, held in zip(asked, shares.T, strict=True):
            if not np.isnan(held).all():
                chances[i] = round(chances[i] * float(np.nanmean(held)), DIGITS)
        return chances


def _share(before: Floats, after: Floats, label: int) -> float:
    """Return how much of the label's probability is left, at most 1; NaN if the original would not get the label."""
    if not 0 <= label < len(before) or before.argmax() != label or before[label] <= 0:
        return float("nan")
    return float(min(1.0, after[label] / before[label]))


@cache
def _packaged_head() -> Head:
    with as_file(files(_HEAD[0]).joinpath(_HEAD[1])) as path:
        return Head(path)


def open_judge(device: str = "cpu") -> PackagedJudge:
    """Open the packaged judge of meaning."""
    return PackagedJudge(store.locate("entailment"), _packaged_head(), device=device)
