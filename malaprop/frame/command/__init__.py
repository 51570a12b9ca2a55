"""How a settings class becomes a command of the terminal, and what the terminal shows meanwhile."""
