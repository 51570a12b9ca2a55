"""The five papers."""

from __future__ import annotations

from malaprop.studies.reproduce.claim import Paper
from malaprop.studies.reproduce.papers.attentive import ATTENTIVE
from malaprop.studies.reproduce.papers.firebert import FIREBERT
from malaprop.studies.reproduce.papers.flips import FLIPS
from malaprop.studies.reproduce.papers.latent import LATENT
from malaprop.studies.reproduce.papers.universal import UNIVERSAL

PAPERS: tuple[Paper, ...] = (UNIVERSAL, ATTENTIVE, LATENT, FIREBERT, FLIPS)
