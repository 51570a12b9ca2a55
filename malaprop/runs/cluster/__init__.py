"""A Ray cluster, joined or started here; models that travel to its machines as parcels."""

from malaprop.runs.cluster.session import join

__all__ = ["join"]
