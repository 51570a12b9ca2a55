"""Attacks on translation models: goals, replacements and searches."""
