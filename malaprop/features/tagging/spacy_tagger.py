"""The entity recogniser of a spaCy pipeline as a victim, with a score for every tag of every token."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from malaprop.core.errors import VictimError, plain
from malaprop.core.score import Floats
from malaprop.features.tagging.entities import OUTSIDE, split_tag, tags_of

ASSET = "en_core_web_md"  # comes as the asset `ner`
_ROUNDING = 1e-4  # between batches of sentences; a success is confirmed by the plain pipeline


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SpacyTagger:
    """A pipeline with a transition-based entity recogniser.

    The recogniser moves through a sentence token by token, and each move begins, continues or ends an entity, or steps
    over a token. So the shares of the moves at a token are scores of its tags, given the moves before it.
    """

    model: Any  # a spaCy pipeline
    name: str
    fingerprint: str = ""
    rounding: float = field(default=_ROUNDING, init=False)
    tags: tuple[str, ...]
    fold: Floats  # [move, tag]

    def scores(self, sentences: Sequence[Sequence[str]]) -> list[Floats]:
        from spacy.tokens import Doc

        recogniser = self.model.get_pipe("ner")
        documents = [Doc(self.model.vocab, words=list(tokens)) for tokens in sentences]
        moves = _follow(recogniser, documents)
        return [self._to_tags(row, document) for row, document in zip(moves, documents, strict=True)]

    def _to_tags(self, moves: Floats, document: Any) -> Floats:
        """Return the shares of the tags; the tag that the recogniser gave, which must be a valid move, is the first."""
        shares = np.exp(moves - moves.max(1, keepdims=True))
        scores = np.asarray((shares / shares.sum(1, keepdims=True)) @ self.fold, np.float32)
        here, given = np.arange(len(document)), [self.tags.index(_tag(token)) for token in document]
        top = scores.argmax(1)
        scores[here, top], scores[here, given] = scores[here, given], scores[here, top]
        return scores

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        from spacy.tokens import Doc

        documents = (self.model(Doc(self.model.vocab, words=list(tokens))) for tokens in sentences)
        return [[_tag(token) for token in document] for document in documents]


def _tag(token: Any) -> str:
    return OUTSIDE if token.ent_iob_ in ("O", "") else f"{token.ent_iob_}-{token.ent_type_}"


def _follow(recogniser: Any, documents: Sequence[Any]) -> list[Floats]:
    """Return the scores [token, move] of the moves that the recogniser takes, and set the entities of the documents."""
    step = recogniser.model.predict(documents)
    states = recogniser.moves.init_batch(documents)
    out = [np.zeros((len(document), recogniser.moves.n_moves), np.float32) for document in documents]
    live = [i for i, state in enumerate(states) if not state.is_final()]
    place = 0
    while live:
        batch = [states[i] for i in live]
        scores = step.predict(batch)
        for i, row in zip(live, scores, strict=True):
            out[i][place] = row
        recogniser.transition_states(batch, scores)
        live = [i for i in live if not states[i].is_final()]
        place += 1
    recogniser.set_annotations(documents, states)
    return out


def load_spacy(name: str) -> SpacyTagger:
    """Load a pipeline by folder or the name of an installed package; en_core_web_md comes as an asset."""
    try:
        import spacy
    except ImportError:
        raise VictimError(f"spacy:{name} needs spaCy; install it with: pip install 'malaprop[lexicon]'") from None
    place: str | Path = name
    if name == ASSET:
        from malaprop.assets import store

        place = store.locate("ner")
    try:
        others = _others(Path(place))
        model = spacy.load(place, exclude=others)
    except Exception as error:  # noqa: BLE001 - the library raises errors of many kinds
        raise VictimError(f"spacy:{name} cannot be loaded: {plain(error)[:200]}") from None
    if "ner" not in model.pipe_names:
        raise VictimError(f"spacy:{name} has no entity recogniser (`ner`); it has {', '.join(model.pipe_names)}")
    return wrap_spacy(model, name=Path(name).name)


def _others(folder: Path) -> list[str]:
    """Return the parts of a pipeline's folder that tagging entities does not need, or whose files are not there."""
    if not (folder / "meta.json").is_file():
        return []
    components = json.loads((folder / "meta.json").read_text(encoding="utf-8")).get("components", [])
    config = (folder / "config.cfg").read_text(encoding="utf-8")
    needed = (
        {"ner", "tok2vec", "transformer"}
        if "[components.ner.model.tok2vec]" in config and _listens(config)
        else {"ner"}
    )
    return [name for name in components if name not in needed]


def _listens(config: str) -> bool:
    """Whether the recogniser reads the vectors of another part of the pipeline."""
    part = config.partition("[components.ner.model.tok2vec]")[2].partition("\n[")[0]
    return "Listener" in part


def wrap_spacy(model: Any, *, name: str) -> SpacyTagger:
    """Wrap a loaded pipeline that has an entity recogniser."""
    recogniser = model.get_pipe("ner")
    if not hasattr(recogniser, "moves"):
        raise VictimError(f"spacy:{name}: its recogniser is not transition-based; wrap it as module:function")
    moves = [recogniser.moves.get_class_name(i) for i in range(recogniser.moves.n_moves)]
    tags = tags_of(sorted(recogniser.labels))
    fold = np.zeros((len(moves), len(tags)), np.float32)
    for row, move in enumerate(moves):
        prefix, kind = split_tag(move)
        at = f"{prefix}-{kind}"
        fold[row, tags.index(at) if at in tags else 0] = 1
    mark = f"{model.meta.get('name', '')} {model.meta.get('version', '')}".strip()
    return SpacyTagger(model=model, name=name, fingerprint=mark, tags=tags, fold=fold)
