"""Reports made from records alone: one HTML file, or a table in the terminal."""

from malaprop.reports.diff import Patch, Piece, mark_changes, patches
from malaprop.reports.page import render, write_report
from malaprop.reports.terminal import print_summary

__all__ = ["Patch", "Piece", "mark_changes", "patches", "print_summary", "render", "write_report"]
