"""Models beside the victim: sentence encoders, the language model, word vectors."""
