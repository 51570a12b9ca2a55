"""Attacks on translation models: goals on the output, replacements, and the searches that reach them."""
