"""Sequence-to-sequence models of the transformers library as translators: Marian, BART, T5 and their like."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from malaprop.assets.folders import offline
from malaprop.core.errors import VictimError
from malaprop.core.score import Floats
from malaprop.features.translation.models.decoding import SourceMemory
from malaprop.features.translation.models.guide import Guide
from malaprop.features.translation.models.translator import Hint
from malaprop.models.folder import quietly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

MOST = 512  # pieces, for models that state no limit


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """The encoder and decoder of a transformers model, with the interface of `Guide`'s network."""

    model: Any  # the library's own class

    def encode(self, ids: Tensor, lengths: Tensor, blank: Tensor | None = None) -> SourceMemory:
        import torch

        inside = torch.arange(ids.shape[1], device=ids.device) < lengths.to(ids.device)[:, None]
        encoder = self.model.get_encoder()
        with _zeroed(encoder.get_input_embeddings(), blank):  # its own table: others share the weights alone
            states = encoder(input_ids=ids, attention_mask=inside.long()).last_hidden_state
        return SourceMemory(states, inside)

    def decode(self, memory: SourceMemory, before: Tensor) -> Tensor:
        from transformers.modeling_outputs import BaseModelOutput

        logits: Tensor = self.model(
            encoder_outputs=BaseModelOutput(last_hidden_state=memory.states),
            attention_mask=memory.inside.long(),
            decoder_input_ids=before,
        ).logits
        return logits


@contextmanager
def _zeroed(embedding: Any, blank: Tensor | None) -> Iterator[None]:
    """Make the embedding return zero vectors where `blank` is true, inside the block."""
    if blank is None:
        yield
        return
    kept = embedding.register_forward_hook(lambda _, __, out: out.masked_fill(blank[..., None], 0.0))
    try:
        yield
    finally:
        kept.remove()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HfTranslator:
    """A loaded model with its tokenizer; outputs are those of `generate` with beams and without sampling."""

    model: Any
    tokenizer: Any
    name: str
    guide: Guide
    fingerprint: str = ""
    words: Sequence[str] = ()
    beam: int = 5
    guides: bool = True

    def translate(self, sources: Sequence[str]) -> list[str]:
        import torch

        from malaprop.features.translation.models.decoding import batches, cut_pieces, side_by_side
        from malaprop.models.precision import full_precision

        rows = [cut_pieces(self.guide.source(text), self.guide.limit) for text in sources]
        out = [""] * len(rows)
        most = (4096 if self.guide.device.type == "cpu" else 32_768) // self.beam
        for part in batches([len(row) for row in rows], most):
            ids, lengths = side_by_side([rows[i] for i in part])
            inside = torch.arange(ids.shape[1]) < lengths[:, None]
            ids = ids.masked_fill(~inside, int(self.tokenizer.pad_token_id or 0))
            with torch.inference_mode(), full_precision(self.guide.device):
                found = self.model.generate(
                    input_ids=ids.to(self.guide.device),
                    attention_mask=inside.long().to(self.guide.device),
                    num_beams=self.beam,
                    do_sample=False,
                    max_new_tokens=min(self.guide.limit - 1, 2 * int(lengths.max()) + 10),
                )
            texts = self.tokenizer.batch_decode(found, skip_special_tokens=True)
            for i, text in zip(part, texts, strict=True):
                out[i] = text.strip()
        return out

    def too_long(self, source: str) -> str:
        pieces = len(self.guide.source(source))
        if pieces <= self.guide.limit:
            return ""
        return f"the source has {pieces} sub-words, {self.name} reads {self.guide.limit}; shorten it"

    def spells(self, keyword: str) -> bool:
        pieces = self.guide.word(keyword)
        return bool(pieces) and self.tokenizer.unk_token_id not in pieces

    def hints(self, asked: Sequence[Hint]) -> list[Floats]:
        return self.guide.hints(asked)

    def states(self, sources: Sequence[str]) -> list[Floats]:
        return self.guide.states(sources)


def load_seq2seq(source: str | Path, *, device: str = "cpu", beam: int = 5) -> HfTranslator:
    """Load a model from a local folder or a hub name, without running code that comes with it."""
    try:
        import torch
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
    except ImportError:
        raise VictimError(f"{source} needs the transformers library; install malaprop[hf]") from None
    options = {"trust_remote_code": False, "local_files_only": isinstance(source, Path) or offline()}
    try:
        with quietly():
            model = AutoModelForSeq2SeqLM.from_pretrained(source, use_safetensors=True, dtype=torch.float32, **options)
            tokenizer = AutoTokenizer.from_pretrained(source, **options)
    except Exception as error:  # noqa: BLE001 - the library and the hub's client raise errors of many kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise VictimError(f"{source} cannot be loaded as a transformers translation model: {reason}") from None
    mark = str(getattr(model.config, "_commit_hash", "") or "")
    return wrap_seq2seq(model, tokenizer, device=device, beam=beam, name=Path(source).name, fingerprint=mark)


def wrap_seq2seq(
    model: Any, tokenizer: Any, *, device: str = "cpu", beam: int = 5, name: str | None = None, fingerprint: str = ""
) -> HfTranslator:
    """Wrap a loaded model and its tokenizer as a translator."""
    import torch

    where = torch.device(device)
    model = model.eval().to(where)
    told = model.generation_config
    first = told.decoder_start_token_id
    if first is None:
        first = model.config.decoder_start_token_id
    if first is None:
        raise VictimError(f"{name or type(model).__name__} names no decoder_start_token_id; give a translation model")
    forced = getattr(told, "forced_bos_token_id", None)
    places = int(getattr(model.config, "max_position_embeddings", 0) or MOST)
    end = tokenizer.eos_token_id

    def target(text: str) -> list[int]:
        found: list[int] = tokenizer(text_target=text, verbose=False).input_ids
        return [i for i in found if i != end and i != forced and i != tokenizer.bos_token_id]

    def word(keyword: str) -> list[int]:
        return target(f"a {keyword}")[len(target("a")) :]

    def source(text: str) -> list[int]:
        return list(tokenizer(text, verbose=False).input_ids)

    ahead = _ahead(source(""), source("a"))

    def within(text: str, start: int, stop: int) -> tuple[int, int]:
        def pieces(part: str) -> int:
            return len(tokenizer(part, add_special_tokens=False, verbose=False).input_ids) if part else 0

        first_piece, last = pieces(text[:start].rstrip()), pieces(text[:stop])
        return ahead + min(first_piece, last - 1), ahead + last

    guide = Guide(
        network=Halves(model),
        device=where,
        source=source,
        target=target,
        word=word,
        within=within,
        head=(first,) if forced is None else (first, forced),
        limit=min(places, int(min(tokenizer.model_max_length, places))),
        batch=4096 if where.type == "cpu" else 65_536,
    )
    called = name or str(getattr(model.config, "_name_or_path", "") or type(model).__name__)
    return HfTranslator(model=model, tokenizer=tokenizer, name=called, guide=guide, fingerprint=fingerprint, beam=beam)


def _ahead(empty: list[int], one: list[int]) -> int:
    """Return how many special pieces the tokenizer puts before a text."""
    count = 0
    while count < len(empty) and count < len(one) and empty[count] == one[count]:
        count += 1
    return min(count, len(empty) - 1) if count == len(empty) and empty else count
