"""Texts as tokens: vocabularies, what a word becomes, and edits spliced into arrays of tokens."""
