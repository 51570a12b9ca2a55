"""Reports made from records alone: one HTML file, or a table in the terminal."""

from malaprop.frame.report.diff import Patch, Piece, mark_changes, patches
from malaprop.frame.report.page import render, write_report
from malaprop.frame.report.terminal import print_summary

__all__ = ["Patch", "Piece", "mark_changes", "patches", "print_summary", "render", "write_report"]
