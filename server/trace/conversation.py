"""The trace of one connection: what happened on it becomes lines of text.

Invariants: packets are written in the order in which they were complete. A packet of the client may be held until the
server has said what it thinks of it, so that a fault is marked under the packet's characters. The size of the text is
bounded; where it was cut, the text says so. Passwords are never part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from spielleiter.common.text import count_text
from spielleiter.server.trace.form import (
    FROM_SERVER,
    LEGEND,
    NOTE,
    RESET,
    STREAM_ENDS,
    TO_SERVER,
    Fault,
    head_of,
    note_line,
    packet_lines,
)
from spielleiter.server.trace.limits import TraceLimits
from spielleiter.server.trace.passwords import find_passwords, merged_spans
from spielleiter.server.trace.splitter import Part, Splitter

TITLE: Final = "# spielleiter trace, form 1"
SLOW_PACKET: Final = 0.1
"""Seconds from the first to the last byte of a packet from which they are worth a line."""

_EXCERPT: Final = re.compile(r" (?:at|with) ['\"].*", re.DOTALL)
"""In what is said about bytes: the beginning of these bytes."""
_ANSWERED_EXCERPT: Final = re.compile(rb" (?:at|with) (?P<value>(?:&apos;|&quot;)[^\"<>]*)")
"""The same in an answer of the server."""
_QUOTED: Final = re.compile(r"'([^']+)'|\"([^\"]+)\"|<([^<>/]+)>")
_CUT_BYTES: Final = 128
"""Bytes that are reserved for the line that says that the file was cut."""


@dataclass(slots=True)
class _Held:
    part: Part
    faults: list[Fault] = field(default_factory=list)


class Conversation:
    """Turns the bytes and events of one connection into text, which `write` gets line by line.

    `name` is the connection's name in the lines, `title` says more about it in the first lines. Instants are in
    seconds; `began` is the one at which the connection began. If `holds`, a client's packets are held for notes.
    """

    def __init__(
        self,
        name: str,
        title: Iterable[str],
        began: float,
        limits: TraceLimits,
        write: Callable[[str], None],
        *,
        holds: bool = False,
    ) -> None:
        self._name = name
        self._began = self._last = began
        self._limits = limits
        self._write_line = write
        self._holds = holds
        self._room = limits.file_bytes
        self._held: list[_Held] = []
        self._previous: Part | None = None
        """The last packet of the client that was written."""
        self._has_ended = {TO_SERVER: False, FROM_SERVER: False}
        self._splitters = _splitters(limits)
        self._hides_excerpts = False
        """Whether excerpts of refused bytes may show a part of a password."""
        self.is_over = False
        """Whether nothing more will be written."""
        for line in (TITLE, *(f"# {each}" for each in title), *LEGEND):
            self._write(line)

    @property
    def holds_packets(self) -> bool:
        """Whether packets are held at the moment."""
        return bool(self._held)

    # -- what happens on the connection -----------------------------------------------------------------------------

    def event(self, direction: str, instant: float, text: str) -> None:
        """Write a line for something that is not a packet, such as the beginning of the connection."""
        self.release()
        self._write(note_line(self._head(instant, direction), text))

    def add(self, direction: str, instant: float, data: bytes) -> None:
        """Add bytes that were sent in `direction`; ``b""`` means that its stream has ended."""
        if self.is_over:
            return
        splitter = self._splitters[direction]
        if data:
            for part in splitter.feed(data, instant):
                self._take(direction, part)
        elif not self._has_ended[direction]:
            self._has_ended[direction] = True
            self._finish(direction)
            self.event(direction, instant, STREAM_ENDS)

    def missing(self, direction: str, instant: float, count: int) -> None:
        """Note that `count` bytes were not recorded."""
        if not self.is_over:
            for part in self._splitters[direction].miss(count, instant):
                self._take(direction, part)

    def note(self, instant: float, text: str, packet: int | None = None, position: int | None = None) -> None:
        """Say what the server thinks of the client's packet with the number `packet`; None: of no packet.

        `position` is the index of the wrong byte, from the end of the packet before; if it is None, a value that
        `text` quotes is marked.
        """
        if self.is_over:
            return
        if packet is None:
            self.event(NOTE, instant, text)
            return
        splitter = self._splitters[TO_SERVER]
        if position is not None and packet == 1:
            position -= splitter.root_bytes
        if packet > splitter.number:  # the server does not wait for its end
            for part in splitter.abandon():
                self._take(TO_SERVER, part)
        held = next((each for each in self._held if each.part.number == packet), None)
        if held is not None:
            held.faults.append(_fault(held.part, text, position))
            return
        self.release()
        if self._previous is not None and self._previous.number == packet:
            previous = self._previous
            fault = _fault(previous, f"packet {packet}: {text}", position)
            self._write_lines(self._head(instant, NOTE), previous, [fault])
            return
        self.event(NOTE, instant, f"packet {packet}: {text}")

    def reset(self, direction: str, instant: float) -> None:
        """Note that one side has broken the connection."""
        if self.is_over:
            return
        self._finish(direction)
        self.event(direction, instant, RESET)

    def close(self, instant: float, why: str = "") -> None:
        """Write what is left, and the end."""
        if self.is_over:
            return
        for direction in (TO_SERVER, FROM_SERVER):
            self._finish(direction)
        self.release()
        if why:
            self._write(note_line(self._head(instant, NOTE), why))
        self.is_over = True

    def cut(self, why: str) -> None:
        """End the text here, and say why."""
        if not self.is_over:
            self.is_over = True
            self._held.clear()
            self._splitters = _splitters(self._limits)  # without what the others have kept
            self._write_line(f"# cut: {why}; what follows was not recorded")

    def release(self) -> None:
        """Write the packets that are held."""
        held, self._held = self._held, []
        for each in held:
            self._write_part(TO_SERVER, each.part, each.faults)

    # -- lines ------------------------------------------------------------------------------------------------------

    def _finish(self, direction: str) -> None:
        for part in self._splitters[direction].finish():
            self._take(direction, part)

    def _take(self, direction: str, part: Part) -> None:
        if direction == TO_SERVER and self._holds and part.number:
            self._held.append(_Held(part))
            return
        self.release()
        self._write_part(direction, part, [])

    def _write_part(self, direction: str, part: Part, faults: list[Fault]) -> None:
        if self.is_over:
            return
        if direction == TO_SERVER and part.number:
            self._previous = part
        if part.fault is not None and not faults:
            faults = [part.fault]
        if part.data and part.last - part.first >= SLOW_PACKET:
            delay = f"{part.last - part.first:.3f} s"
            faults = [*faults, Fault(f"it arrived in {count_text(part.pieces, 'piece')}, {delay} from first to last")]
        self._write_lines(self._head(part.last, direction), part, faults)

    def _write_lines(self, head: str, part: Part, faults: list[Fault]) -> None:
        passwords = _passwords_of(part)
        if passwords and faults:
            self._hides_excerpts = True
            faults = [replace(fault, text=_EXCERPT.sub("", fault.text)) for fault in faults]
        if self._hides_excerpts:
            excerpts = [found.span("value") for found in _ANSWERED_EXCERPT.finditer(part.data)]
            passwords = merged_spans([*passwords, *excerpts])
        for line in packet_lines(head, part.data, passwords, faults, part.left_out):
            self._write(line)

    def _head(self, instant: float, direction: str) -> str:
        since, self._last = max(0.0, instant - self._last), max(instant, self._last)
        return head_of(max(0.0, instant - self._began), since, self._name, direction)

    def _write(self, line: str) -> None:
        if self.is_over:
            return
        size = len(line.encode("utf-8", "surrogateescape")) + 1
        if size + _CUT_BYTES > self._room:
            self.cut(f"this file has reached its limit of {self._limits.file_bytes} bytes")
            return
        self._room -= size
        self._write_line(line)


def _splitters(limits: TraceLimits) -> dict[str, Splitter]:
    return {
        TO_SERVER: Splitter(limits.client_packet_bytes, limits.unreadable_bytes),
        FROM_SERVER: Splitter(limits.server_packet_bytes, limits.unreadable_bytes),
    }


def _passwords_of(part: Part) -> list[tuple[int, int]]:
    """Return the spans of passwords in a part, also of one that has begun before it."""
    skipped = len(part.before)
    spans = find_passwords(part.before + part.data) if skipped else find_passwords(part.data)
    return [(max(0, start - skipped), end - skipped) for start, end in spans if end > skipped]


def _fault(part: Part, text: str, position: int | None) -> Fault:
    """Return the fault that `text` describes, with its place in `part` if it can be found."""
    if position is not None:
        return Fault(text, min(position, len(part.data)))
    for found in _QUOTED.finditer(text):
        word = next(filter(None, found.groups())).encode()
        start = part.data.find(word)
        if start >= 0:
            return Fault(text, start, start + len(word))
    return Fault(text)
