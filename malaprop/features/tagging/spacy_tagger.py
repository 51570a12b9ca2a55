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
from malaprop.core.text import Ints
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
        moves = _follow(recogniser, documents, sentences)
        given = np.concatenate([_read_tags(document, self.tags) for document in documents])
        scores = self._to_tags(np.concatenate(moves), given)
        return np.split(scores, np.cumsum([len(document) for document in documents])[:-1])

    def _to_tags(self, moves: Floats, given: Ints) -> Floats:
        """Return the shares of the tags; the tag that the recogniser gave, which must be a valid move, is the first."""
        shares = np.exp(moves - moves.max(1, keepdims=True))
        scores = np.asarray((shares / shares.sum(1, keepdims=True)) @ self.fold, np.float32)
        here, top = np.arange(len(given)), scores.argmax(1)
        scores[here, top], scores[here, given] = scores[here, given], scores[here, top]
        return scores

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        from spacy.tokens import Doc

        documents = (self.model(Doc(self.model.vocab, words=list(tokens))) for tokens in sentences)
        return [[_tag(token) for token in document] for document in documents]


def _tag(token: Any) -> str:
    return OUTSIDE if token.ent_iob_ in ("O", "") else f"{token.ent_iob_}-{token.ent_type_}"


def _read_tags(document: Any, tags: Sequence[str]) -> Ints:
    """Return the numbers of a document's tags."""
    strings, prefixes = document.vocab.strings, ("", "I", "", "B")  # spaCy's numbers of I, O and B are 1 to 3
    both = document.to_array(["ENT_IOB", "ENT_TYPE"])
    found = {
        (iob, kind): tags.index(f"{prefixes[iob]}-{strings[kind]}" if prefixes[iob] else OUTSIDE)
        for iob, kind in set(map(tuple, both.tolist()))
    }
    return np.asarray([found[iob, kind] for iob, kind in both.tolist()], np.int64)


def _follow(recogniser: Any, documents: Sequence[Any], sentences: Sequence[Sequence[str]]) -> list[Floats]:
    """Return the scores [token, move] of the moves that the recogniser takes, and set the entities of the documents.

    Each move takes in one token.
    """
    lengths = np.asarray([len(document) for document in documents])
    order = np.argsort(-lengths, kind="stable")  # the longest first, so that those that go on are the first few
    step = _begin(recogniser.model, documents, sentences)
    states = recogniser.moves.init_batch(documents)
    batch = [states[i] for i in order.tolist()]
    blocks: list[Floats] = []  # by place
    for place in range(lengths.max(initial=0)):
        batch = batch[: int((lengths > place).sum())]
        blocks.append(step.predict(batch))
        recogniser.transition_states(batch, blocks[-1])
    recogniser.set_annotations(documents, states)
    begins = np.cumsum([0, *map(len, blocks)])
    rank = np.argsort(order)
    scores = np.concatenate([*blocks, np.empty((0, recogniser.moves.n_moves), np.float32)])
    return [scores[begins[:length] + rank[i]] for i, length in enumerate(lengths.tolist())]


def _begin(model: Any, documents: Sequence[Any], sentences: Sequence[Sequence[str]]) -> Any:
    """Return spaCy's model of the moves for these documents, with each window of words encoded once."""
    from spacy.ml.parser_model import ParserStepModel
    from thinc.api import Model

    reader, lower, upper = model.layers
    if [layer.name for layer in _windows(reader)] != ["expand_window", "maxout>>layernorm>>dropout"] * _DEPTH:
        return model.predict(documents)

    def forward(_: Any, given: Sequence[Any], is_train: bool) -> tuple[Floats, Any]:
        del is_train
        vectors = _encode(reader, given[0].vocab, sentences)
        return reader.layers[-1].predict(vectors), lambda gradient: gradient

    attributes = {name: model.attrs[name] for name in ("has_upper", "unseen_classes")}
    return ParserStepModel(documents, [Model("encode windows", forward), lower, upper], train=False, **attributes)


_DEPTH = 4  # layers of the encoder, each of which sees one word further


def _windows(reader: Any) -> list[Any]:
    """Return the parts of the layers of spaCy's usual encoder of words in windows; nothing for another encoder."""
    encoder = reader.layers[0]
    if [part.name.partition("(")[0] for part in encoder.layers[1:]] != ["with_array"]:
        return []
    return [part for layer in encoder.layers[1].layers[0].layers for inner in layer.layers for part in inner.layers]


def _encode(reader: Any, vocabulary: Any, sentences: Sequence[Sequence[str]]) -> Floats:
    """Return the vectors of all words [word, dim] as the encoder computes them, equal windows once.

    The sentences of an attack differ in few words, so most of their windows are equal.
    """
    from spacy.tokens import Doc

    words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    number = {word: at for at, word in enumerate(words, 1)}
    (vectors,) = reader.layers[0].layers[0].predict([Doc(vocabulary, words=words)])
    vectors = np.concatenate([np.zeros((1, vectors.shape[1]), np.float32), vectors])
    pad = [0] * _DEPTH  # rows of zeros between sentences, as the encoder has them
    ids = np.asarray([i for sentence in sentences for i in (*pad, *map(number.__getitem__, sentence))] + pad)
    inside = ids > 0
    parts = _windows(reader)
    for apply in parts[1::2]:
        left, right = np.roll(ids, 1), np.roll(ids, -1)
        many = len(vectors)
        windows, ids = np.unique((left * many + ids) * many + right, return_inverse=True)
        own = windows // many % many
        three = np.concatenate([vectors[windows // many**2], vectors[own], vectors[windows % many]], axis=1)
        vectors = vectors[own] + apply.predict(three)
    return np.asarray(vectors[ids[inside]], np.float32)


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
        if "[E050]" in str(error):
            raise VictimError(f"no spaCy pipeline {name!r} is installed; the asset is spacy:{ASSET}") from None
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
