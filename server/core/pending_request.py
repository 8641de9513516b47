"""One request for a move, from the moment it is queued to its answer or its time limit.

Invariants: the clock of a request starts when the request was handed to the kernel, and at the latest
`delivery_timeout` seconds after it was queued: a player that does not take what it is sent cannot keep its own clock
from starting. The player's input is looked at when the clock starts and when a limit has passed: no verdict is made
while bytes lie unread, and where nothing was there, nothing that comes later can be taken for an answer in time. A
player whose bytes delay the verdict, by a second at most, does not make the server look late. Once forgotten, a request
does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.host import RoomHost, Timer
from spielleiter.server.core.player_slot import PlayerSlot

SECOND_LOOK: Final = 0.01  # seconds until a verdict is tried again when bytes have arrived that nobody has read
LAST_LOOK: Final = 1.0  # seconds after the first look at which a peer that keeps bytes dripping is judged all the same
LOOK_DELAY: Final = 0.05
"""Seconds after the soft limit at which the input is looked at: the kernel may have stamped bytes that it is still busy
to hand over, and these are not late."""

ExpiredCallback = Callable[[float, float, float], None]
"""Called with the think time, the instant of the verdict and how late that was, in seconds."""


class PendingMove:
    """The request that `player_slot` has to answer; `on_expired` is called once if the hard limit passes."""

    __slots__ = ("_chair", "_host", "_is_over", "_on_expired", "_timer")

    def __init__(self, host: RoomHost, player_slot: PlayerSlot, on_expired: ExpiredCallback) -> None:
        self._host = host
        self._chair = player_slot
        self._on_expired = on_expired
        self._timer: Timer | None = None
        self._is_over = False

    @property
    def seat(self) -> int:
        return self._chair.seat

    def await_delivery(self) -> None:
        """The request has been queued. If the kernel has not taken it at once, it must do so before long."""
        if not self._is_over and not self._chair.clock.is_running:
            self._timer = self._host.call_after(self._host.delivery_timeout, self.start_clock)

    def start_clock(self, now: float) -> None:
        """The request was handed to the kernel at `now`, or should have been; the first call counts."""
        clock = self._chair.clock
        if self._is_over or clock.is_running:
            return
        clock.start(now)
        self._look()
        soft, hard = clock.soft_deadline, clock.hard_deadline
        if soft is not None and (hard is None or soft + LOOK_DELAY < hard):
            self._call_at(soft + LOOK_DELAY, self._soft_limit_passed)
        elif hard is not None:
            self._await_hard_limit(hard)

    def stop_clock(self, arrival: Arrival) -> float:
        """The answer is there; returns the think time in seconds. It is 0 if the request had not left this machine."""
        self.forget()
        clock = self._chair.clock
        return clock.stop(arrival.instant) if clock.is_running else clock.answer_at_once()

    def forget(self) -> None:
        """Nobody waits for an answer any more. The clock is left to the caller."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> bool:
        """Whether input of the player lies unread; if none does, its wire remembers the instant of this look."""
        peer = self._chair.peer
        return peer is not None and peer.sink.has_unread_input()

    def _call_at(self, deadline: float, callback: Callable[[float], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._host.call_at(deadline, callback)

    def _soft_limit_passed(self, _now: float) -> None:
        self._look()
        hard = self._chair.clock.hard_deadline
        if hard is not None:
            self._await_hard_limit(hard)

    def _await_hard_limit(self, deadline: float) -> None:
        self._call_at(deadline, lambda now: self._hard_limit_passed(now - deadline, now, now))

    def _hard_limit_passed(self, lateness: float, first_look: float, now: float) -> None:
        """No answer has been read: give up, unless bytes have arrived that this server was too slow to read.

        However late this server is itself (the whole machine may have slept), it looks. `lateness` is what its looks
        were late together; that it looks again is the doing of the player, who may keep bytes dripping or be held up
        for a flood of its own.
        """
        if self._look() and now < first_look + LAST_LOOK:
            due = now + SECOND_LOOK
            self._call_at(due, lambda later: self._hard_limit_passed(lateness + later - due, first_look, later))
            return
        self.forget()
        self._on_expired(self._chair.clock.stop(now), now, max(0.0, lateness))
