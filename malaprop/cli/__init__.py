"""Commands: one file each; each imports its work when called."""
