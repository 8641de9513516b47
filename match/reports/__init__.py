"""The reports of a match and of a tournament."""
