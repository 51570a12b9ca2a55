"""The speed comparison: ours and TextAttack on the same victim, texts and candidates, and forward passes alone."""
