"""Tournaments: the file that describes one, pairing by kind, standings and progress."""
