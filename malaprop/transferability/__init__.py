"""Whether an attack on one model carries over to another, and which ensemble carries over best."""
