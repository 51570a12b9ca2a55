"""Sub-words shared by source and target: byte pairs learnt from the training texts, cut one run at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from malaprop.core.errors import SettingError, VictimError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILE = "tokenizer.json"
PAD, BOS, EOS, UNK = range(4)
_SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
_KEPT = 1_000_000  # runs whose pieces are remembered; character attacks make new ones without end


@dataclass(frozen=True, slots=True, eq=False)
class SubWords:
    """A tokenizer that cuts each run between blanks alone, so that a changed word leaves other words' pieces as is."""

    tokenizer: Tokenizer
    _known: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def learn(cls, texts: Iterable[str], vocab: int) -> SubWords:
        """Learn cased byte pairs (Sennrich et al. 2016) over both languages; punctuation is cut off."""
        from tokenizers import Tokenizer as Made
        from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

        if vocab < 16:
            raise SettingError(f"a vocabulary of sub-words needs at least 16 pieces, got {vocab}")
        made = Made(models.BPE(unk_token=_SPECIAL[UNK]))
        made.normalizer = normalizers.NFC()
        made.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation(behavior="isolated")]
        )
        made.decoder = decoders.Metaspace()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab, special_tokens=list(_SPECIAL), limit_alphabet=600, show_progress=False
        )
        made.train_from_iterator(texts, trainer)
        return cls._of(made)

    @classmethod
    def load(cls, folder: Path) -> SubWords:
        from tokenizers import Tokenizer as Made

        try:
            return cls._of(Made.from_file(str(folder / FILE)))
        except Exception as error:  # noqa: BLE001 - the library raises bare exceptions
            raise VictimError(f"{folder / FILE} cannot be read as a tokenizer: {str(error)[:160]}") from None

    @classmethod
    def _of(cls, made: Tokenizer) -> SubWords:
        """Return the sub-words of a tokenizer that was trained or loaded."""
        made.no_padding()
        made.no_truncation()
        made.encode_special_tokens = True  # a text that says </s> means those letters
        return cls(made)

    def save(self, folder: Path) -> None:
        self.tokenizer.save(str(folder / FILE))

    def __len__(self) -> int:
        return int(self.tokenizer.get_vocab_size())

    def ids(self, text: str) -> list[int]:
        """Return the pieces of a text and the end mark."""
        known = self._known
        out: list[int] = []
        for run in text.split():
            found = known.get(run)
            out += self._cut(run) if found is None else found
        out.append(EOS)
        return out

    def _cut(self, run: str) -> tuple[int, ...]:
        found = tuple(self.tokenizer.encode(run, add_special_tokens=False).ids)
        if len(self._known) < _KEPT:
            self._known[run] = found
        return found

    def counts(self, text: str) -> list[int]:
        """Return how many pieces each run of a text has."""
        return [len(self.ids(run)) - 1 for run in text.split()]

    def within(self, text: str, start: int, end: int) -> tuple[int, int]:
        """Return the first piece that holds characters from start to end, and the one after the last."""
        first = last = at = place = 0
        for run in text.split():
            begin = text.index(run, place)
            place = begin + len(run)
            cut = self.tokenizer.encode(run, add_special_tokens=False)
            inside = [i for i, (a, b) in enumerate(cut.offsets) if begin + a < end and begin + max(b, a + 1) > start]
            if inside and begin < end and place > start:
                first = first if last else at + inside[0]
                last = at + inside[-1] + 1
            at += len(cut.ids)
        return first, last

    def text(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Decode rows of pieces to texts, without special pieces."""
        return [text.strip() for text in self.tokenizer.decode_batch([list(row) for row in rows])]

    def word(self, word: str) -> list[int]:
        """Return the pieces of a word at the beginning of a run; none where it has unknown letters."""
        pieces = [i for run in word.split() for i in self._cut(run)]
        return [] if UNK in pieces else pieces
