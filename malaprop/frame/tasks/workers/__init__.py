"""Who does the tasks: this process, several on this machine, or those of a Ray cluster."""
