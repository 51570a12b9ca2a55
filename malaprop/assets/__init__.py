"""Resources from outside: listed, hashed, cached; read as data, never installed or run."""
