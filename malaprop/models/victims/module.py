"""A user's own torch module with its tokenizer as a victim, also where it has one output for two labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from malaprop.core.errors import VictimError, plain
from malaprop.models.gradients.layout import ByParts
from malaprop.models.gradients.tokens import TokenGradients
from malaprop.models.scorers.plain import Forward
from malaprop.models.tokens.padding import ZeroWords
from malaprop.models.tokens.pieces import Cut, at_breaks
from malaprop.models.tokens.splice import Frame
from malaprop.models.victims.strings import StringVictim
from malaprop.models.victims.tokens import TokenVictim

_SHAPING = {  # what leaves the numbers as they are
    "squeeze", "unsqueeze", "view", "reshape", "flatten", "contiguous", "float", "to", "clone", "__getitem__",
}  # fmt: skip
_EDGE = 1e-7  # of probabilities that are rounded to 0 or 1


class _Watch(TorchFunctionMode):
    """Records what sigmoids return, also in another shape."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Tensor] = []

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        called = getattr(func, "__name__", "")
        passed = called in _SHAPING and any(args[0] is one for one in self.given if args)
        if isinstance(result, Tensor) and ("sigmoid" in called or passed):
            self.given.append(result)
        return result


def ends_in_sigmoid(run: Callable[[], Any]) -> bool:
    """Return whether the result of a call comes straight from a sigmoid."""
    with _Watch() as watch:
        answer = run()
    return any(answer is one for one in watch.given)


def two_labels(forward: Forward, *, probability: bool) -> Forward:
    """Return a forward with logits of two labels, from one that gives one number a text, for the second label."""

    def both(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch 2"]:
        one = forward(ids, lengths).reshape(-1, 1)
        logit = torch.logit(one.float(), eps=_EDGE) if probability else one
        return torch.cat([torch.zeros_like(logit), logit], 1)

    return both


Tokenize = Callable[[list[str]], Sequence[Sequence[int]]]
_BLANK = ("", " ", "\n")
_SAMPLE = "A good film, well made: don't miss it!"


def wrap_module(  # noqa: PLR0913 - users set them by name
    module: nn.Module,
    tokenize: Tokenize,
    *,
    device: str | None = None,
    name: str | None = None,
    masks: bool = False,
    limit: int = 512,
    pad: int = 0,
    head: Sequence[int] = (),
    tail: Sequence[int] = (),
    separator: Sequence[int] = (),
    unknown: str = "[UNK]",
    fingerprint: str | None = None,
) -> TokenVictim | StringVictim:
    """Wrap a torch module and its tokenizer as a victim.

    `tokenize` gives the ids of each string, without special tokens; `head`, `tail` and, between fields, `separator`
    are set around them. The module gives logits [batch, label], or an object that has them as `logits`. One output
    is the logit of the second of two labels, or its probability where the network ends in a sigmoid.

    With `masks` it is called with ids and a mask [batch, token] (1 where there is a token), and promises that padding
    changes no score. Otherwise it is called with ids alone, in batches of one length. It is put in evaluation mode; the
    device is its own unless one is given. Words are cut once each where that gives what whole texts give: never for a
    tokenizer that makes tokens of spaces, and otherwise checked text by text.
    """
    called = name or type(module).__name__
    where = torch.device(device) if device else _device(module)
    module = module.eval().to(where)
    cut = at_breaks(_cutter(tokenize, called), separator)
    frame = Frame(limit=limit, head=(*head,), tail=(*tail,))
    sample = [*head, *cut([_SAMPLE])[0], *tail][:limit]
    with _watched(module, sample) as tables:
        labels, forward = _forward_labels(called, sample, _forward(module, masks), where)
    gradients = None
    if len(tables) == 1:
        layout, table = ByParts(cut=cut, frame=frame, whole=True), tables[0]
        gradients = TokenGradients(
            module=module, forward=forward, embedding=table, layout=layout, pad=pad, masks=masks, device=where
        )
    victim = TokenVictim(
        name=called,
        cut=cut,
        forward=forward,
        labels=labels,
        limit=limit,
        head=frame.head,
        tail=frame.tail,
        pad=pad,
        masks=masks,
        unknown=unknown,
        fingerprint=_fingerprint(module, cut) if fingerprint is None else fingerprint,
        gradients=gradients,
        padding=None if gradients is None else ZeroWords.like(gradients, labels),
        device=str(where),
        withheld="" if gradients else f"its tokens are looked up in {_counted(len(tables))}, once would be needed",
    )
    return _keep_spaces(victim, cut)


def _keep_spaces(victim: TokenVictim, cut: Cut) -> TokenVictim | StringVictim:
    """Return the victim, or one that reads whole texts where its tokenizer makes tokens of spaces."""
    blank = next((string for string, row in zip(_BLANK, cut([*_BLANK]), strict=True) if row), None)
    if blank is None:
        return victim
    return _by_strings(victim, f"its tokenizer makes tokens of {blank!r}, so that the tokens of a word cannot be found")


def _counted(tables: int) -> str:
    return f"{tables} tables of vectors" if tables else "no nn.Embedding"


def _by_strings(victim: TokenVictim, reason: str) -> StringVictim:
    """Wrap the victim to read whole texts: a deleted word takes its space along, which words' tokens keep."""

    def scores(texts: Sequence[str] | Sequence[tuple[str, ...]]) -> Any:
        return victim.predict([(text,) if isinstance(text, str) else text for text in texts])

    return StringVictim(
        call=scores,
        name=victim.name,
        batch=1024,
        labels=victim.labels,
        unknown=victim.unknown,
        fingerprint=victim.fingerprint,
        device=victim.device,
        withheld=reason,
    )


def _device(module: nn.Module) -> torch.device:
    held = next(module.parameters(), None)
    return torch.device("cpu") if held is None else held.device


def _forward(module: nn.Module, masks: bool) -> Forward:
    def forward(ids: Int[Tensor, "batch token"], lengths: Int[Tensor, " batch"]) -> Float[Tensor, "batch label"]:
        if masks:
            # An empty text shows one token of padding: attention over nothing is not a number.
            inside = torch.arange(ids.shape[1], device=ids.device)[None] < lengths.clamp(min=1)[:, None]
            answer = module(ids, inside.long())
        else:
            answer = module(ids)
        logits: Tensor = getattr(answer, "logits", answer)
        return logits

    return forward


def _cutter(tokenize: Tokenize, name: str) -> Cut:
    def cut(strings: list[str]) -> list[list[int]]:
        try:
            rows: Any = tokenize(strings)
            found = [[int(token) for token in row] for row in rows]
        except Exception as error:
            raise VictimError(f"the tokenizer of {name} failed: {plain(error)[:200]}") from error
        if len(found) != len(strings):
            raise VictimError(f"the tokenizer of {name} gave {len(found)} lists of ids for {len(strings)} strings")
        return found

    return cut


def _forward_labels(name: str, row: list[int], forward: Forward, device: torch.device) -> tuple[int, Forward]:
    """Return the number of labels, and a forward with a logit for each, from one that may have one output for two."""
    labels, probability = _outputs(name, row, forward, device)
    return (2, two_labels(forward, probability=probability)) if labels == 1 else (labels, forward)


@torch.inference_mode()
def _outputs(name: str, row: list[int], forward: Forward, device: torch.device) -> tuple[int, bool]:
    """Return how many outputs the module has for one short text, and whether they come from a sigmoid."""
    found: list[Any] = []

    def read() -> Any:
        found.append(forward(torch.tensor([row], device=device), torch.tensor([len(row)], device=device)))
        return found[0]

    try:
        probability = ends_in_sigmoid(read)
    except Exception as error:
        raise VictimError(f"{name} could not read a short text: {plain(error)[:200]}") from error
    shape = tuple(getattr(found[0], "shape", ()))
    if shape == (1,):
        return 1, probability
    if len(shape) != 2 or shape[0] != 1:
        raise VictimError(f"{name} answered one text with shape {shape}; expected (1, labels)")
    return int(shape[1]), probability


@contextmanager
def _watched(module: nn.Module, row: list[int]) -> Iterator[list[nn.Embedding]]:
    """Collect the embedding tables that a pass over this row looks its tokens up in."""
    seen: list[nn.Embedding] = []

    def watch(table: nn.Module, given: tuple[Any, ...]) -> None:
        assert isinstance(table, nn.Embedding)
        if len(given) == 1 and isinstance(given[0], Tensor) and given[0].ndim == 2:  # padding behind it may follow
            seen.extend([table] * (given[0][:, : len(row)].tolist() == [row]))

    hooks = [part.register_forward_pre_hook(watch) for part in module.modules() if isinstance(part, nn.Embedding)]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _fingerprint(module: nn.Module, cut: Cut) -> str:
    """Return sixteen hex digits of the weights and of how a sample is cut."""
    digest = sha256(repr((type(module).__qualname__, cut([_SAMPLE]))).encode())
    for key, tensor in module.state_dict().items():
        digest.update(f"{key}:{tuple(tensor.shape)}:{tensor.dtype}:".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
