"""What networks say that are asked for attention and have none."""

from __future__ import annotations

from malaprop.core.errors import CapabilityError


def no_attention() -> CapabilityError:
    return CapabilityError("this network has no attention to show; use one that attends, as BiLSTM-Attention")
