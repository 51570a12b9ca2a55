"""The public names of malaprop.frame.report, under the name that scripts know."""

from malaprop.core.catalogue import offer

_PLACES = {"diff": "Patch Piece mark_changes patches", "page": "render write_report", "terminal": "print_summary"}
__all__, __getattr__ = offer("malaprop.frame.report", _PLACES)
