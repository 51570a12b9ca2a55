"""Natural adversaries: changes on the manifold of the data, found in the latent space of a generative model."""
