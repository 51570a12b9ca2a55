"""Attacks on translation models over a dataset, and what they add up to."""
