"""How long a level may search for one move.

Invariants: the work of a level is given by numbers, not by time, so a budget is used up only on a very slow machine.
Time in which others use the processor counts only if the game's own time limit would pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

LONGEST_SEARCH: Final = 1.0
"""Seconds of processor time after which a search is cut."""
LONGEST_WAIT: Final = 1.8
"""Seconds after which a search is cut if the limit for a move is not known. Servers of the contest wait for 2 s."""


class SearchBudget:
    """The time for one move, which begins now.

    - `wait`: seconds of wall-clock time; infinite if there is no limit for a move.
    - `clock`: returns the processor time of the searching thread, in seconds.
    - `wall_clock`: returns the present instant, in seconds.
    """

    def __init__(
        self,
        wait: float = LONGEST_WAIT,
        clock: Callable[[], float] = time.thread_time,
        wall_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.was_cut = False
        """Whether a search has found it used up."""
        self._clock, self._end = clock, clock() + LONGEST_SEARCH
        self._wall_clock, self._wall_end = wall_clock, wall_clock() + wait

    def is_used_up(self) -> bool:
        """Whether the search must end now."""
        if self._clock() >= self._end or self._wall_clock() >= self._wall_end:
            self.was_cut = True
        return self.was_cut
