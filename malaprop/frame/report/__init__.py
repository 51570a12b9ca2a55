"""Reports from records alone: one HTML file, or a table in the terminal."""

from malaprop.core.catalogue import offer

_PLACES = {"diff": "Patch Piece mark_changes patches", "page": "render write_report", "terminal": "print_summary"}
__all__, __getattr__ = offer(__name__, _PLACES)
