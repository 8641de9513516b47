"""The wire forms of the seasons, as values."""
