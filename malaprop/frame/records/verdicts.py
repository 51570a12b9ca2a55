"""What figures can say of a claim."""

from __future__ import annotations

VERDICTS = {
    "holds": "the figures say so, and the intervals leave no doubt",
    "leans": "the figures point that way, and the intervals leave a doubt",
    "does not show": "the figures do not point that way, and the intervals leave a doubt",
    "fails": "the figures say the opposite, and the intervals leave no doubt",
    "by construction": "true by the way that it is made here; it could not have come out otherwise",
    "figure": "a figure beside the paper's; there is nothing to hold or to fail",
    "not done": "no record of it is there, for the reason given",
}
