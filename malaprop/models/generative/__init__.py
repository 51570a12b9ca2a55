"""Models that generate what victims read: images and sentences from points of a dense space."""
