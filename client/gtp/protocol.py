r"""GTP, the Go Text Protocol, version 2: commands to bytes, and bytes to responses.

A command is a line. A response begins with ``=`` (success) or ``?`` (failure), repeats the number of its command, and
ends with an empty line:

>>> encode_command(7, "play", "1", "a20,b20")
b'7 play 1 a20,b20\n'
>>> reader = ResponseReader()
>>> reader.feed(b"=7 \n\n?8 illegal")
[Response(number=7, is_success=True, text='')]
>>> reader.feed(b" move\r\n\n")
[Response(number=8, is_success=False, text='illegal move')]

Invariants: this module has no input and output. What an engine writes outside of a response is ignored, but a response
and all text before it are limited to `MAX_SIZE` bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from spielleiter.client.gtp.errors import EngineProtocolError

MAX_SIZE: Final = 1 << 20
"""The greatest number of bytes from the end of one response to the end of the next one."""

_FIRST_LINE: Final = re.compile(r"([=?])(\d{0,9})(?:\s+(.*))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Response:
    """A response to a command. `number` is that of the command, or None if the engine left it out."""

    number: int | None
    is_success: bool
    text: str


def encode_command(number: int, name: str, *arguments: str) -> bytes:
    """Return the line for the command `name`. `number` comes back with the response.

    Raises ValueError for a line break in a word, since it would begin another command.
    """
    line = " ".join((str(number), name, *arguments))
    if not line.isprintable():
        raise ValueError(f"control characters in the command {line!r}")
    return line.encode() + b"\n"


class ResponseReader:
    """Collects what an engine writes, and returns the responses in it."""

    def __init__(self) -> None:
        self._rest = b""
        self._lines: list[str] | None = None
        """The lines of the response that is being read; None between two responses."""
        self._head: tuple[int | None, bool] = (None, False)
        self._size = 0

    def feed(self, data: bytes) -> list[Response]:
        """Return the responses that `data` completes. Raises EngineProtocolError if there is too much text."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        responses = []
        for line in lines:
            self._size += len(line) + 1
            response = self._read_line(_clean(line))
            if response is not None:
                responses.append(response)
                self._size = 0
        if self._size + len(self._rest) > MAX_SIZE:
            raise EngineProtocolError(f"it wrote more than {MAX_SIZE} bytes without a complete response")
        return responses

    def _read_line(self, line: str) -> Response | None:
        if self._lines is None:
            match = _FIRST_LINE.fullmatch(line)
            if match:
                self._head = (int(match[2]) if match[2] else None, match[1] == "=")
                self._lines = [match[3] or ""]
            return None
        if line:
            self._lines.append(line)
            return None
        text = "\n".join(self._lines).strip()
        self._lines = None
        return Response(*self._head, text)


def _clean(line: bytes) -> str:
    """Return the line as a text without control characters, in which a tab is a space, as the standard asks."""
    text = line.decode("utf-8", "replace").replace("\t", " ")
    return "".join(character for character in text if character.isprintable()).rstrip()
