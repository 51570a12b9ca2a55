"""HotFlip's derivatives of character edits (Ebrahimi et al. 2018, sections 3.1 and 3.2), as array work over a batch.

One forward and one backward pass give, for every word of every text, what each flip, insertion and deletion of a
character does to the loss, to first order. Networks are those whose `embedding` is `CharWords`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from malaprop.core.errors import CapabilityError
from malaprop.core.gradient import Aim
from malaprop.models.gradients import log_odds
from malaprop.models.padded_rows import fill_empty_rows, within
from malaprop.models.tokens.vocab import END, NOTHING, OTHER, PAD, OpenVocab, tokens
from malaprop.zoo.blocks.charwords import CharWords

_AT_ONCE = 1024  # words whose windows are held at a time
_AWAY = Aim(label=0)  # the log loss

Ids = Int[Tensor, "batch token"]
Lengths = Int[Tensor, " batch"]
CharIds = Int[Tensor, "batch token char"]


class Gains(NamedTuple):
    """First-order changes of the loss, each over the length of its edit in one-hot space; -inf where an edit is barred.

    Places are those of signs: the first sign of a word is its beginning, so character i of a word is sign i + 1. An
    insertion stands *before* the sign at its place; before the end of the word, it is the new last character.
    """

    flips: Float[Tensor, "batch token char symbol"]
    inserts: Float[Tensor, "batch token char symbol"]
    deletes: Float[Tensor, "batch token char"]
    logits: Float[Tensor, "batch label"]
    signs: CharIds


class Slopes(NamedTuple):
    """Gradients of the loss by each sign's vector, beyond the end of a word too, and results of the forward pass."""

    by_vector: Float[Tensor, "batch token char dim"]
    logits: Float[Tensor, "batch label"]
    signs: CharIds


def flip_gains(
    model: nn.Module,
    ids: Ids,
    lengths: Lengths,
    labels: Int[Tensor, " batch"],
    *,
    opened: Bool[Tensor, "batch token"] | None = None,
    operations: tuple[str, ...] = ("flip", "insert", "delete"),
    aim: Aim = _AWAY,
) -> Gains:
    """Return the gains of the loss of `labels`, taken as `aim` says; its own label is not read.

    `ids` are word numbers of the model's `OpenVocab`, as in a training `Batch`. The network is read in the mode it is
    in: see `backward.differentiable` for one that rests. Barred are padding, special words, words with a mark in them,
    symbols that would cut a word in two, tokens that `opened` leaves out, and operations not named: of those the array
    is empty, or all -inf. No parameter gets a gradient.
    """
    words = embedding_of(model)
    slopes = char_slopes(model, ids, lengths, labels, aim=aim)
    usable = symbols(_vocab(words)).to(ids.device)
    plain = plain_words(slopes.signs, usable)
    return gains(slopes, vectors(words), usable, plain if opened is None else plain & opened, operations)


def embedding_of(model: nn.Module) -> CharWords:
    """Return the part of a network that reads characters; raise where it has none."""
    found = getattr(model, "embedding", None)
    if not isinstance(found, CharWords):
        raise CapabilityError(
            f"a {type(model).__name__} does not read characters; use CharCNN-LSTM or a model of the zoo with -C- in "
            "its name"
        )
    return found


def vectors(words: CharWords) -> Float[Tensor, "symbol dim"]:
    """Return the vector of every sign; that of no sign is zero."""
    table = words.embedding.weight.detach().clone()
    table[NOTHING] = 0
    return table


def symbols(vocab: OpenVocab) -> Bool[Tensor, " symbol"]:
    """Return which characters may stand anywhere in a word and leave it one word: letters and digits, no marks."""
    out = torch.zeros(vocab.symbols, dtype=torch.bool)
    for number, char in enumerate(vocab.alphabet):
        out[number] = bool(char) and all(
            tokens(word, vocab.cased) == [word] for word in (f"a{char}a", f"{char}a", f"a{char}", char)
        )
    return out


def plain_words(signs: CharIds, usable: Bool[Tensor, " symbol"]) -> Bool[Tensor, "batch token"]:
    """Return which words have only letters, digits or characters that the alphabet lacks: no marks, no specials."""
    inner = signs[..., 1:]
    fine = usable.clone()
    fine[[NOTHING, OTHER, END]] = True
    return fine[inner].all(-1) & (inner[..., 0] != NOTHING)


def char_slopes(
    model: nn.Module,
    ids: Ids,
    lengths: Lengths,
    labels: Int[Tensor, " batch"],
    *,
    aim: Aim = _AWAY,
) -> Slopes:
    """Return the gradients by one forward and one backward pass.

    A word that comes often is composed once, and has a gradient at each place.
    """
    network, words = cast(Any, model), embedding_of(model)
    ids, lengths = fill_empty_rows(ids, lengths)
    ids = ids * within(lengths, ids.shape[1])
    distinct, place = ids.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    spelled = words.signs(distinct)
    reached = int((spelled != NOTHING).any(0).sum())
    spelled = spelled[:, : min(words.most, max(words.least, reached + 1))]  # one more: an insertion moves the end there
    with torch.no_grad():
        strongest, where = windows(words, spelled)
    with torch.enable_grad():
        pooled = strongest[place].requires_grad_()
        logits: Tensor = network.from_vectors(_above(words, pooled, ids), ids, lengths)
        behind = log_odds(logits.to(torch.promote_types(logits.dtype, torch.float32)), labels, aim.beside)
        (slope,) = torch.autograd.grad(behind.sum(), pooled)
    with torch.no_grad():
        weight = torch.ones_like(behind) if aim.odds else behind.sigmoid()  # the slope of softplus
        slope = slope * (weight if aim.away else -weight)[:, None, None].to(slope.dtype)
        by_vector = through(words, slope, where, place, spelled.shape[1])
    return Slopes(by_vector, logits.detach(), spelled[place])


def _parts(rows: Tensor) -> tuple[Tensor, ...]:
    return torch.split(rows, _AT_ONCE)


def windows(
    words: CharWords, signs: Int[Tensor, "word char"]
) -> tuple[Float[Tensor, "word filter"], Int[Tensor, "word filter"]]:
    """Return the maximum of each filter, and the window that gave it."""
    x = functional.embedding(signs, vectors(words)).transpose(1, 2)
    ends = (signs != NOTHING).sum(1).clamp(min=words.least)
    found = []
    for part, end in zip(_parts(x), _parts(ends), strict=True):
        both = []
        for conv in words.convs:
            answers = conv(part)
            width = part.shape[2] - answers.shape[2] + 1
            beyond = ~within(end - width + 1, answers.shape[2])
            both.append(answers.masked_fill(beyond[:, None], -torch.inf).max(2))
        found.append([torch.cat(kind, 1) for kind in zip(*both, strict=True)])
    return torch.cat([f[0] for f in found]), torch.cat([f[1] for f in found])


def _above(words: CharWords, pooled: Float[Tensor, "batch token filter"], ids: Ids) -> Float[Tensor, "batch token dim"]:
    """Return the word vectors that `CharWords.compose` makes of the filters' maxima."""
    made = words.finished(pooled.flatten(0, 1))
    return made.reshape(*ids.shape, -1) * (ids != PAD)[..., None]


def through(
    words: CharWords,
    slope: Float[Tensor, "batch token filter"],
    where: Int[Tensor, "word filter"],
    place: Int[Tensor, "batch token"],
    chars: int,
) -> Float[Tensor, "batch token char dim"]:
    """Return the gradient by the signs' vectors at each place, from that by the filters' maxima there.

    `where` is of `windows`, and `place` says which of its words stands where.
    """
    flat = [
        _below(words, part, where[at], chars)
        for part, at in zip(_parts(slope.flatten(0, 1)), _parts(place.flatten()), strict=True)
    ]
    return torch.cat(flat).reshape(*place.shape, *flat[0].shape[1:])


def _below(
    words: CharWords, slope: Float[Tensor, "word filter"], where: Int[Tensor, "word filter"], chars: int
) -> Float[Tensor, "word char dim"]:
    """Return the gradient by the signs' vectors, from that by the maxima: each goes back to its own window."""
    out = slope.new_zeros(len(slope), words.embedding.embedding_dim, chars)
    at = 0
    for conv in words.convs:
        weight = conv.get_parameter("weight")
        mine = slice(at, at := at + len(weight))
        spread = slope.new_zeros(len(slope), len(weight), chars - weight.shape[2] + 1)
        spread.scatter_(2, where[:, mine, None], slope[:, mine, None])
        out += functional.conv_transpose1d(spread, weight.to(slope.dtype))
    return out.transpose(1, 2)


def gains(
    slopes: Slopes,
    table: Float[Tensor, "symbol dim"],
    usable: Bool[Tensor, " symbol"],
    opened: Bool[Tensor, "batch token"],
    operations: tuple[str, ...] = ("flip", "insert", "delete"),
) -> Gains:
    """Return derivatives along each edit's vector in one-hot space, over its length sqrt(2 N), N signs that change.

    An insertion is a flip at its place and one at every place behind it, as what stands there moves on, up to the end
    of the word; a deletion is the same to the other side.
    """
    signs, size = slopes.signs, slopes.signs.shape[-1]
    every = slopes.by_vector @ table.T.to(slopes.by_vector.dtype)  # dJ / dx_ij^(b) for all symbols b
    now = every.gather(3, signs[..., None])[..., 0]
    inside = signs != NOTHING
    ends = inside.sum(-1, keepdim=True)  # signs of each word
    at = torch.arange(size, device=signs.device)
    letter = (at >= 1) & (at < ends - 1) & opened[..., None]
    roomy = (ends < size)[..., 0][..., None]  # a word cut short, or as long as can be, cannot be seen to move
    flips = inserts = every.new_empty(0)
    deletes = every.new_full(signs.shape, -torch.inf)
    if "flip" in operations:
        flips = ((every - now[..., None]) / 2**0.5).masked_fill_(~(letter[..., None] & usable), -torch.inf)
        flips.scatter_(3, signs[..., None], -torch.inf)
    if "delete" in operations:
        along, moved = _shift(every, now, signs, -1)
        fine = letter & roomy & (ends > 3)  # at least one character stays
        deletes = (along / (2 * moved.clamp(min=1)).sqrt()).masked_fill(~fine | (moved == 0), -torch.inf)
    if "insert" in operations:
        along, moved = _shift(every, now, signs, 1)
        along, moved = (functional.pad(x[..., 1:], (0, 1)) for x in (along, moved))  # what moves is behind the place
        fine = (letter | ((at == ends - 1) & opened[..., None])) & roomy
        inserts = (every + (along - now)[..., None]) / (2 * moved + 2).sqrt()[..., None]
        own = along / (2 * moved.clamp(min=1)).sqrt()  # the same sign again: nothing changes at the place itself
        inserts.scatter_(3, signs[..., None], own[..., None])
        inserts.masked_fill_(~(fine[..., None] & usable), -torch.inf)
    return Gains(flips, inserts, deletes, slopes.logits, signs)


def _shift(
    every: Float[Tensor, "batch token char symbol"], now: Float[Tensor, "batch token char"], signs: CharIds, by: int
) -> tuple[Float[Tensor, "batch token char"], Int[Tensor, "batch token char"]]:
    """Return from each place on the summed derivatives of moving all signs by one, and how many signs change."""
    pad = functional.pad(signs, (1, 0), value=NOTHING)[..., :-1] if by > 0 else functional.pad(signs, (0, 1))[..., 1:]
    change = every.gather(3, pad[..., None])[..., 0] - now
    differs = pad != signs
    return tuple(x.flip(-1).cumsum(-1).flip(-1) for x in (change * differs, differs.long()))  # type: ignore[return-value]


def _vocab(words: CharWords) -> OpenVocab:
    if words.vocab is None:
        raise CapabilityError("this model reads characters and has no words yet; call open_to with its vocabulary")
    return words.vocab


def score_respelled(model: nn.Module, signs: CharIds, ids: Ids, lengths: Lengths) -> Float[Tensor, "batch label"]:
    """Return logits of texts whose words `signs` spells, not `ids`; distinct spellings are composed once.

    For training on edits without giving each new spelling a number. `signs` may have fewer columns than words have room
    for, at least as many as the widest filter.
    """
    words = embedding_of(model)
    flat = signs.flatten(0, -2)
    keys = (flat * _mixers(flat.shape[1], flat.device)).sum(1)  # wraps around; equal spellings have equal keys
    met, place = keys.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    one = torch.empty_like(met).scatter_(0, place, torch.arange(len(flat), device=flat.device))
    composed = words.compose(words.embedding(flat[one]), flat[one])[place].reshape(*signs.shape[:-1], -1)
    logits: Tensor = cast(Any, model).from_vectors(composed, ids, lengths)
    return logits


def _mixers(count: int, device: torch.device) -> Int[Tensor, " char"]:
    """Return odd numbers of 63 bits, one a column: two spellings of a batch share a key with chance below 1e-11."""
    drawn = torch.randint(1 << 62, (count,), generator=torch.Generator().manual_seed(0))
    return (2 * drawn + 1).to(device)


def make_flips(found: Gains, counts: Int[Tensor, " batch"], *, once: bool = False) -> CharIds:
    """Return the signs after each text's best `counts` flips (section 4.1), one a character, or `once` a word."""
    best, symbol = found.flips.max(-1)
    if once:
        leader = torch.zeros_like(best, dtype=torch.bool).scatter_(-1, best.argmax(-1, keepdim=True), True)
        best = best.masked_fill(~leader, -torch.inf)
    flat = best.flatten(1)
    rank = flat.argsort(dim=1, descending=True, stable=True).argsort(1)
    chosen = (rank < counts[:, None]) & flat.isfinite()
    return torch.where(chosen.reshape(best.shape), symbol, found.signs)
