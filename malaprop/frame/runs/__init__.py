"""One attack over one dataset: loads the victim, makes the attack, runs it and gives the outcomes."""
