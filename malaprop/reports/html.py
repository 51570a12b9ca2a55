"""The old name of the page."""

from malaprop.reports.page import render, write_report

__all__ = ["render", "write_report"]
