"""Whose fault it is, on the server's side.

Law: a RequestError is the sender's fault; the session turns it into the reply it deserves and nobody else notices.
A ClockError is a bug of ours. A StartError is the operator's: it stops the start with one clear line.
"""

from __future__ import annotations

import enum
import os


class ServerError(Exception):
    """Base of what this package raises; never raised itself."""


class ClockError(ServerError):
    """A clock was used wrongly."""


class StartError(ServerError):
    """The server cannot start as it was told to; the text says what to change."""


def os_error_text(error: OSError) -> str:
    """``path: Permission denied`` for people; without the path where none is known, and without the number."""
    reason = error.strerror or str(error)
    return (
        f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, str | bytes | os.PathLike) else reason
    )


class Fault(enum.Enum):
    """What was wrong with a request; the values name counters and log fields."""

    WRONG_PASSWORD = "wrong_password"  # noqa: S105 - the name of a fault
    GUESSES_WAITING = "guesses_waiting"  # so many wrong passwords that none is looked at
    UNAUTHENTICATED = "unauthenticated"
    UNKNOWN_RESERVATION = "unknown_reservation"
    UNKNOWN_GAME_TYPE = "unknown_game_type"
    NO_GAME_TYPE = "no_game_type"
    OTHER_GAME = "other_game"
    UNKNOWN_ROOM = "unknown_room"
    ROOM_FULL = "room_full"
    NOT_A_MEMBER = "not_a_member"
    NOT_A_MOVE = "not_a_move"
    NOT_YOUR_TURN = "not_your_turn"
    ILLEGAL_MOVE = "illegal_move"
    UNREADABLE_MOVE = "unreadable_move"
    BAD_SLOTS = "bad_slots"
    SERVER_PACKET = "server_packet"
    UNKNOWN_PLAYER = "unknown_player"
    NO_TEST_MODE = "no_test_mode"
    FORBIDDEN_HERE = "forbidden_here"  # what the sender's port is not for
    SEATS_PER_CONNECTION = "seats_per_connection"  # as many as there may be
    ROOMS_WAITING = "rooms_waiting"  # as many as there may be
    OBSERVERS_PER_ROOM = "observers_per_room"  # as many as there may be


class RequestError(ServerError):
    """A request that cannot be granted. `str(error)` is the text of the reply, `fault` the kind.

    `is_answered` is False where everything that is said of it has been said.
    """

    def __init__(self, fault: Fault, text: str, *, is_answered: bool = True) -> None:
        super().__init__(text)
        self.fault = fault
        self.is_answered = is_answered
