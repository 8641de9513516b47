"""Refusals of a server, as text for people: the reason and what to do about it.

Invariants: the server's own words come first, without the names of Java classes; advice follows only if the reason is
known. Output for scripts (`--json`) keeps the server's words unchanged.
"""

from __future__ import annotations

import re
from typing import Final

from spielleiter.client.client_errors import (
    ClientError,
    ConnectionLostError,
    RequestRefusedError,
    ServerProtocolError,
    plain_text,
)
from spielleiter.common.text import escaped

_SEASON_HINT: Final = "if this server plays another season, name it with --game or --edition"

_ADVICE: Final = (
    (
        r"Couldn't find a room with id .*",
        "its game may be over; `spielleiter admin status` lists the rooms that exist",
    ),
    (
        r"Couldn't find a reservation for the provided token\.",
        "a code is valid for one seat and expires; `spielleiter admin prepare` creates new ones",
    ),
    (
        r"Room .* is already full!",
        "take a reserved seat with --reservation, or leave --room out to join any open game",
    ),
    (
        r"Unknown GameType UUID: .*",
        "choose one of these with --game",
    ),
    (
        r"cannot connect to .*:(\d+) \(nobody listens there\)",
        r"start a server with `spielleiter serve --port \1`, or name another one with --host and --port",
    ),
    (
        r"Failed to authenticate as administrator|This request requires authentication as administrator",
        "give the server's password with --password or in the variable SPIELLEITER_PASSWORD",
    ),
)
"""Patterns of refusals and of errors of this program, each with advice."""


def refusal_text(message: str) -> str:
    """One line for people: the reason in the server's words and, if it is known, what to do."""
    text = escaped(plain_text(message))
    for pattern, advice in _ADVICE:
        if found := re.fullmatch(pattern, text):
            return f"{text.removesuffix('.')}; {found.expand(advice)}"
    return text


def failure_text(error: ClientError, *, keeps_words: bool, is_season_known: bool = True) -> str:
    """One line on why a command failed.

    `keeps_words`: a refusal of the server is left unchanged, for scripts. `is_season_known`: the user or the server
    named the season; if not, a server that cannot be understood may play another one, and the line says what to try.
    """
    text = str(error) if keeps_words and isinstance(error, RequestRefusedError) else refusal_text(str(error))
    is_strange = isinstance(error, ConnectionLostError | ServerProtocolError)
    return f"{text}; {_SEASON_HINT}" if is_strange and not is_season_known else text
