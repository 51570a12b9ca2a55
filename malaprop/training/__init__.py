"""Training of every kind of model: one loop, one state on disk, one card."""
