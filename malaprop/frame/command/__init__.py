"""The conversion of settings classes to terminal commands, and the terminal's output while they run."""
