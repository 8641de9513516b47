"""A file of a tournament whose games are made up (the fixture `faults`)."""

from __future__ import annotations

STRENGTH = {"a|b": 3, "b": 2, "c": 1}
FILE = "games = 4\n" + "".join(f'[[program]]\nname = "{name}"\ncommand = "builtin:first"\n' for name in STRENGTH)
