"""Small encoders pre-trained here, for where no hub is in reach."""
