"""See graphs."""
