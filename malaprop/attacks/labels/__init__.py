"""Attacks that see only labels: a random start beyond the decision boundary, then steps that stay beyond it."""
