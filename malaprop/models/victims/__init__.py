"""Models under attack. `frame.runs.load_victim` finds one by what a user types, or makes one of a Python object."""
