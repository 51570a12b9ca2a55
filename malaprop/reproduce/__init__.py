"""The papers' claims, each with the commands that put it to the test and what their records say of it."""
