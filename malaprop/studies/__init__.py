"""Studies and commands: settings, the tasks they are made of, and what the tasks add up to."""
