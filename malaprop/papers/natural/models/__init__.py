"""Generative models of images and sentences, and the image classifiers that they are tried on."""
