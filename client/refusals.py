"""Makes a server's refusals readable for users.

The official server begins most refusals with the name of a Java class, and so does spielleiter. Programs may need the
name; users do not.

Invariants: text that is neither such a name nor Java's form of a refused move stays unchanged.
"""

from __future__ import annotations

import re
from typing import Final

_CLASS_NAME: Final = re.compile(r"(?<![\w.])(?:[a-z_][\w$]*\.)+[A-Z][\w$]*: ")
_INVALID_MOVE: Final = re.compile(r"\bInvalidMoveException\(mistake=(?P<mistake>.+), move=(?P<move>.*)\)", re.DOTALL)
_NOT_YOUR_TURN: Final = re.compile(r"\bNotYourTurnException\(expected=(.*?), actual=(.*?), data=(.*)\)", re.DOTALL)
_UNAUTHENTICATED: Final = re.compile(r"\bRequest \w+\(.*\) requires authentication")


def plain_text(message: str) -> str:
    """Return a server's `message` without the names of Java classes, in one line."""
    text = _CLASS_NAME.sub("", message)
    text = _INVALID_MOVE.sub(_invalid_move, text)
    text = _NOT_YOUR_TURN.sub(r"It's not your turn yet; expected: \1, got \2 (msg was \3).", text)
    text = _UNAUTHENTICATED.sub("This request requires authentication as administrator", text)
    return " ".join(text.split())


def _invalid_move(found: re.Match[str]) -> str:
    return found["mistake"] if found["move"] == "null" else f"{found['mistake']} ({found['move']})"
