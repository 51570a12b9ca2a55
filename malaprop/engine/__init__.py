"""The engine runs many attacks side by side: it pools their requests, and caches and counts the answers."""
