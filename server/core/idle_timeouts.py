"""Idle timeouts: ends the streams of peers that send nothing after their last game.

Invariants: a member has at most one timer. Cancelling it releases the member at once, not when the timer is due.
"""

from __future__ import annotations

from spielleiter.server.core.member import Member
from spielleiter.server.core.timer_service import Timer, TimerService


class IdleTimeouts:
    """The running idle timeouts, one for each member that has one."""

    def __init__(self, timers: TimerService) -> None:
        self._timers = timers
        self._running: dict[Member, Timer] = {}

    def start(self, member: Member, timeout: float) -> None:
        """End the stream of `member` unless it sends a packet or plays again within `timeout` seconds.

        Replaces the timeout that is running for `member`, if any.
        """
        packets_before = member.packets_received
        self.cancel(member)
        self._running[member] = self._timers.call_after(timeout, lambda _: self._end_if_idle(member, packets_before))

    def cancel(self, member: Member) -> None:
        """Cancel the timeout of `member`, if one is running."""
        timer = self._running.pop(member, None)
        if timer is not None:
            timer.cancel()

    def _end_if_idle(self, member: Member, packets_before: int) -> None:
        del self._running[member]
        if member.packets_received == packets_before and not member.rooms:
            member.peer.end()
