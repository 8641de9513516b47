"""Replay files, ours and the official ones: reading them, and what is known about a game beside its replay."""
