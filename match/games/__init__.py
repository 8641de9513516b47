"""One game of a match: its server, its players, the facts collected about it, and its verdict."""
