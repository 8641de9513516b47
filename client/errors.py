"""What can go wrong on the client's side, one class for each reason.

Invariants: whatever the packages below raise because of the peer or the network leaves this package as a ClientError,
whose text is one line for people. Bugs of this program are not among them.
"""

from __future__ import annotations

import dataclasses
import enum
import reprlib
from collections.abc import Iterator
from typing import get_type_hints

from spielleiter.game.api import State
from spielleiter.protocol.messages import AuthenticateRequest, Message


class ClientError(Exception):
    """Base of all; never raised itself."""


class CannotConnectError(ClientError):
    """Nobody listens there, or there is no such address."""


class ConnectionLostError(ClientError):
    """The connection broke, or the server ended it before it had answered."""


class ServerProtocolError(ClientError):
    """The server sent what this client does not understand."""


class RequestRefusedError(ClientError):
    """The server refused a request; the text is the server's own. `request` as it came back, None if it did not."""

    def __init__(self, message: str, request: Message | None = None) -> None:
        super().__init__(message)
        self.request = request


class AuthenticationError(RequestRefusedError):
    """The password is wrong, or this server lets nobody become an administrator."""


class UnspeakableError(ClientError):
    """The edition that is spoken has no packet for what was to be said, or a text in it cannot be encoded as UTF-8."""


class NoStatusError(ClientError):
    """The server does not tell its status: it is not this project's, or too old for it."""


class StrategyError(ClientError):
    """A strategy has no answer to a position."""


class NotAMoveError(StrategyError):
    """A strategy returned, or a responder sent, something that is not a move of the game that is played.

    `value` is what it was. A move against the rules is not among them: it is sent, and the server judges it.
    """

    def __init__(self, value: object, state: State | None = None) -> None:
        """`state`: the position that was asked about; the message names a type of move that is possible there.

        If `value` is of that type, the message names its wrong fields.
        """
        example = next(iter(state.generate_legal_moves()), None) if state is not None else None
        wrong = list(_wrong_fields(value)) if type(value) is type(example) else []
        if value is None:
            text = "None is not a move; a strategy has to return its move (is a return statement missing?)"
        elif wrong:
            text = f"this {type(value).__name__} cannot be sent: {'; '.join(wrong)}"
        else:
            text = f"{reprlib.repr(value)} of type {type(value).__name__} cannot be sent as a move of this game"
        if example is not None and not wrong:
            text += f"; expected a {type(example).__name__}, such as those of state.generate_legal_moves()"
        super().__init__(text)
        self.value = value


def _wrong_fields(move: object) -> Iterator[str]:
    """For each field of a dataclass whose value is not of the field's type: what it is, and what was expected."""
    if not dataclasses.is_dataclass(move):
        return
    types = get_type_hints(type(move))
    for field in dataclasses.fields(move):
        value, expected = getattr(move, field.name), types[field.name]
        if isinstance(expected, enum.EnumType):
            try:
                expected(value)  # the number of a member does as well
            except ValueError:
                example = f"{expected.__name__}.{next(iter(expected)).name}"
                yield f"{field.name} is {reprlib.repr(value)}, expected a {expected.__name__} such as {example}"
        elif isinstance(expected, type) and not isinstance(value, expected):
            yield f"{field.name} is {reprlib.repr(value)}, expected a value of type {expected.__name__}"


def refusal(message: str, request: Message | None) -> RequestRefusedError:
    """The error for an `errorpacket` with this text and original request."""
    kind = AuthenticationError if isinstance(request, AuthenticateRequest) else RequestRefusedError
    return kind(message, request)
