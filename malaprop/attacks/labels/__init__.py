"""Attacks that see the label alone: a random start across the border, then steps that stay across it."""
