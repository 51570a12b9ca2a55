"""What makes a victim harder to break."""
