"""The errors of the server: those of a peer's request, and of the operator's configuration."""

from __future__ import annotations

import enum


class ServerError(Exception):
    """The base class of this package's errors; never raised itself."""


class StartError(ServerError):
    """The server cannot start as configured; the text says in one line what to change."""


class Fault(enum.Enum):
    """Why a request was refused; the values are the names of counters and are written to the log."""

    WRONG_PASSWORD = "wrong_password"  # noqa: S105 - the name of a fault
    UNAUTHENTICATED = "unauthenticated"
    UNKNOWN_RESERVATION = "unknown_reservation"
    UNKNOWN_GAME_TYPE = "unknown_game_type"
    NO_GAME_TYPE = "no_game_type"
    OTHER_GAME = "other_game"
    NO_ROOM_ID = "no_room_id"
    UNKNOWN_ROOM = "unknown_room"
    ROOM_FULL = "room_full"
    NOT_A_MEMBER = "not_a_member"
    NOT_A_MOVE = "not_a_move"
    NOT_YOUR_TURN = "not_your_turn"
    ILLEGAL_MOVE = "illegal_move"
    UNREADABLE_MOVE = "unreadable_move"
    INCOMPLETE_MOVE = "incomplete_move"
    BAD_SLOTS = "bad_slots"
    SERVER_PACKET = "server_packet"
    UNKNOWN_PLAYER = "unknown_player"
    NO_TEST_MODE = "no_test_mode"
    FORBIDDEN_HERE = "forbidden_here"  # a request of administrators, on a port that allows none
    FOREIGN_SEAT = "foreign_seat"  # a request for a seat or a room that is not the one of the sender's port
    SEATS_PER_CONNECTION = "seats_per_connection"  # the limit of this name
    ROOMS_WAITING = "rooms_waiting"  # the limit of this name
    BAD_POSITION = "bad_position"  # no game can start from it
    FOLLOWERS = "followers"  # there are too many
    FOLLOWS_ALREADY = "follows_already"
    OBSERVERS_PER_ROOM = "observers_per_room"  # the limit of this name


class RequestError(ServerError):
    """A request that cannot be granted, by a fault of its sender. The session answers it; no other peer notices.

    `str(error)` is the text of the reply, `fault` the reason.
    `needs_reply` is False if no further reply is to be sent, because the sender has been informed already.
    """

    def __init__(self, fault: Fault, text: str, *, needs_reply: bool = True) -> None:
        super().__init__(text)
        self.fault = fault
        self.needs_reply = needs_reply
