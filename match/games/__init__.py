"""One game of a match: its server, its players, what is observed of it, and its verdict."""
