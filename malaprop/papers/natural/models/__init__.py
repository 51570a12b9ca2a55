"""Generative models of images and sentences, and image classifiers as victims."""
