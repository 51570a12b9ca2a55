"""What every page that Malaprop serves has in common: headers, limits, tokens."""
