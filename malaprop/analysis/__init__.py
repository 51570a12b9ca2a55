"""What an attack did to a model, read from its insides."""
