"""The phases of a session, the transitions between them, and the state that its parts share.

Invariants: a session starts as SILENT, and its phases only move forward. Our side of the stream is open until
CLOSING. A trigger without an entry in `TRANSITIONS` has no effect in that phase.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import trio


class Phase(enum.Enum):
    """The phases of a session, in order."""

    SILENT = "silent"  # the peer has sent nothing
    FIRST_PACKET = "first packet"  # bytes have arrived, but no complete packet
    SERVING = "serving"  # at least one packet has arrived
    CLOSING = "closing"  # our stream has ended: the queue is flushed, input is discarded
    CLOSED = "closed"  # the peer's stream has ended as well, or the connection is lost


# bound here for every packet: up to Python 3.11, looking up a member in its enum takes several times as long
SILENT: Final = Phase.SILENT
SERVING: Final = Phase.SERVING


class Trigger(enum.Enum):
    """What changes the phase."""

    DATA = "data"  # bytes have arrived
    PACKET = "packet"  # a packet or the end of the stream has been understood
    STREAM_ENDED = "stream ended"  # our side of the stream has ended
    INPUT_ENDED = "input ended"  # nothing more will arrive


TRANSITIONS: Final[Mapping[tuple[Phase, Trigger], Phase]] = MappingProxyType(
    {
        (Phase.SILENT, Trigger.DATA): Phase.FIRST_PACKET,
        (Phase.FIRST_PACKET, Trigger.PACKET): Phase.SERVING,
        **{(phase, Trigger.STREAM_ENDED): Phase.CLOSING for phase in (Phase.SILENT, Phase.FIRST_PACKET, Phase.SERVING)},
        (Phase.CLOSING, Trigger.INPUT_ENDED): Phase.CLOSED,
    }
)
"""The next phase, by phase and trigger. When input ends, our stream is ended first, so CLOSED follows only CLOSING."""


def next_phase(phase: Phase, trigger: Trigger) -> Phase:
    """Return the phase after `trigger`; it is `phase` itself if the trigger has no effect there."""
    return TRANSITIONS.get((phase, trigger), phase)


class SessionState:
    """The phase of one session, shared by its tasks, its packet handler and its outbox.

    It refers to none of them, so that a session is freed as soon as it is over, without a garbage collection.
    """

    __slots__ = ("phase", "reading")

    def __init__(self) -> None:
        self.phase: Phase = SILENT
        self.reading = trio.CancelScope()
        """The scope in which packets are read and handled."""

    def advance(self, trigger: Trigger) -> None:
        """Enter the phase that follows `trigger`."""
        self.phase = next_phase(self.phase, trigger)

    def end_stream(self) -> None:
        """Note that our side of the stream has ended, and stop reading packets."""
        self.advance(Trigger.STREAM_ENDED)
        self.reading.cancel()
