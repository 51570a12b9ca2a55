"""Word replacement rules that break many models, mined from data and ensembles."""
