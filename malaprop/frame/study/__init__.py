"""Settings, options and the conduct of any study, and the tasks that several studies share."""
