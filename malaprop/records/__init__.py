"""The public names of malaprop.frame.records, under the name that scripts know."""

from malaprop.frame.records import __all__, __getattr__  # noqa: F401 - Python looks both up here
