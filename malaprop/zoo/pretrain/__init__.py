"""Pre-trains small encoders, for where no hub is in reach."""
