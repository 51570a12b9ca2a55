"""Measure a victim around a word and around its adversarial replacement: on neighbours, and on noisy vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from malaprop.attacks.candidates.lookup import recase
from malaprop.core.errors import SettingError
from malaprop.core.score import Floats, winners
from malaprop.core.seeds import generator
from malaprop.core.text import Text, Words
from malaprop.core.victim import Victim
from malaprop.features.defending.evaluation_record import Neighbourhood, NeighboursKept, NeighbourStrip, NoiseField
from malaprop.frame.records.outcome import Outcome
from malaprop.frame.records.summary import Rate
from malaprop.models.gradients.tokens import TokenGradients, pad_rows
from malaprop.papers.firebert.votes import shift_embedding
from malaprop.zoo.gradients.word_sizes import token_gradients

Layout = Literal["pca", "tsne"]


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A word in its text, with the words nearest to it."""

    text: Text
    slot: int
    words: tuple[str, ...]  # itself first

    def texts(self) -> list[Text]:
        return [self.text.put(self.slot, word) for word in self.words]


def spots(outcome: Outcome, near: int) -> tuple[Spot, Spot] | None:
    """Return the first changed word and its replacement, each with its neighbours; None if they have none.

    Neighbours are the nearest by the counter-fitted vectors.
    """
    if outcome.status != "success" or outcome.adversarial is None:
        return None
    table = Words()
    before, after = Text.of(outcome.original.fields, table), Text.of(outcome.adversarial.fields, table)
    if before.slots != after.slots:
        return None
    for slot in after.changed(before).tolist():
        both = tuple(Spot(text, slot, _near(text.strings[slot], near)) for text in (before, after))
        if len(both[0].words) > 1 and len(both[1].words) > 1:
            return both[0], both[1]
    return None


def _near(word: str, count: int) -> tuple[str, ...]:
    from malaprop.assets.vectors import open_neighbours

    found, _ = open_neighbours("counter-fitted").of(word.lower())
    return (word, *(recase(other, word) for other in found[:count]))


def look_around(
    models: dict[str, Victim], outcomes: Iterable[Outcome], *, many: int, layout: Layout, seed: int
) -> tuple[list[NeighboursKept], list[Neighbourhood]]:
    """Return how many neighbours keep the label in each model, and pictures of the closest successes."""
    found = list(outcomes)
    return count_kept_neighbours(models, found), describe_neighbourhoods(
        models, found, many=many, layout=layout, seed=seed
    )


def strips(models: dict[str, Victim], outcome: Outcome, both: tuple[Spot, Spot]) -> tuple[NeighbourStrip, ...]:
    """Return each model's answers with each neighbour in place, for the original word and for the adversarial one."""
    out = []
    for name, victim in models.items():
        for spot, adversarial in zip(both, (False, True), strict=True):
            answers = victim.predict([text.values() for text in spot.texts()])
            out.append(
                NeighbourStrip(
                    model=name,
                    around=spot.words[0],
                    adversarial=adversarial,
                    words=spot.words,
                    labels=tuple(winners(answers).tolist()),
                    scores=tuple(round(float(row[outcome.label]), 4) for row in answers),
                )
            )
    return tuple(out)


def count_kept_neighbours(
    models: dict[str, Victim], outcomes: Iterable[Outcome], *, near: int = 10, most: int = 200
) -> list[NeighboursKept]:
    """Count, by model, the neighbours of both words that keep the true label, over the successes of an attack."""
    found = [(o, both) for o in outcomes if (both := spots(o, near))][:most]
    out = []
    for name, victim in models.items():
        shares = []
        for side in (0, 1):
            texts = [text.values() for _, both in found for text in both[side].texts()[1:]]
            truth = [o.label for o, both in found for _ in both[side].words[1:]]
            given = winners(victim.predict(texts)).tolist() if texts else []
            shares.append(Rate(sum(a == b for a, b in zip(given, truth, strict=True)), len(truth), units=len(found)))
        out.append(NeighboursKept(model=name, original=shares[0], adversarial=shares[1], texts=len(found)))
    return out


def describe_neighbourhoods(
    models: dict[str, Victim],
    outcomes: Iterable[Outcome],
    *,
    many: int = 3,
    near: int = 12,
    noise: float = 0.25,
    points: int = 150,
    layout: Layout = "pca",
    seed: int = 0,
) -> list[Neighbourhood]:
    """Describe the neighbourhoods of the successes with fewest changed words; noise fields if a model has vectors."""
    usable = [(o, both) for o in outcomes if (both := spots(o, near))]
    usable.sort(key=lambda pair: (len(pair[0].edits), pair[0].id))
    out = []
    for outcome, both in usable[:many]:
        assert outcome.adversarial is not None
        out.append(
            Neighbourhood(
                id=outcome.id,
                label=outcome.label,
                original=" / ".join(outcome.original.fields.values()),
                adversarial=" / ".join(outcome.adversarial.fields.values()),
                word=both[0].words[0],
                swapped=both[1].words[0],
                strips=strips(models, outcome, both),
                fields=_fields(models, both, noise, points, layout, seed),
            )
        )
    return out


def _fields(
    models: dict[str, Victim], both: tuple[Spot, Spot], noise: float, points: int, layout: Layout, seed: int
) -> tuple[NoiseField, ...]:
    out = []
    for name, victim in models.items():
        gradients = token_gradients(victim)
        if gradients is None:
            continue
        clouds = [_cloud(gradients, spot, noise, points, seed) for spot in both]
        if any(cloud is None for cloud in clouds):
            continue
        vectors = np.concatenate([cloud[0] for cloud in clouds if cloud])
        labels = [label for cloud in clouds if cloud for label in winners(cloud[1]).tolist()]
        place = project_vectors(vectors, layout, seed)
        made = zip(place.tolist(), labels, [False] * points + [True] * points, strict=True)
        dots = tuple((round(x, 4), round(y, 4), label, ours) for (x, y), label, ours in made)
        out.append(NoiseField(model=name, noise=noise, how=layout, points=dots))
    return tuple(out)


@torch.inference_mode()
def _cloud(
    gradients: TokenGradients, spot: Spot, noise: float, points: int, seed: int
) -> tuple[NDArray[np.float64], Floats] | None:
    """Return noisy vectors of the word's first token and the model's answer to each; None if the word has no token."""
    (laid,) = gradients.layout.lay([spot.text])
    if not laid.size[spot.slot]:
        return None
    ids, lengths = pad_rows([laid.row] * points, gradients.pad, gradients.device)
    at = int(laid.start[spot.slot])
    own = gradients.embedding(ids[:1])[0, at].float().cpu().numpy()
    shift = generator(seed, "cloud", *spot.text.values()).normal(0, noise, (points, len(own)))
    rows = torch.arange(points, device=ids.device)
    moved = torch.from_numpy(shift).float().to(ids.device)
    with shift_embedding(gradients.embedding, (rows, torch.full_like(rows, at)), moved):
        scores = gradients.forward(ids, lengths).float().softmax(-1).cpu().numpy()
    return own[None] + shift, scores


def project_vectors(vectors: NDArray[np.float64], layout: Layout, seed: int) -> NDArray[np.float64]:
    """Project vectors to two dimensions, by their principal components or by t-SNE."""
    if layout == "pca":
        centred = vectors - vectors.mean(0)
        left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
        flat = left[:, :2] * sizes[:2]
        return np.asarray(
            flat * np.where(flat[np.abs(flat).argmax(0), [0, 1]] < 0, -1, 1)
        )  # a sign of its own each run
    if layout != "tsne":
        raise SettingError(f"noisy vectors are laid out by pca or tsne, got {layout!r}")
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise SettingError("t-SNE needs scikit-learn; install malaprop[sklearn], or lay out by pca") from None
    return np.asarray(TSNE(perplexity=min(30, len(vectors) / 4), random_state=seed, init="pca").fit_transform(vectors))
