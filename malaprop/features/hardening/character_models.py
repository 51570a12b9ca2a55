"""What training methods that change characters ask of a model that reads them."""

from __future__ import annotations

from jaxtyping import Bool, Float
from torch import Tensor, nn

from malaprop.core.errors import CapabilityError, SettingError
from malaprop.features.hardening.character_batches import Signs
from malaprop.models.tokens.vocab import BETWEEN, OTHER
from malaprop.zoo.blocks.charwords import CharWords
from malaprop.zoo.gradients.characters import symbols


def check_share(r: float) -> None:
    if not 0 < r <= 1:
        raise SettingError(f"--r is a share of the characters above 0 and up to 1, got {r}")


def reads_characters(model: nn.Module) -> CharWords:
    """The part of a model that reads characters."""
    found = getattr(model, "embedding", None)
    if not isinstance(found, CharWords):
        raise CapabilityError(
            "harden hotflip flips characters, and this model reads words or pieces of them; name one that reads "
            "characters (CharCNN-LSTM, LSTM-C-Random-1 ...), or use miyato or blackbox"
        )
    return found


def usable_in(words: CharWords) -> Bool[Tensor, " symbol"]:
    """Signs that may be put in a word and leave it one word, on the device of the model."""
    assert words.vocab is not None
    return symbols(words.vocab).to(words.embedding.weight.device)


def counts(signs: Signs, open_: Bool[Tensor, "batch token"], r: float) -> Float[Tensor, " batch"]:
    """How many characters of each text are its share `r`: those of words that may change."""
    letters = ((signs > BETWEEN) | (signs == OTHER)) & open_[..., None]
    return (letters.flatten(1).sum(1) * r).floor().clamp(min=1)
