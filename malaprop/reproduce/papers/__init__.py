"""The five papers."""

from __future__ import annotations

from malaprop.reproduce.claim import Paper
from malaprop.reproduce.papers.attentive import ATTENTIVE
from malaprop.reproduce.papers.firebert import FIREBERT
from malaprop.reproduce.papers.flips import FLIPS
from malaprop.reproduce.papers.latent import LATENT
from malaprop.reproduce.papers.universal import UNIVERSAL

PAPERS: tuple[Paper, ...] = (UNIVERSAL, ATTENTIVE, LATENT, FIREBERT, FLIPS)
