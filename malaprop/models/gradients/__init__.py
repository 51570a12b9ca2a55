"""Derivatives of a loss by what a text says: its characters, its words."""
