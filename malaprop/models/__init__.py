"""Target models: the zoo, its training, and victims of every kind."""
