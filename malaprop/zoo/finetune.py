"""Fine-tuning of a pre-trained transformer with a classifier on top, in a folder that transformers reads as well."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from malaprop.assets import store
from malaprop.assets.folders import offline
from malaprop.core.errors import VictimError
from malaprop.core.example import Example
from malaprop.core.victim import Fields
from malaprop.models.folder import FINE_TUNED, quietly
from malaprop.models.padded_rows import within
from malaprop.models.scorers.plain import make_forward, second_segment
from malaprop.models.tokens.wordpieces import WordPieces
from malaprop.training.card import OWN, Card, holds, read_card, write_card
from malaprop.training.folder import write_folder
from malaprop.training.seeds import seeded
from malaprop.training.splits import Splits
from malaprop.zoo import names as zoo
from malaprop.zoo import pretrain as pretrained
from malaprop.zoo.names import ZooSpec
from malaprop.zoo.training import Rows


class TransformerClassifier(nn.Module):
    """A transformers classifier as one network of the zoo.

    `separator` is the token behind which the second segment begins; None: the model knows no segments.
    """

    def __init__(self, model: Any, separator: int | None = None) -> None:
        super().__init__()
        self.model = model
        self.separator = separator

    @property
    def embedding(self) -> nn.Module:
        """Return the table of its pieces, before places and segments are added."""
        table: nn.Module = self.model.get_input_embeddings()
        return table

    def forward(self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
        return make_forward(self.model, separator=self.separator)(ids, lengths)

    def from_vectors(
        self, vectors: Float[Tensor, "batch token dim"], ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch label"]:
        """Return logits from embeddings, as `InsightNetwork.from_vectors` does."""
        inside = within(lengths, ids.shape[1]).long()
        more = {} if self.separator is None else {"token_type_ids": second_segment(ids, self.separator) * inside}
        logits: Tensor = self.model(inputs_embeds=vectors, attention_mask=inside, **more).logits
        return logits

    def states(
        self, ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch token dim"], ...]:
        """Return the states of all layers, as `InsightNetwork.states` does; the first with places and segments."""
        inside = within(lengths, ids.shape[1]).long()
        more = {} if self.separator is None else {"token_type_ids": second_segment(ids, self.separator) * inside}
        found = self.model(input_ids=ids, attention_mask=inside, output_hidden_states=True, **more)
        return tuple(state * inside[..., None] for state in found.hidden_states)


_TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
)


# Assets that a model may start from, by name: what each is called, and the model whose training suits it.
PACKAGED = {
    "minilm": ("BERT", "all-MiniLM-L6-v2, six layers of 384 units"),
    "mpnet": ("MPNet", "all-mpnet-base-v2, twelve layers of 768 units"),
}


def source_of(spec: ZooSpec, start: str | None) -> str | Path:
    """Return the folder or hub name that a model starts from."""
    if start is not None and start not in PACKAGED:
        folder = Path(start).expanduser()
        return folder if folder.is_dir() else start.removeprefix("hub:")
    if (packaged := start or spec.start) in PACKAGED:
        return store.locate(packaged)
    if spec.encoder == OWN:
        raise VictimError(f"{spec.name} is a model of your own; say where its folder is with --start")
    kind = FINE_TUNED[spec.encoder]
    if found := pretrained.found(kind):
        return found
    raise VictimError(
        f"{spec.name} starts from pre-trained weights and none are in the cache; run: malaprop pretrain {kind}, or "
        "give a hub name or a folder with --start"
    )


class FineTuning:
    """One transformer on its way from pre-trained weights to a classifier."""

    shape: dict[str, Any] = {}

    def __init__(
        self, spec: ZooSpec, data: Splits, seed: int, start: str | None = None, limit: int | None = None
    ) -> None:
        self.source = source_of(spec, start)
        self.network, self.tokenizer = _loaded(self.source, spec, data.labels, seed, start)
        from malaprop.models.victims.hf import has_segments, places

        self.pieces = WordPieces.of(self.tokenizer.backend_tokenizer)
        self.most = places(self.network, self.tokenizer)
        if spec.encoder != OWN:
            self.most = min(self.most, limit or zoo.limit(spec))
        separator = (
            self.pieces.between[0] if self.pieces.between and has_segments(self.network, self.tokenizer) else None
        )
        self.model: nn.Module = TransformerClassifier(self.network, separator)
        self.parts = [self._rows(part) for part in (data.train, data.held_out, data.test)]
        self.about = self._about(spec, start)

    def _about(self, spec: ZooSpec, start: str | None) -> str:
        if (packaged := start or spec.start) in PACKAGED:
            stands_in = "" if spec.start == packaged == "mpnet" else f"A stand-in for {spec.name}: "
            return f"{stands_in}fine-tuned from the packaged {PACKAGED[packaged][1]}."
        if start is not None:
            return f"{'Trained further' if spec.encoder == OWN else 'Fine-tuned'} from {start}."
        assert isinstance(self.source, Path), "what is pre-trained here lies in a folder"
        return f"Fine-tuned from this: {read_card(self.source, 'encoder').about}"

    def rows(self, texts: Sequence[Fields]) -> Sequence[Sequence[int]]:
        return self.pieces.rows(texts, self.most)

    def _rows(self, examples: Sequence[Example]) -> Rows:
        rows = self.rows([tuple(e.fields.values()) for e in examples])
        return Rows(rows, [e.label for e in examples], int(self.tokenizer.pad_token_id or 0))

    def save(self, folder: Path, card: Card) -> None:
        with write_folder(folder) as made, quietly():
            self.network.save_pretrained(made)
            if isinstance(self.source, Path) and (self.source / "tokenizer.json").is_file():
                for name in _TOKENIZER:
                    if (self.source / name).is_file():
                        (made / name).write_bytes((self.source / name).read_bytes())
            else:
                self.tokenizer.save_pretrained(made)
            write_card(made, card)


def _loaded(source: str | Path, spec: ZooSpec, labels: Sequence[str], seed: int, start: str | None) -> tuple[Any, Any]:
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        raise VictimError(f"{spec.name} needs the transformers library; install malaprop[hf]") from None
    if spec.encoder == OWN:
        return _own(source, labels, seed)
    names = dict(enumerate(labels))
    own = {"trust_remote_code": False, "local_files_only": isinstance(source, Path) or offline()}
    try:
        with seeded(seed), quietly():
            model = AutoModelForSequenceClassification.from_pretrained(
                source,
                num_labels=len(names),
                id2label=names,
                label2id={name: i for i, name in names.items()},
                dtype=torch.float32,
                use_safetensors=True,
                **own,
            )
            tokenizer = AutoTokenizer.from_pretrained(source, **own)
    except Exception as error:  # noqa: BLE001 - the library and the hub's client raise errors of many kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise VictimError(f"{spec.name} cannot start from {source}: {reason}") from None
    kind = str(model.config.model_type)
    if kind != FINE_TUNED[spec.encoder] and start not in PACKAGED:
        raise VictimError(f"{source} is a {kind}, and {spec.name} starts from a {FINE_TUNED[spec.encoder]}")
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise VictimError(f"{source} has no fast tokenizer; start from a folder with tokenizer.json")
    return model, tokenizer


def _own(source: str | Path, labels: Sequence[str], seed: int) -> tuple[Any, Any]:
    """Load a classifier that is trained already, with its head; the head grows where there are more labels."""
    from malaprop.models.classifierfolder import read_classifier

    model, tokenizer = read_classifier(source, ours=isinstance(source, Path) and holds(source, "classifier"))
    if getattr(tokenizer, "backend_tokenizer", None) is None:
        raise VictimError(f"{source} has no fast tokenizer (tokenizer.json); save it with use_fast=True first")
    if getattr(model.config, "problem_type", None) == "multi_label_classification" or model.config.num_labels < 2:
        raise VictimError(f"{source} gives no single label of two or more; such heads cannot be hardened here yet")
    if len(labels) > model.config.num_labels:
        with seeded(seed):
            _widen_head(model, labels)
    return model, tokenizer


def _widen_head(model: Any, labels: Sequence[str]) -> None:
    """Give a classifier further labels behind its own, whose scores keep their order."""
    had = int(model.config.num_labels)
    heads = [
        (name, one) for name, one in model.named_modules() if isinstance(one, nn.Linear) and one.out_features == had
    ]
    if not heads:
        raise VictimError(f"{type(model).__name__} has no last layer with {had} labels, so it cannot get one more")
    name, head = heads[-1]
    wide = nn.Linear(head.in_features, len(labels), bias=head.bias is not None)
    with torch.no_grad():
        wide.weight.mul_(0.1)
        wide.weight[:had] = head.weight
        if head.bias is not None:
            wide.bias.zero_()
            wide.bias[:had] = head.bias
    above, _, own = name.rpartition(".")
    setattr(model.get_submodule(above), own, wide)
    names = dict(enumerate(labels))
    model.config.id2label, model.config.label2id = names, {label: i for i, label in names.items()}
    model.num_labels = model.config.num_labels = len(labels)
