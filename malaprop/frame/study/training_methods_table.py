"""Defences by name: each makes the hooks that one training loop is given."""

from malaprop.core.catalogue import Catalogue
from malaprop.frame.rooms import added

DEFENCES = Catalogue("defence", added("methods"))
