"""Searches that use the victim's gradient: a request to `gradient` is one forward and one backward pass over a text."""
