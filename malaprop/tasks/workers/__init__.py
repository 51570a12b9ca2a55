"""Workers: who does the tasks. This process, several on this machine, or those of a Ray cluster."""
