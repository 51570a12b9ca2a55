"""The commands of natural adversaries: settings, tasks, and what they add up to."""
