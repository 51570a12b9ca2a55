"""The claims of the five papers, one file a paper, and the table of all of them."""

from __future__ import annotations

from malaprop.papers.claims.by_paper.attentive import ATTENTIVE
from malaprop.papers.claims.by_paper.differences import add_settings
from malaprop.papers.claims.by_paper.firebert import FIREBERT
from malaprop.papers.claims.by_paper.hotflip import FLIPS
from malaprop.papers.claims.by_paper.natural import LATENT
from malaprop.papers.claims.by_paper.universal import UNIVERSAL
from malaprop.papers.claims.claim import Paper

PAPERS: tuple[Paper, ...] = tuple(map(add_settings, (UNIVERSAL, ATTENTIVE, LATENT, FIREBERT, FLIPS)))
