"""MaskedLanguageModel: which words a model expects in a place of a text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import chain, islice, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from malaprop.core.ask import Cloze, Gap, Guesses
from malaprop.core.errors import AssetError
from malaprop.core.score import Floats
from malaprop.core.text import word_pattern
from malaprop.core.variants import runs
from malaprop.models.folder import quietly
from malaprop.models.scorers.int8 import can_quantise, quantise
from malaprop.models.tokens.batches import Bounds, batches

LIMIT = 128  # tokens around a cloze: what lies farther off says little about a word
LONGEST = 6  # tokens of a word that is scored
_HEADS = ("cls", "lm_head", "predictions", "head")  # names of the masked-LM head in transformers' architectures
_KEPT = 1 << 16  # words whose tokens are remembered
_SPACES = ("Ġ", "▁")  # how vocabularies of bytes and of sentence pieces write the space before a word


class _Stretch(NamedTuple):
    """A word of a text as tokens, with the tokens up to the next word, and those before the first word."""

    gap: int
    word: Sequence[int]
    behind: Sequence[int]
    before: Sequence[int] = ()


class MaskedLanguageModel:
    """A transformers model with a masked-LM head, which reads a text around the cloze: long ones cost no more."""

    def __init__(self, model: Any, tokenizer: Any, *, device: str = "cpu", bounds: Bounds | None = None) -> None:
        if tokenizer.mask_token_id is None:
            kind = model.config.model_type
            raise AssetError(f"the tokenizer of this {kind} has no mask token, so it is not a masked language model")
        size = int(model.get_output_embeddings().weight.shape[0])
        if len(tokenizer) > size:
            raise AssetError(
                f"the tokenizer has {len(tokenizer)} tokens, the model {size}; they do not belong together; "
                "give a folder whose two parts were saved as one model"
            )
        self.device = torch.device(device)
        self.model, self.tokenizer = model.eval().to(self.device), tokenizer
        self.bounds = bounds or _choose_bounds(self.device)
        self.limit = min(LIMIT, int(getattr(model.config, "max_position_embeddings", LIMIT)) - 2)
        self.head, self.tail = _edges(tokenizer)
        vocabulary = _Vocabulary(tokenizer, size)
        self.words, self._pieces = vocabulary.words, vocabulary.pieces
        self._whole, self._inner, self._plain = map(
            torch.tensor, (vocabulary.whole, vocabulary.inner, vocabulary.plain)
        )  # of what was read on a device and fetched
        self._places = {self.words[i]: i for i in self._whole.nonzero()[:, 0].tolist()}  # of whole words their tokens
        self._small = self._cut("A", True) == self._cut("a", True)  # whether it tells no case
        self._mask = int(tokenizer.mask_token_id)
        self._cut_word = lru_cache(_KEPT)(self._make_tokens)  # words and marks come again in text after text
        self._cut_between = lru_cache(_KEPT)(lambda marks: tuple(self._cut(marks, False)))
        self._find_tokens = lru_cache(_KEPT)(lambda words: np.asarray(list(map(self._find_token, words)), np.int64))
        self._head: Any = self._find_head()

    def quantise(self) -> None:
        """Compute products in int8 from now on, twice as fast, on a CPU that has them; elsewhere change nothing."""
        if self.device.type == "cpu" and can_quantise():
            self.model = quantise(self.model)
            self._head = self._find_head()

    @torch.inference_mode()
    def _find_head(self) -> Any:
        """Return the module that turns states to logits, if one of the usual names gives the model's own logits."""
        self._head = None
        ids = torch.tensor([[*self.head, self.tokenizer.mask_token_id, *self.tail]], device=self.device)
        place = torch.tensor([len(self.head)], device=self.device)
        wanted = self._at(ids, torch.ones_like(ids), place)
        for name in _HEADS:
            self._head = getattr(self.model, name, None)
            if self._head is not None:
                try:
                    if torch.allclose(self._at(ids, torch.ones_like(ids), place), wanted, atol=1e-4):
                        return self._head
                except (TypeError, RuntimeError, AttributeError):
                    continue
        return None

    def fill(self, clozes: Sequence[Cloze]) -> list[Guesses]:
        """Return for each cloze its likeliest words, or the log-probabilities of its own words where it names some."""
        given = [cloze for cloze in clozes if cloze.words]
        scored = iter(self.score(given))
        guessed = iter(self.guess([cloze for cloze in clozes if not cloze.words]))
        return [next(scored) if cloze.words else next(guessed) for cloze in clozes]

    @torch.inference_mode()
    def score(self, clozes: Sequence[Cloze]) -> list[Guesses]:
        """Return for each cloze the log-probability of each of its words, behind as many masks as it has tokens.

        The tokens of a word are scored side by side, each without seeing the others; one of too many has no chance.
        Where the model reads what stands there, words of one token alone can be scored, in the place of one: else nan.
        """
        out = [
            Guesses(cloze.words, np.full(len(cloze.words), -np.inf if cloze.hidden else np.nan, np.float32))
            for cloze in clozes
        ]
        unknown = self.tokenizer.unk_token_id
        rows: list[tuple[list[int], int]] = []
        whose: list[tuple[int, list[int], list[list[int]]]] = []  # of a row its cloze, and its words with their tokens
        for number, cloze in enumerate(clozes):
            tokens = [[self._places[word]] if word in self._places else self._cut(word, False) for word in cloze.words]
            sizes = {len(ids) for ids in tokens} & {*range(1, LONGEST + 1)}
            if not cloze.hidden:
                sizes &= {len(self._cut(cloze.text[cloze.start : cloze.end], cloze.start == 0))} & {1}
            for many in sorted(sizes):
                places = [i for i, ids in enumerate(tokens) if len(ids) == many and unknown not in ids]
                if not places:
                    continue
                rows.append(self._row(cloze, masks=many if cloze.hidden else 0))
                whose.append((number, places, [tokens[i] for i in places]))
        lengths = np.fromiter((len(row) for row, _ in rows), np.int64, len(rows))
        for part in batches(lengths, self.bounds):
            some = part.tolist()
            spans = [range(rows[i][1], rows[i][1] + len(whose[i][2][0])) for i in some]
            logs = iter(self._logs_within([rows[i][0] for i in some], spans))
            for i in some:
                number, places, tokens = whose[i]
                steps = [next(logs) for _ in tokens[0]]
                for place, ids in zip(places, tokens, strict=True):
                    out[number].logs[place] = sum(float(step[token]) for step, token in zip(steps, ids, strict=True))
        return out

    @torch.inference_mode()
    def compare(self, texts: Sequence[tuple[str, Sequence[Gap]]], *, apart: int) -> list[list[Floats]]:
        """Return for each gap of each text the log-probabilities of its words; nan for a word of several tokens.

        Gaps are words, in order. Every `apart`-th of them is hidden at a time, behind one mask each, so that a text is
        read `apart` times however many words it has; one longer than the model reads is read in parts.
        """
        words = [gap.words for _, gaps in texts for gap in gaps]
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        ends = np.cumsum(sizes)
        tokens = np.concatenate([np.empty(0, np.int64), *map(self._find_tokens, words)])
        found = np.full(len(tokens), np.nan, np.float32)
        rows, hidden = self._hide_in_turn(texts, apart)
        for batch in batches(np.fromiter(map(len, rows), np.int64, len(rows)), self.bounds):
            some = batch.tolist()
            ids, inside = self._pad([rows[at] for at in some])
            asked = np.asarray([(k, *one) for k, at in enumerate(some) for one in hidden[at]], np.int64)
            wanted = runs((ends - sizes)[asked[:, 1]], sizes[asked[:, 1]])  # of all words those that are asked about
            one_token = tokens[wanted] >= 0
            wanted, which = wanted[one_token], np.repeat(np.arange(len(asked)), sizes[asked[:, 1]])[one_token]
            row, place, at, token = (
                torch.from_numpy(numbers).to(self.device)
                for numbers in (asked[:, 0].copy(), asked[:, 2].copy(), which, tokens[wanted])
            )
            logs = self._at(ids, inside, place, row).float().log_softmax(1)
            found[wanted] = logs[at, token].cpu().numpy()
        each = iter(np.split(found, ends[:-1]))
        return [[next(each) for _ in gaps] for _, gaps in texts]

    def _hide_in_turn(
        self, texts: Sequence[tuple[str, Sequence[Gap]]], apart: int
    ) -> tuple[list[list[int]], list[list[tuple[int, int]]]]:
        """Return rows of tokens with masks, and each row's hidden gaps (numbered over all texts) with their places."""
        rows, hidden, first = list[list[int]](), list[list[tuple[int, int]]](), 0
        for text, gaps in texts:
            for part in self._split(text, gaps):
                for turn in range(min(apart, len(part))):
                    row, places = self._hide(part, range(turn, len(part), apart))
                    rows.append(row)
                    hidden.append([(first + gap, place) for gap, place in places])
            first += len(gaps)
        return rows, hidden

    def _split(self, text: str, gaps: Sequence[Gap]) -> list[list[_Stretch]]:
        """Split a text into parts that fit the model; a long one loses what stands before its first word."""
        room = self.limit - len(self.head) - len(self.tail)
        ends = [*(gap.start for gap in gaps[1:]), len(text)]
        stretches = [
            _Stretch(number, self._cut_word(text[gap.start : gap.end]), self._cut_between(text[gap.end : end].strip()))
            for number, (gap, end) in enumerate(zip(gaps, ends, strict=False))
        ]
        parts, used = list[list[_Stretch]](), room
        for one in stretches:
            size = len(one.word) + len(one.behind)
            if used + size > room:
                parts.append([])
                used = 0
            parts[-1].append(one)
            used += size
        before = self._cut(text[: gaps[0].start].strip(), True) if gaps else []
        if len(parts) == 1 and before and used + len(before) <= room:
            parts[0][0] = parts[0][0]._replace(before=before)
        return parts

    def _hide(self, part: Sequence[_Stretch], which: range) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the tokens of a part with a mask for each of these words, and the words' gaps with their places."""
        row, places = list(self.head), list[tuple[int, int]]()
        for at, one in enumerate(part):
            row += one.before
            if at in which:
                places.append((one.gap, len(row)))
                row.append(self._mask)
            else:
                row += one.word
            row += one.behind
        return [*row[: self.limit - len(self.tail)], *self.tail], places

    def _make_tokens(self, word: str) -> tuple[int, ...]:
        token = self._find_token(word)
        return (token,) if token >= 0 else tuple(self._cut(word, False))

    def _find_token(self, word: str) -> int:
        """Return the token of a word of one token, lower-cased for an uncased model; -1 for other words."""
        found: int = self._places.get(word.lower() if self._small else word, -1)
        return found

    @torch.inference_mode()
    def guess(self, clozes: Sequence[Cloze]) -> list[Guesses]:
        """Return for each cloze the likeliest words of its vocabulary."""
        rows = list(map(self._row, clozes))
        lengths = np.fromiter((len(row) for row, _ in rows), np.int64, len(rows))
        out: list[Guesses] = [Guesses((), np.empty(0, np.float32))] * len(rows)
        for part in batches(lengths, self.bounds):
            some = part.tolist()
            sizes = [self._count_places(clozes[i]) for i in some]
            spans = [range(rows[i][1], rows[i][1] + size) for i, size in zip(some, sizes, strict=True)]
            logs, ends = self._logs_within([rows[i][0] for i in some], spans), np.cumsum(sizes).tolist()
            whole = [clozes[i].vocabulary in ("words", "pieces") for i in some]
            alone = [size == 1 and fits for size, fits in zip(sizes, whole, strict=True)]
            plain = np.flatnonzero(alone).tolist()
            found = iter(self._guess_words(logs[[ends[k] - 1 for k in plain]], [clozes[some[k]].most for k in plain]))
            for k, i in enumerate(some):
                out[i] = next(found) if alone[k] else self._guess(clozes[i], logs[ends[k] - sizes[k] : ends[k]])
        return out

    def _count_places(self, cloze: Cloze) -> int:
        """Return how many places of a cloze are predicted: one, or one a token where pieces are put together."""
        if cloze.hidden or cloze.vocabulary not in ("pieces", "top"):
            return 1
        return max(1, len(self._cut(cloze.text[cloze.start : cloze.end], cloze.start == 0)))

    def _guess_words(self, logs: Float[Tensor, "cloze token"], most: Sequence[int]) -> list[Guesses]:
        """Return the likeliest whole words of each row."""
        if not len(logs):
            return []
        best = logs.masked_fill(~self._whole, -torch.inf).topk(min(max(most), logs.shape[1]), 1)
        out = []
        for values, ids, many in zip(best.values.numpy(), best.indices.tolist(), most, strict=True):
            count = min(many, int(np.isfinite(values).sum()))
            out.append(Guesses(tuple(self.words[t] for t in ids[:count]), values[:count].astype(np.float32)))
        return out

    def _guess(self, cloze: Cloze, logs: Float[Tensor, "place token"]) -> Guesses:
        """Return guesses of other vocabularies than whole words, from the log-probabilities at the word's pieces."""
        if cloze.vocabulary == "pieces":
            return _join_pieces(self._pieces, logs, [self._whole, *[self._inner] * (len(logs) - 1)], cloze.most)
        if cloze.vocabulary == "tokens":
            best = logs[0].masked_fill(~self._plain, -torch.inf).topk(min(cloze.most, logs.shape[1]))
            kept = [k for k, value in enumerate(best.values.tolist()) if np.isfinite(value)]
            tokens = best.indices[kept].tolist()
            return Guesses(tuple(self._pieces[t] for t in tokens), best.values[kept].numpy().astype(np.float32))
        best = logs.topk(min(cloze.most, logs.shape[1]), 1)
        values, ids = best.values.tolist(), best.indices.tolist()
        if len(ids) == 1:
            pairs = [(self.words[t], v) for t, v in zip(ids[0], values[0], strict=True) if _is_one_word(self.words[t])]
        else:
            each = [[(self._pieces[t], v) for t, v in zip(*row, strict=True)] for row in zip(ids, values, strict=True)]
            made = (("".join(p for p, _ in row), sum(v for _, v in row) / len(row)) for row in product(*each))
            pairs = list(islice(((word, v) for word, v in made if _is_one_word(word)), cloze.most))
        return Guesses(tuple(w for w, _ in pairs), np.asarray([v for _, v in pairs], np.float32))

    def _row(self, cloze: Cloze, *, masks: int = 0) -> tuple[list[int], int]:
        """Return the tokens around a cloze, special ones at both ends, and the place of the cloze among them.

        In its place stand `masks` masks; without a number one mask, or the word itself where the cloze is not hidden.
        """
        inside = (
            [self.tokenizer.mask_token_id] * max(masks, 1)
            if cloze.hidden or masks
            else self._cut(cloze.text[cloze.start : cloze.end], cloze.start == 0)
        )
        left = self._cut(cloze.text[: cloze.start].rstrip(), True)
        right = self._cut(cloze.text[cloze.end :], False)
        room = max(2, self.limit - len(self.head) - len(self.tail) - len(inside))
        before = min(len(left), max(room // 2, room - len(right)))
        left, right = left[len(left) - before :], right[: room - before]
        return [*self.head, *left, *inside, *right, *self.tail], len(self.head) + len(left)

    def _cut(self, string: str, begins: bool) -> list[int]:
        """Tokenize a stretch of text; tokenize one in the middle of a text as if a space stood before it."""
        shown = string if begins or string[:1].isspace() or not string[:1].isalnum() else f" {string}"
        found: list[int] = self.tokenizer(shown, add_special_tokens=False)["input_ids"] if shown.strip() else []
        return found

    def _logs_within(self, rows: list[list[int]], spans: Sequence[range]) -> Float[Tensor, "place token"]:
        """Return the log-probabilities at every place in the span of each row, row by row; equal rows are read once."""
        distinct = {key: at for at, key in enumerate(dict.fromkeys(map(tuple, rows)))}
        ids, inside = self._pad(list(map(list, distinct)))
        where = [distinct[tuple(row)] for row in rows]
        which = torch.tensor([at for at, span in zip(where, spans, strict=True) for _ in span], device=self.device)
        places = torch.tensor([place for span in spans for place in span], device=self.device)
        return self._at(ids, inside, places, which).float().log_softmax(1).cpu()

    def _pad(self, rows: list[list[int]]) -> tuple[Int[Tensor, "row place"], Int[Tensor, "row place"]]:
        """Pad the rows to one length; return them with the mask of their tokens."""
        pad = self.tokenizer.pad_token_id or 0
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        inside = np.arange(lengths.max()) < lengths[:, None]
        ids = np.full(inside.shape, pad, np.int64)
        ids[inside] = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(inside.astype(np.int64)).to(self.device)

    def _at(
        self,
        ids: Int[Tensor, "row place"],
        inside: Int[Tensor, "row place"],
        places: Int[Tensor, " wanted"],
        which: Int[Tensor, " wanted"] | None = None,
    ) -> Float[Tensor, "wanted token"]:
        """Return the logits at one place of each row, or of the rows in `which`; a known head reads these alone."""
        rows = torch.arange(len(ids), device=ids.device) if which is None else which
        if self._head is None:
            whole: Tensor = self.model(input_ids=ids, attention_mask=inside).logits[rows, places]
            return whole
        states = self.model.base_model(input_ids=ids, attention_mask=inside).last_hidden_state
        found: Tensor = self._head(states[rows, places])
        return found


def _choose_bounds(device: torch.device) -> Bounds:
    """Return the bounds of one pass; on a GPU its logits, some hundred MB, must find room beside a victim."""
    return Bounds(rows=1024, tokens=1 << 14) if device.type == "cuda" else Bounds(rows=64, tokens=4096)


def _join_pieces(
    pieces: Sequence[str], logs: Float[Tensor, "place token"], allowed: Sequence[Bool[Tensor, " token"]], most: int
) -> Guesses:
    """Return the `most` likeliest words of one allowed piece a place; a word's log is the mean of its pieces'."""
    words, sums = [""], torch.zeros(1)
    for row, fits in zip(logs, allowed, strict=True):
        best = row.masked_fill(~fits, -torch.inf).topk(min(most, len(row)))
        both = (sums[:, None] + best.values[None]).flatten()
        top = both.topk(min(most, len(both)))
        kept = [k for k, value in zip(top.indices.tolist(), top.values.tolist(), strict=True) if np.isfinite(value)]
        width, tokens = len(best.values), best.indices.tolist()
        words = [words[k // width] + pieces[tokens[k % width]] for k in kept]
        sums = both[kept]
    return Guesses(tuple(words), (sums / len(logs)).numpy().astype(np.float32))


def _is_one_word(string: str) -> bool:
    """Return whether a string holds one word, whatever marks are around it."""
    return len(word_pattern().findall(string)) == 1


def _edges(tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the special tokens before and behind a text."""
    mark = tokenizer("a", add_special_tokens=False)["input_ids"]
    ids = tokenizer("a")["input_ids"]
    at = next(i for i in range(len(ids)) if ids[i : i + len(mark)] == mark)
    return ids[:at], ids[at + len(mark) :]


class _Vocabulary:
    """The string of each token of a tokenizer, and where in a word it can stand."""

    def __init__(self, tokenizer: Any, size: int) -> None:
        tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
        mark = next((mark for mark in _SPACES if sum(t.startswith(mark) for t in tokens) > len(tokens) // 10), None)
        special = set(tokenizer.all_special_tokens)
        self.words, self.pieces = [""] * size, [""] * size  # of tokens that begin a word; of all, without their marks
        self.whole, self.inner, self.plain = ([False] * size for _ in range(3))
        for i, token in enumerate(tokens):
            if token in special:
                continue
            begins = token.startswith(mark) if mark else not token.startswith("##")
            self.pieces[i] = piece = token.removeprefix(mark) if mark else token.removeprefix("##")
            self.words[i] = piece if begins else ""
            letters = piece.isalpha() and piece.isascii()
            self.whole[i], self.inner[i], self.plain[i] = begins and letters, not begins and letters, piece.isalnum()


def load_masked_lm(folder: str | Path, *, device: str = "cpu") -> MaskedLanguageModel:
    """Load a masked language model from a transformers folder, or from the hub where one is in reach."""
    from malaprop.assets.folders import offline

    local = Path(folder).expanduser().is_dir()
    if not local and (offline() or str(folder).startswith((".", "/", "~"))):
        raise AssetError(f"no masked language model in {folder}; give a transformers folder, or a hub name")
    try:
        from transformers import AutoModelForMaskedLM, AutoTokenizer
    except ImportError:
        raise AssetError("a masked language model needs the transformers library; install malaprop[hf]") from None
    options: dict[str, Any] = {"local_files_only": local, "trust_remote_code": False}
    try:
        with quietly():
            tokenizer = AutoTokenizer.from_pretrained(folder, **options)
            model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32, use_safetensors=True, **options)
    except (OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0][:160]
        raise AssetError(f"{folder} cannot be read as a masked language model: {reason}") from None
    try:
        return MaskedLanguageModel(model, tokenizer, device=device)
    except AssetError as error:
        raise AssetError(f"{folder} cannot be used: {error}") from None


def open_masked_lm(name: str = "", *, device: str = "cpu") -> MaskedLanguageModel:
    """Open the packaged model, MiniLM with a masked-LM head trained here; or another by folder or hub name."""
    from malaprop.assets import store

    return load_masked_lm(name or store.locate("masked-lm"), device=device)


@cache
def open_fast_masked_lm(name: str = "", device: str = "cpu") -> MaskedLanguageModel:
    """Open a masked language model once, in int8 where the CPU can, for callers that score every text."""
    found = open_masked_lm(name, device=device)
    found.quantise()
    return found
