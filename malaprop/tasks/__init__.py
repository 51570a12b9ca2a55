"""Tasks: what a study is made of. A task never writes, it yields; one executor writes what tasks yield."""
