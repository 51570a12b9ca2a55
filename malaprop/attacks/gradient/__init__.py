"""Searches that look at the gradient: an ask to `gradient` is one forward and one backward pass over a text."""
