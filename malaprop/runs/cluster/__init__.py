"""The same work on a Ray cluster: workers hold the victim, shards of examples go in, outcomes come back."""

from malaprop.runs.cluster.crew import Crew
from malaprop.runs.cluster.session import join

__all__ = ["Crew", "join"]
