"""Models under attack. `load.load` finds one by what a user types, `load.wrap` makes one of a Python object."""
