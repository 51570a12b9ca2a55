"""Derivatives of the zoo's networks by characters and words."""
