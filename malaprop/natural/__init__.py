"""Natural adversaries: changes that stay on the manifold of the data, found in the latent space of a generative model."""
