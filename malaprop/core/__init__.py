"""Plain values and protocols; the standard library and numpy alone."""
