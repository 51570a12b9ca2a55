"""One folder for each thing that a user can do with a model: audit, harden, profile and so on.

A folder does not import its neighbours; pyproject.toml lists the two exceptions with their reasons.
"""
