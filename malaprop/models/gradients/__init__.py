"""Derivatives of a loss by the words and tokens of a text."""
