"""Why an example was not attacked, as the outcome says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


NOTHING_TO_CHANGE = "nothing to change"  # of a failed attack that had no edit to try
ALL_PROTECTED = "nothing to change: every word is protected"  # the same, because of what the user wants kept
NO_WORDS = "no words to change"  # the same, of a text without words, such as one of emoji alone
TARGET_ALREADY = "its label is the target already"  # of a skipped text that the victim answers rightly
