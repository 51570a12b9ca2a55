"""The zoo: models by name, the networks they stand for, their training and their folders."""
