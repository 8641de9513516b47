"""What to do about a server's refusal.

Invariants: the server's own words come first, without the names of Java classes; advice follows only where the reason
is known. Output for scripts (`--json`) does not go through here: it keeps the server's words whole.
"""

from __future__ import annotations

import re
from typing import Final

from spielleiter.client.errors import ClientError, ConnectionLostError, RequestRefusedError, ServerProtocolError
from spielleiter.client.refusals import plain_text
from spielleiter.server.text.escaping import escaped

_SEASON_HINT: Final = "if this server plays another season, name it with --game or --edition"

_ADVICE: Final = (
    (
        r"Couldn't find a room with id .*",
        "its game may be over; `spielleiter admin status` lists the rooms there are",
    ),
    (
        r"Couldn't find a reservation for the provided token\.",
        "a code is good for one seat and expires; `spielleiter admin prepare` gives new ones",
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
        r"start a server with `spielleiter serve --port \1`, or name another place with --host and --port",
    ),
    (
        r"Failed to authenticate as administrator|This request requires authentication as administrator",
        "give the server's password with --password or in the variable SPIELLEITER_PASSWORD",
    ),
)
"""Refusals of the official server and of ours, and what this program says itself; and what can be done."""


def refusal_text(message: str) -> str:
    """One line for people: the reason in the server's words and, where it is known, what to do."""
    text = escaped(plain_text(message))
    for pattern, advice in _ADVICE:
        if found := re.fullmatch(pattern, text):
            return f"{text.removesuffix('.')}; {found.expand(advice)}"
    return text


def failure_text(error: ClientError, *, keeps_words: bool, is_season_known: bool = True) -> str:
    """One line for what made a command fail.

    `keeps_words`: a server's refusal is not touched, for scripts. `is_season_known`: the user or the server said which
    season is played; if not, a server that cannot be understood may be of another one, and the line says what to try.
    """
    text = str(error) if keeps_words and isinstance(error, RequestRefusedError) else refusal_text(str(error))
    is_strange = isinstance(error, ConnectionLostError | ServerProtocolError)
    return f"{text}; {_SEASON_HINT}" if is_strange and not is_season_known else text
