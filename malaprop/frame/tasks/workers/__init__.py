"""Workers that do tasks: this process, several processes on this machine, or actors of a Ray cluster."""
