"""Models that give every label by itself (multi-label), as classifiers of sets of labels or of one label, yes or no.

A sigmoid for each label says that labels are independent, so a set has the product of its labels' probabilities. The
largest of these products is that of the set of labels over 0.5. In logits the product is a sum over the set's labels,
followed by a softmax over all sets: a linear map, which is put into the model's last layer. So accuracy, attacks,
gradients and defences need to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from malaprop.core.catalogue import unknown
from malaprop.core.errors import VictimError
from malaprop.core.score import Floats
from malaprop.models.embeddings import last_linear

MOST = 8  # labels; of more, one is chosen
NONE = "none"  # the set without labels


class LabelView(NamedTuple):
    """The answers expected of a multi-label model: their `names`, and which labels each holds [answer, label]."""

    names: tuple[str, ...]
    holds: Floats


def is_multi_label(config: Any) -> bool:
    return getattr(config, "problem_type", None) == "multi_label_classification"


def view_of(labels: Sequence[str], chosen: str | None, model: str) -> LabelView:
    """Return the view of all sets of the labels, or of one label against its absence."""
    if chosen is not None:
        places = {name.casefold(): place for place, name in enumerate(labels)}
        if chosen.casefold() not in places:
            raise unknown(f"label of {model}", chosen, labels)
        place = places[chosen.casefold()]
        holds = np.zeros((2, len(labels)), np.float32)
        holds[1, place] = 1
        return LabelView((f"not {labels[place]}", labels[place]), holds)
    if len(labels) > MOST:
        raise VictimError(
            f"{model} gives {len(labels)} labels, each by itself, and sets of more than {MOST} are too many to tell "
            f"apart; choose one label, as {model}#label={labels[0]}"
        )
    numbers = np.arange(1 << len(labels))
    holds = ((numbers[:, None] >> np.arange(len(labels))) & 1).astype(np.float32)
    return LabelView(tuple(set_name([labels[i] for i in np.flatnonzero(row).tolist()]) for row in holds), holds)


def set_name(labels: Sequence[str]) -> str:
    """Return a set's name as data write it: its labels in the order of the alphabet, with + between them."""
    return "+".join(sorted(labels)) or NONE


def joint(probabilities: Floats, view: LabelView) -> Floats:
    """Return the probabilities of a view's answers [text, answer] from those of single labels [text, label]."""
    sure = np.clip(np.asarray(probabilities, np.float64), 1e-7, 1 - 1e-7)
    logits = np.log(sure / (1 - sure)) @ view.holds.T.astype(np.float64)
    raised = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True), np.float32)


def by_sets(call: Callable[..., Any], labels: Sequence[str], name: str) -> tuple[Callable[..., Any], LabelView]:
    """Turn a function that gives a probability for each label into one that gives one for each set of labels."""
    view = view_of(labels, None, name)

    def scores(*columns: Any) -> Floats:
        found = np.asarray(call(*columns), np.float32)
        if found.ndim != 2 or found.shape[1] != len(labels) or (found < 0).any() or (found > 1).any():
            raise VictimError(f"{name} must answer each text with {len(labels)} probabilities from 0 to 1")
        return joint(found, view)

    return scores, view


def fold(model: Any, view: LabelView, name: str) -> Any:
    """Return the model with the view in its last layer; the original stays and shares all other weights."""
    last = _last(model)
    place = next((place for place, part in model.named_modules() if part is last), None)
    if last is None or place is None:
        raise VictimError(f"{name} gives several labels and does not end in a linear layer; give it as a function")
    holds = torch.from_numpy(view.holds).to(last.weight.device, last.weight.dtype)
    layer = nn.Linear(last.in_features, len(view.names), bias=last.bias is not None)
    layer.to(last.weight.device, last.weight.dtype)
    with torch.no_grad():
        layer.weight.copy_(holds @ last.weight)
        if last.bias is not None:
            layer.bias.copy_(holds @ last.bias)
    made = _put(model, place.split("."), layer)
    made.config = deepcopy(model.config)
    made.config.problem_type = "single_label_classification"
    made.config.id2label = dict(enumerate(view.names))  # which sets num_labels too
    made.config.label2id = {label: i for i, label in enumerate(view.names)}
    if hasattr(made, "num_labels"):
        made.num_labels = len(view.names)
    _compare(model, made, holds, name)
    return made


def _last(model: Any) -> nn.Linear | None:
    score = getattr(model, "score", None)  # of decoders
    return score if isinstance(score, nn.Linear) else last_linear(model)


def _put(module: Any, path: list[str], layer: nn.Module) -> Any:
    """Copy the module with another part at the path; all parts beside it are shared."""
    made = copy(module)
    made._modules = dict(module._modules)
    made._modules[path[0]] = layer if len(path) == 1 else _put(module._modules[path[0]], path[1:], layer)
    return made


@torch.inference_mode()
def _compare(model: Any, made: Any, holds: torch.Tensor, name: str) -> None:
    """Raise on a model whose answers are not those of its last layer."""
    ids = torch.arange(3, 9, device=model.device)[None] % int(model.config.vocab_size)
    was = model.training
    model.eval(), made.eval()
    inside = torch.ones_like(ids)
    wanted = model(input_ids=ids, attention_mask=inside).logits.float() @ holds.float().T
    found = made(input_ids=ids, attention_mask=inside).logits.float()
    model.train(was)
    if found.shape != wanted.shape or not torch.allclose(found, wanted, atol=1e-3):
        raise VictimError(f"{name} gives several labels and its last layer is not its answer; give it as a function")
