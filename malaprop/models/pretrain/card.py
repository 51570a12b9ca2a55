"""What a pre-trained encoder says of itself, and the folder that it is written to."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from malaprop.assets import store
from malaprop.core.errors import AssetError, SettingError
from malaprop.models import checkpoint

FORMAT = 1
CARD, README = "pretrained.json", "README.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pretrained:
    """`about` is one sentence for the reader; `shape` what the network is made with; `start` the weights before."""

    kind: str
    about: str
    data: str
    data_fingerprint: str
    seed: int
    settings: dict[str, Any]
    shape: dict[str, Any]
    start: str | None
    figures: dict[str, float]
    format: int = FORMAT


def write_card(folder: Path, card: Pretrained) -> None:
    """The card as JSON, and as a page to read."""
    (folder / CARD).write_text(json.dumps(asdict(card), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / README).write_text(_page(card), encoding="utf-8")


def _page(card: Pretrained) -> str:
    figures = "".join(f"| {name.replace('_', ' ')} | {value:,} |\n" for name, value in card.figures.items())
    settings = ", ".join(f"{name} {value}" for name, value in card.settings.items())
    return (
        f"# {card.kind}\n\n{card.about}\n\n"
        f"Text: `{card.data}` (fingerprint {card.data_fingerprint}), seed {card.seed}. Started from: "
        f"{card.start or 'random weights'}.\nSettings: {settings}.\n\n"
        f"| figure | value |\n| --- | --- |\n{figures}\n"
        "Perplexities and accuracies are on texts held out of the training; the unigram perplexity is that of a model "
        "which knows\nhow frequent each token is and nothing else. Made with `malaprop pretrain` to stand under models "
        "that are attacked: it was\nnot checked for any other use.\n"
    )


def read_card(folder: Path) -> Pretrained:
    """What a folder says of itself; one of another version or cut short says so."""
    try:
        raw = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except OSError:
        raise AssetError(f"{folder} holds no pre-trained encoder; make one with: malaprop pretrain") from None
    except ValueError as error:
        raise AssetError(f"{folder / CARD} is damaged: {error}; pre-train again") from None
    if not isinstance(raw, Mapping) or raw.get("format") != FORMAT:
        found = raw.get("format") if isinstance(raw, Mapping) else "none"
        raise AssetError(f"{folder} has format {found}, this version reads {FORMAT}; pre-train again")
    names = {field.name for field in fields(Pretrained)}
    if set(raw) != names:
        odd = ", ".join(sorted(names ^ set(raw)))
        raise AssetError(f"{folder / CARD} is damaged: missing or unknown entries ({odd}); pre-train again")
    return Pretrained(**raw)


def home(kind: str) -> Path:
    """Where an encoder of a kind lies when no folder is named."""
    return store.cache_root() / "pretrained" / kind


def found(kind: str) -> Path | None:
    """The encoder of a kind that was pre-trained last without naming a folder, if any."""
    folder = home(kind)
    return folder if (folder / CARD).is_file() else None


def check_target(target: Path) -> None:
    """Refuses a folder that holds anything but an earlier encoder, before work is put in."""
    if target.exists() and not _earlier(target) and not (target.is_dir() and not any(target.iterdir())):
        raise SettingError(f"{target} is there and is no pre-trained encoder; name another folder")


def _earlier(target: Path) -> bool:
    return (target / CARD).is_file()


@contextmanager
def appearing(target: Path) -> Iterator[Path]:
    """A folder to fill, which becomes `target` at the end of the block, in the place of an earlier encoder."""
    check_target(target)
    fresh = target.with_name(f".{target.name}.fresh")
    if fresh.exists():
        shutil.rmtree(fresh)
    with checkpoint.appearing(fresh) as made:
        yield made
    if target.exists():
        old = target.with_name(f".{target.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        target.rename(old)
        fresh.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        fresh.rename(target)
