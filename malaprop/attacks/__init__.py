"""Attacks: a goal, candidates, constraints and a search, composed into recipes."""
