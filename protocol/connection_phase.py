"""The phases of a connection, one for each direction, and the transitions between them.

Invariants: the two directions do not depend on each other, and CLOSED is final in both. A trigger without an entry in
the tables has no effect in that phase.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


class InputPhase(enum.Enum):
    """The phases of the peer's stream. It starts as READING."""

    READING = "reading"  # packets are read as they arrive
    DRAINING = "draining"  # the input is over; packets that arrived before are still read
    ENDED = "ended"  # nothing more is read after the end tag or an error; the input is not over yet
    CLOSED = "closed"  # the input is over, and everything in it has been read


class InputTrigger(enum.Enum):
    """What changes the phase of the input."""

    END_OF_INPUT = "end of input"  # nothing more will arrive
    END_TAG = "end tag"  # the end tag of the peer's stream has been read
    ERROR = "error"  # something could not be understood
    EXHAUSTED = "exhausted"  # all complete packets that have arrived have been read


class OutputPhase(enum.Enum):
    """The phases of our stream. It starts as IDLE."""

    IDLE = "idle"  # nothing has been sent
    OPEN = "open"  # the root's start tag has been sent
    CLOSED = "closed"  # the end tag has been sent


class OutputTrigger(enum.Enum):
    """What changes the phase of the output."""

    PACKET = "packet"
    CLOSE = "close"


INPUT_TRANSITIONS: Final[Mapping[tuple[InputPhase, InputTrigger], InputPhase]] = MappingProxyType(
    {
        (InputPhase.READING, InputTrigger.END_OF_INPUT): InputPhase.DRAINING,
        (InputPhase.READING, InputTrigger.END_TAG): InputPhase.ENDED,
        (InputPhase.READING, InputTrigger.ERROR): InputPhase.ENDED,
        (InputPhase.DRAINING, InputTrigger.END_TAG): InputPhase.CLOSED,
        (InputPhase.DRAINING, InputTrigger.ERROR): InputPhase.CLOSED,
        (InputPhase.DRAINING, InputTrigger.EXHAUSTED): InputPhase.CLOSED,
        (InputPhase.ENDED, InputTrigger.END_OF_INPUT): InputPhase.CLOSED,
    }
)

OUTPUT_TRANSITIONS: Final[Mapping[tuple[OutputPhase, OutputTrigger], OutputPhase]] = MappingProxyType(
    {
        (OutputPhase.IDLE, OutputTrigger.PACKET): OutputPhase.OPEN,
        (OutputPhase.IDLE, OutputTrigger.CLOSE): OutputPhase.CLOSED,
        (OutputPhase.OPEN, OutputTrigger.CLOSE): OutputPhase.CLOSED,
    }
)
