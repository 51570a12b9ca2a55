"""The public names of malaprop.frame.records, under the name that scripts know."""

from malaprop.frame.records import *  # noqa: F403 - the stub there has __all__
from malaprop.frame.records import __all__ as __all__
