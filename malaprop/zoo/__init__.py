"""The models that Malaprop trains itself: names, networks, training, and their folders."""
