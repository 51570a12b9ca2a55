"""Studies in which people judge adversarial examples."""
