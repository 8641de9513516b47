"""The settings and the places they come from."""
