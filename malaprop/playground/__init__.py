"""Attacks in the browser: type a text, watch a recipe work on it."""
