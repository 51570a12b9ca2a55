"""Datasets: packaged names, files, and the hub."""

from malaprop.data.base import SPLITS, Dataset, load, names, need_two_labels, of

__all__ = ["SPLITS", "Dataset", "load", "names", "need_two_labels", "of"]
