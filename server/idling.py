"""Peers that are in no game any more and are sent away unless they say something.

Invariants: each peer has one alarm at most. A peer that is forgotten is not kept in memory until its alarm comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from server.host import Alarm
from server.peer import Peer


class AlarmClock(Protocol):
    """Calls things at their time; `callback(now)` must return at once."""

    def call_at(self, deadline: float, callback: Callable[[float], None]) -> Alarm: ...

    def call_after(self, delay: float, callback: Callable[[float], None]) -> Alarm: ...


class IdlePeers:
    """Ends the streams of those who have nothing to say."""

    def __init__(self, alarms: AlarmClock) -> None:
        self._alarms = alarms
        self._known: dict[Peer, Alarm] = {}

    def watch(self, peer: Peer, timeout: float) -> None:
        """End the stream of `peer` unless it says something or plays again within `timeout` seconds."""
        heard = peer.heard
        self.forget(peer)
        self._known[peer] = self._alarms.call_after(timeout, lambda _: self._end_if_silent(peer, heard))

    def forget(self, peer: Peer) -> None:
        """Watch `peer` no longer, if it was watched."""
        alarm = self._known.pop(peer, None)
        if alarm is not None:
            alarm.cancel()

    def _end_if_silent(self, peer: Peer, heard: int) -> None:
        del self._known[peer]
        if peer.heard == heard and not peer.rooms:
            peer.end()
