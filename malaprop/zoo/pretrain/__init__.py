"""Pre-trains small encoders, for where no hub is in reach: the kinds, and where the cache keeps them."""

from __future__ import annotations

from pathlib import Path

from malaprop.assets import store
from malaprop.core.catalogue import Catalogue
from malaprop.training.card import ROLES, holds

KINDS = Catalogue(
    "pretraining",
    {
        "elmo": "malaprop.zoo.pretrain.elmo:ElmoPlan",
        "roberta": "malaprop.zoo.pretrain.masked:roberta",
        "albert": "malaprop.zoo.pretrain.masked:albert",
        "mlm-head": "malaprop.zoo.pretrain.masked:HeadPlan",
    },
)


CARD = ROLES["encoder"].file


def home(kind: str) -> Path:
    """Return the folder of an encoder of a kind where the user names none."""
    return store.cache_root() / "pretrained" / kind


def found(kind: str) -> Path | None:
    """Return the folder of the encoder of a kind that was pre-trained last without naming one, if any."""
    folder = home(kind)
    return folder if holds(folder, "encoder") else None
