"""Finds out how a text model breaks when words and characters change, and makes it harder to break."""

__version__ = "0.1.0"
