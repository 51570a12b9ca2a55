"""Batching: services answer pooled asks, and drive advances many attacks side by side."""
