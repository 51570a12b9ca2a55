"""What a user does with a model. Each folder holds all of one idea, and none imports another."""
