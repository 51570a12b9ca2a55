"""The public names of malaprop.frame.report, under the name that scripts know."""

from malaprop.frame.report import __all__, __getattr__  # noqa: F401 - Python looks both up here
