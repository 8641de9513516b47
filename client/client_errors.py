"""The errors of the client, one class for each reason."""

from __future__ import annotations

import enum
import re
import reprlib
from collections.abc import Iterator
from typing import Final, get_type_hints

from spielleiter.game.api import State
from spielleiter.protocol.messages import AuthenticateRequest, Message


class ClientError(Exception):
    """The base class of all errors of the client; never raised itself.

    Its text is one line that can be shown to users:

        try:
            report = play_game(strategy)
        except ClientError as error:
            print(error)
    """


class CannotConnectError(ClientError):
    """No server listens at this address, or there is no such address."""


class ConnectionLostError(ClientError):
    """The connection broke, or the server ended it before it had answered."""


class ServerProtocolError(ClientError):
    """The server sent something that this client cannot read."""


class RequestRefusedError(ClientError):
    """The server refused a request; the error's text is that of the server.

    `request` is the refused request as the server returned it, or None if it did not return it.
    """

    def __init__(self, message: str, request: Message | None = None) -> None:
        super().__init__(message)
        self.request = request


class AuthenticationError(RequestRefusedError):
    """The password is wrong, or this server accepts no administrators."""


class UnspeakableError(ClientError):
    """A message cannot be sent: this edition has no packet for it, or a text in it cannot be encoded as UTF-8."""


class NoStatusError(ClientError):
    """The server does not report its status or figures: it is not spielleiter, or a version that is too old."""


class NoFeedError(ClientError):
    """The server does not tell what happens in its games: it is not spielleiter, or a version that is too old."""


class StrategyError(ClientError):
    """A strategy has no move for a position, or its answer cannot be sent."""


class NotAMoveError(StrategyError):
    """A strategy returned, or a responder sent, something that is not a move of this game.

    `value` is what was returned or sent. An illegal move is not an error of this kind: it is sent, and the server
    judges it.
    """

    def __init__(self, value: object, state: State | None = None) -> None:
        """Make the error for `value` in the position `state`; the message names the type of legal moves.

        If `value` has this type, the message names its wrong fields instead.
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
    """Yield a text for each field whose value has the wrong type: the value, and what was expected."""
    names = getattr(type(move), "__match_args__", ())  # structs and dataclasses have them
    types = get_type_hints(type(move)) if names else {}
    for name in names:
        value, expected = getattr(move, name), types[name]
        if isinstance(expected, enum.EnumType):
            try:
                expected(value)  # the value of a member is accepted as well
            except ValueError:
                example = f"{expected.__name__}.{next(iter(expected)).name}"
                yield f"{name} is {reprlib.repr(value)}, expected a {expected.__name__} such as {example}"
        elif isinstance(expected, type) and not isinstance(value, expected):
            yield f"{name} is {reprlib.repr(value)}, expected a value of type {expected.__name__}"


def refusal(message: str, request: Message | None) -> RequestRefusedError:
    """Return the error for an `errorpacket` with the text `message` and the original `request`."""
    kind = AuthenticationError if isinstance(request, AuthenticateRequest) else RequestRefusedError
    return kind(message, request)


_CLASS_NAME: Final = re.compile(r"(?<![\w.])(?:[a-z_][\w$]*\.)+[A-Z][\w$]*: ")
_INVALID_MOVE: Final = re.compile(r"\bInvalidMoveException\(mistake=(?P<mistake>.+), move=(?P<move>.*)\)", re.DOTALL)
_NOT_YOUR_TURN: Final = re.compile(r"\bNotYourTurnException\(expected=(.*?), actual=(.*?), data=(.*)\)", re.DOTALL)
_UNAUTHENTICATED: Final = re.compile(r"\bRequest \w+\(.*\) requires authentication")


def plain_text(message: str) -> str:
    """Return a server's `message` without the names of Java classes, in one line."""
    text = _CLASS_NAME.sub("", message)
    text = _INVALID_MOVE.sub(
        lambda found: found["mistake"] if found["move"] == "null" else f"{found['mistake']} ({found['move']})", text
    )
    text = _NOT_YOUR_TURN.sub(r"It's not your turn yet; expected: \1, got \2 (msg was \3).", text)
    text = _UNAUTHENTICATED.sub("This request requires authentication as administrator", text)
    return " ".join(text.split())
