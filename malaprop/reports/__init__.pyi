"""The public names of malaprop.frame.report, under the name that scripts know."""

from malaprop.frame.report import *  # noqa: F403 - the stub there has __all__
from malaprop.frame.report import __all__ as __all__
