"""Studies of translation models under attack."""
