"""Tournaments: their file, their kinds and their progress."""
