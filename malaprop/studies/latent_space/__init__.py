"""Natural adversaries: searches in the latent space of a generator, over images or sentences."""
