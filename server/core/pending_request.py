"""One move request, from the moment it is queued until its answer or its time limit.

Invariants: the clock of a request starts when the request has been handed to the kernel, or has been queued if that is
impossible because the player does not read (`spielleiter.server.net.outbox`). Where this cannot be told from a slow
network, the clock starts at the latest `delivery_timeout` seconds after the request was queued.
The player's input is checked before the request is sent, when the clock starts and when a limit has passed: no verdict
is made while bytes are unread, and if a check found nothing, bytes that come later cannot count as an answer in time,
nor as sent before the request. Bytes of the player can delay the verdict by one second at most, and this delay is not
reported as lateness of the server. After `cancel`, a request does nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Final

from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.player_slot import PlayerSlot
from spielleiter.server.core.room_host import RoomHost
from spielleiter.server.core.timer_service import Timer

RECHECK_INTERVAL: Final = 0.01  # seconds until the verdict is tried again if unread bytes have arrived
LONGEST_RECHECK: Final = 1.0  # seconds after the first check; after that, a peer that keeps sending is judged anyway
SOFT_CHECK_DELAY: Final = 0.05
"""Seconds between the soft limit and the check of the input. The kernel may have stamped bytes in time that it has not
made readable yet."""

ExpiredCallback = Callable[[float, float, float], None]
"""Called with the think time, the instant of the verdict and the server's own lateness, all in seconds."""


class RequestPhase(enum.Enum):
    """The phases of a move request. It starts as QUEUED, and CLOSED is final."""

    QUEUED = "queued"  # not yet handed to the kernel; the clock is not running
    DELIVERED = "delivered"  # the player's clock is running
    CLOSED = "closed"  # answered, expired or cancelled


# bound here for every move: up to Python 3.11, looking up a member in its enum takes several times as long
_QUEUED: Final = RequestPhase.QUEUED
_DELIVERED: Final = RequestPhase.DELIVERED
_CLOSED: Final = RequestPhase.CLOSED


class PendingRequest:
    """The request that the player of `player_slot` has to answer.

    `on_expired` is called once if the hard limit passes without an answer.
    """

    __slots__ = ("_had_input", "_host", "_on_expired", "_phase", "_player_slot", "_timer")

    def __init__(self, host: RoomHost, player_slot: PlayerSlot, on_expired: ExpiredCallback) -> None:
        self._host = host
        self._player_slot = player_slot
        self._on_expired = on_expired
        self._timer: Timer | None = None
        self._phase: RequestPhase = _QUEUED
        self._had_input = self._check_input()  # before the request is sent

    @property
    def seat(self) -> int:
        return self._player_slot.seat

    def start_delivery_timeout(self) -> None:
        """Limit the time until the clock starts, unless the kernel has taken the queued request already."""
        if self._phase is _QUEUED:
            self._timer = self._host.call_after(self._host.delivery_timeout, self.start_clock)

    def start_clock(self, now: float) -> None:
        """Start the clock: the request was handed to the kernel at `now`, or should have been.

        Only the first call counts.
        """
        if self._phase is not _QUEUED:
            return
        self._phase = _DELIVERED
        clock = self._player_slot.clock
        clock.start(now)
        self._check_input()
        soft, hard = clock.soft_deadline, clock.hard_deadline
        if soft is not None and (hard is None or soft + SOFT_CHECK_DELAY < hard):
            self._call_at(soft + SOFT_CHECK_DELAY, self._soft_limit_passed)
        elif hard is not None:
            self._start_hard_limit(hard)

    def is_answered_by(self, arrival: Arrival) -> bool:
        """Return whether bytes that arrived then can be an answer; False if they came before the request was sent."""
        if self._phase is not _DELIVERED or not self._had_input:  # a stamp alone is not exact enough to blame anybody
            return True
        return not self._player_slot.clock.precedes_start(arrival.instant)

    def stop_clock(self, arrival: Arrival) -> float:
        """Close the answered request and return the think time in seconds.

        The think time is 0 if the answer came before the request was delivered.
        """
        was_delivered = self._phase is _DELIVERED
        self.cancel()
        clock = self._player_slot.clock
        return clock.stop(arrival.instant) if was_delivered else clock.record_instant_answer()

    def cancel(self) -> None:
        """Close the request without an answer. The caller has to take care of the clock."""
        self._phase = _CLOSED
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_input(self) -> bool:
        """Return whether the player has unread input; if it has none, its wire remembers the instant of this check."""
        peer = self._player_slot.peer
        return peer is not None and peer.sink.has_unread_input()

    def _call_at(self, deadline: float, callback: Callable[[float], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._host.call_at(deadline, callback)

    def _soft_limit_passed(self, _now: float) -> None:
        self._check_input()
        hard = self._player_slot.clock.hard_deadline
        if hard is not None:
            self._start_hard_limit(hard)

    def _start_hard_limit(self, deadline: float) -> None:
        self._call_at(deadline, lambda now: self._hard_limit_passed(now - deadline, now, now))

    def _hard_limit_passed(self, lateness: float, first_check: float, now: float) -> None:
        """End the request, unless bytes have arrived that this server has not read yet.

        The input is checked no matter how late the server itself is (the machine may have been suspended). `lateness`
        is the sum of the delays of the checks, in seconds. The time between the checks is not part of it: it is caused
        by the player, whose bytes keep coming or whose flood is being slowed down.
        """
        if self._check_input() and now < first_check + LONGEST_RECHECK:
            due = now + RECHECK_INTERVAL
            self._call_at(due, lambda later: self._hard_limit_passed(lateness + later - due, first_check, later))
            return
        self.cancel()
        self._on_expired(self._player_slot.clock.stop(now), now, max(0.0, lateness))
