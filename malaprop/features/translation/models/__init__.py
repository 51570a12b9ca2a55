"""Our own translation models, their training, and translators as victims."""
