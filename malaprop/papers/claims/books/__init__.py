"""The five papers."""

from __future__ import annotations

from malaprop.papers.claims.books.attentive import ATTENTIVE
from malaprop.papers.claims.books.firebert import FIREBERT
from malaprop.papers.claims.books.flips import FLIPS
from malaprop.papers.claims.books.latent import LATENT
from malaprop.papers.claims.books.universal import UNIVERSAL
from malaprop.papers.claims.claim import Paper

PAPERS: tuple[Paper, ...] = (UNIVERSAL, ATTENTIVE, LATENT, FIREBERT, FLIPS)
