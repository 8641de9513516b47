"""Peers that are in no game any more and are sent away unless they say something.

Invariants: each peer has one timer at most. A peer that is forgotten is not kept in memory until its timer comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from spielleiter.server.core.host import Timer
from spielleiter.server.core.peer import Peer


class TimerService(Protocol):
    """Calls things at their time; `callback(now)` must return at once."""

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> Timer: ...

    def call_after(self, delay: float, callback: Callable[[float], None]) -> Timer: ...


class IdlePeers:
    """Ends the streams of those who have nothing to say."""

    def __init__(self, timers: TimerService) -> None:
        self._timers = timers
        self._known: dict[Peer, Timer] = {}

    def watch(self, peer: Peer, timeout: float) -> None:
        """End the stream of `peer` unless it says something or plays again within `timeout` seconds."""
        heard = peer.heard
        self.forget(peer)
        self._known[peer] = self._timers.call_after(timeout, lambda _: self._end_if_silent(peer, heard))

    def forget(self, peer: Peer) -> None:
        """Watch `peer` no longer, if it was watched."""
        timer = self._known.pop(peer, None)
        if timer is not None:
            timer.cancel()

    def _end_if_silent(self, peer: Peer, heard: int) -> None:
        del self._known[peer]
        if peer.heard == heard and not peer.rooms:
            peer.end()
