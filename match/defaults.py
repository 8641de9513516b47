"""What the command line of a match shows in its help. Nothing is imported here, so that the help is fast."""

from __future__ import annotations

from typing import Final

DEFAULT_GAMES: Final = 100
DEFAULT_MIN_GAMES: Final = 20
"""The number of counted games before which a test of significance does not end a match."""

SEQUENTIAL: Final = "sequential"
RANDOM: Final = "random"
ORDERS: Final = (SEQUENTIAL, RANDOM)
"""The orders that openings can be put into; the first one is the default."""
