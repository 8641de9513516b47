"""A position in which the built-in players of the tests choose moves."""

from __future__ import annotations

import random
from typing import Final

from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions

STATE: Final = choose_editions({}, {})[DEFAULT_GAME_TYPE].game.new_state(random.Random(1))
"""The first position of a game of the current season."""
