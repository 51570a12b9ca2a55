"""The words of the labels as a tree of tokens, so that a beginning shared by several words is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from malaprop.core.errors import SettingError

ROOT = -1  # behind the prompt: one less than the first node, as `scores` counts places


@dataclass(frozen=True, slots=True)
class LabelTree:
    """The tokens of each label's word, and the tree of the tokens that another token follows.

    Node i is the token `tokens[i]` behind the node `parents[i]`, or behind the prompt where that is ROOT. The last
    token of a word needs no node: the model is asked how likely it is, and not what comes next.
    """

    words: tuple[tuple[int, ...], ...]
    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    paths: tuple[tuple[int, ...], ...]  # of each word the node before each of its tokens

    @classmethod
    def of(cls, words: Sequence[Sequence[int]], names: Sequence[str]) -> LabelTree:
        """Build the tree; raise on words that their tokens cannot tell apart."""
        whole = [tuple(word) for word in words]
        for name, word in zip(names, whole, strict=True):
            if not word:
                raise SettingError(f"the label word {name!r} has no token; choose another with --label-words")
        for i, one in enumerate(whole):
            for j, other in enumerate(whole):
                if i != j and other[: len(one)] == one:
                    raise SettingError(
                        f"the label word {names[j]!r} begins with all of {names[i]!r}, so an answer would count for "
                        "both; choose others with --label-words"
                    )
        nodes: dict[tuple[int, ...], int] = {}
        for word in whole:
            for end in range(1, len(word)):
                nodes.setdefault(word[:end], len(nodes))
        parents = tuple(nodes.get(path[:-1], ROOT) for path in nodes)
        paths = tuple(tuple(nodes.get(word[:at], ROOT) for at in range(len(word))) for word in whole)
        return cls(tuple(whole), tuple(path[-1] for path in nodes), parents, paths)

    @property
    def depths(self) -> tuple[int, ...]:
        """Return for each node how many tokens of its word lie before it."""
        out: list[int] = []
        for parent in self.parents:
            out.append(0 if parent == ROOT else out[parent] + 1)
        return tuple(out)

    def sees(self) -> Tensor:
        """Return flags [node, node]: which nodes lie on the way to a node, itself among them."""
        out = torch.eye(len(self.tokens), dtype=torch.bool)
        for node, parent in enumerate(self.parents):
            if parent != ROOT:
                out[node] |= out[parent]
        return out

    def scores(self, likely: Float[Tensor, "row place token"]) -> Float[Tensor, "row label"]:
        """Return the log-probability of each word; place 0 is behind the prompt, place i + 1 behind node i."""
        out = [
            sum(likely[:, node + 1, token] for node, token in zip(path, word, strict=True))
            for path, word in zip(self.paths, self.words, strict=True)
        ]
        return torch.stack(out, 1)  # type: ignore[arg-type]
