"""The trace of one connection: its bytes become packets (`Splitter`), and these become lines (`Conversation`).

Invariants: packets are written in the order in which they were complete, and every byte is shown or counted as left
out. Whatever a peer sends, neither memory nor the size of the text grows beyond `TraceLimits`, and nothing raises.
Passwords are never part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from spielleiter.common.text import count_text
from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import Limits
from spielleiter.protocol.packet_reader import PacketReader
from spielleiter.server.tracing import FROM_SERVER, TO_SERVER
from spielleiter.wire.trace_lines import LEGEND, NOTE, RESET, STREAM_ENDS, Mark, head_of, note_line, packet_lines

KIB: Final = 1024
MIB: Final = 1024 * 1024

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

_ROOT: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^<>]*\?>\s*)?<protocol(?:\s[^<>/]*)?>")
_LONGEST_ROOT: Final = 256
_PACKET_START: Final = re.compile(
    rb"[ \r\n]{0,16}<(?:authenticate|cancel|close|error|errorpacket|freeReservation|join|joinPrepared|joinRoom|joined"
    rb"|joinedGameRoom|left|observe|observed|pause|paused|prepare|prepared|result|room|roomWasCreated|step)[\s/>]"
)
"""The beginning of a packet that is recognised after bytes that are missing."""
_INCOMPLETE: Final = "this is not complete, and nothing follows"
_LONGEST_START: Final = 64
_OWN_LIMITS: Final = frozenset(
    {
        Refusal.PACKET_SIZE, Refusal.DEPTH, Refusal.ATTRIBUTES, Refusal.CHILDREN, Refusal.NAMES, Refusal.NAME_LENGTH
    }
)  # fmt: skip
"""Refusals that are limits of a trace and not faults of the sender."""

# A quote ends a value only if something follows that can follow a value: `pass"word` is one password.
_QUOTED_VALUE: Final = rb"""(?:"(?:[^"]|"(?![\s/>?&,.]|\Z))*|'(?:[^']|'(?![\s/>?&,.]|\Z))*)"""
_NAME: Final = rb"(?:pass(?:word|phrase|wort)|pwd)"
_CONTENT: Final = rb"(?:[^<]|<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<!)*"
"""The content of an element up to the next tag, with comments and CDATA sections."""
_FINDERS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        _NAME + rb"""["']?(?:\s*[=:][\s=:]*|\s+)(?P<value>""" + _QUOTED_VALUE + rb""")""",
        _NAME + rb"""\s*=[\s=]*(?P<value>[^\s<>"'][^\s<>]*)""",
        rb"<" + _NAME + rb"\b[^<>]*>(?P<value>" + _CONTENT + rb")",
    )
)
"""``password="..."``, also with quotes around the name, ``password=...`` and ``<password>...``."""
_AUTHENTICATE: Final = re.compile(rb"<[\w.]*authenticate\w*", re.IGNORECASE)
_JSON: Final = re.compile(rb"""[^<]*?[{\[](?=\s*["'{\[])""")
"""The beginning of JSON, up to the first name or value."""
_VALUE: Final = re.compile(rb"""\s+[\w:.-]+\s*=\s*(?:"([^"<]*)"|'([^'<]*)')""")
_TAG_END: Final = re.compile(rb"\s*(/?)>")
_TEXT: Final = re.compile(_CONTENT, re.DOTALL)
_WORDS: Final = (b"pass", b"pwd", b"authenticate")
_QUOTES: Final = (b'"', b"'")


@dataclass(frozen=True, slots=True)
class TraceLimits:
    """The limits of traces; sizes are in bytes."""

    file_bytes: int = 8 * MIB
    """Size of one file. A game of Blokus takes about 1 MiB for each player."""
    total_bytes: int = 512 * MIB
    """Size of all files that one process writes."""
    files: int = 10_000
    """Number of files that one process writes."""
    queue_bytes: int = 16 * MIB
    """Bytes that wait to be written; what comes while they wait is missing in the files."""
    client_packet_bytes: int = 64 * KIB
    """Size up to which the end of a client's packet is looked for; the rest of a longer one is left out."""
    server_packet_bytes: int = 256 * KIB
    """The same for a server's packet. A position has at most about 45 KiB."""
    unreadable_bytes: int = 4 * KIB
    """Bytes that are shown of what follows something that is not well-formed."""
    hold_time: float = 1.0
    """Seconds for which a client's packet waits for what the server says about it, so that the fault can be marked."""


TRACE_LIMITS: Final = TraceLimits()


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive bytes of one direction: the start tag of the stream, a packet, or what cannot be divided.

    `first` and `last` are the instants in seconds at which the first and the last byte arrived, `pieces` the number of
    reads. `number` is that of the packet from 1 on; 0: not a packet. `left_out` bytes after `data` are not in it.
    `before` is what came before `data` if a password may have begun there.
    """

    data: bytes
    first: float
    last: float
    pieces: int
    number: int = 0
    fault: Mark | None = None
    left_out: int = 0
    before: bytes = b""


class Splitter:
    """Takes the bytes of one direction (`feed`) and returns the parts that they complete."""

    def __init__(self, packet_bytes: int, rest_bytes: int) -> None:
        self._packet_bytes = packet_bytes
        self._rest_bytes = rest_bytes
        self._limits = Limits(packet_bytes, depth=256, attributes=4096, children=65536, names=4096, name_length=1024)
        self._reader = PacketReader(self._limits)
        self._data = bytearray()
        self._first = self._last = 0.0
        self._pieces = 0
        self.number = 0
        """The number of packets that have ended."""
        self._has_root = False
        self.root_bytes = 0
        """The bytes of the stream's start tag and of what precedes it, if it was a part of its own."""
        self._offset = 0
        """The bytes before the present packet that the reader counts to it."""
        self._refused: bytes | None = None
        """What was not well-formed; nothing is divided after it."""
        self._is_seeking = False
        """Whether bytes are skipped until a packet begins."""
        self._left_out = 0

    def feed(self, data: bytes, instant: float) -> Iterator[Part]:
        """Add bytes that arrived at `instant`; yield the parts that are complete."""
        if not self._data and not self._left_out:
            self._first = instant
            self._pieces = 0
        self._last = instant
        self._pieces += 1
        if self._refused is not None:
            self._keep_rest(data)
            return
        if self._is_seeking:
            data = self._seek(data)
            if not data:
                return
            if self._left_out:
                yield self._cut(0)
        self._data += data
        self._reader.receive(data)
        if not self._has_root:
            found = _ROOT.match(self._data, 0, _LONGEST_ROOT)
            self._has_root = found is not None or len(self._data) > _LONGEST_ROOT
            if found is not None:
                self.root_bytes = self._offset = found.end()
                yield self._cut(found.end())
        reader = self._reader
        while not reader.is_ended:
            try:
                packet = reader.next_packet()
            except RemoteProtocolError as error:
                yield from self._refuse(error)
                return
            if packet is None:
                break
            self.number += 1
            self._offset = 0
            yield self._cut(len(self._data) - reader.unread_bytes, self.number)
        if reader.is_ended:
            self._refused = b""
            yield self._cut(len(self._data) - reader.unread_bytes)
            rest = bytes(self._data)
            self._data.clear()
            if rest:
                self._keep_rest(rest)

    def miss(self, count: int, instant: float) -> Iterator[Part]:
        """Note that `count` bytes are missing here; yield what came before them, and go on at the next packet.

        The missing bytes are a part of their own at once, so that they precede what was answered to them.
        """
        yield from self.finish()
        self._refused = None
        self._first = self._last = instant
        if count:
            self._left_out = count
            yield self._cut(0)
        self._resume()

    def finish(self) -> Iterator[Part]:
        """Yield what is left when nothing more will come."""
        if self._is_seeking:
            self._left_out += len(self._data)
            self._data.clear()
        if self._data or self._left_out:
            is_packet = self._refused is None and not self._data.isspace() and bool(self._data)
            fault = Mark(_INCOMPLETE) if is_packet else None
            yield self._part(bytes(self._data), self._first, fault=fault, before=self._refused or b"")
        self._data.clear()

    def abandon(self) -> Iterator[Part]:
        """Yield the packet that is not complete, and never divide what follows."""
        if self._refused is None and not self._is_seeking and self._data:
            self._refused = bytes(self._data)
            yield self._cut(len(self._data), self.number + 1)

    def _cut(self, size: int, number: int = 0, fault: Mark | None = None) -> Part:
        """Take the first `size` bytes as a part, which also says how many bytes are left out."""
        part = self._part(bytes(self._data[:size]), self._first, number, fault)
        del self._data[:size]
        self._first = self._last
        self._pieces = 1
        return part

    def _part(self, data: bytes, first: float, number: int = 0, fault: Mark | None = None, before: bytes = b"") -> Part:
        left_out, self._left_out = self._left_out, 0
        return Part(data, first, self._last, self._pieces, number, fault, left_out, before)

    # -- what cannot be divided -------------------------------------------------------------------------------------

    def _refuse(self, error: RemoteProtocolError) -> Iterator[Part]:
        size = len(self._data)
        kept = min(size, self._packet_bytes)
        self._left_out = size - kept
        del self._data[kept:]
        if error.refusal in _OWN_LIMITS:
            yield self._cut(kept, self.number + 1)
            self.number += 1
            self._resume()
            return
        start = None if error.position is None else max(0, min(error.position - self._offset, size))
        self._refused = bytes(self._data)
        yield self._cut(kept, self.number + 1, Mark(str(error), start))

    def _keep_rest(self, data: bytes) -> None:
        kept = data[: max(0, self._rest_bytes - len(self._data))]
        self._data += kept
        self._left_out += len(data) - len(kept)

    # -- finding the next packet ------------------------------------------------------------------------------------

    def _resume(self) -> None:
        """Begin again with the next packet that can be recognised."""
        self._reader = PacketReader(self._limits)
        self._reader.receive(b"<protocol>")
        self._has_root = True
        self._offset = len(b"<protocol>")
        self._is_seeking = True

    def _seek(self, data: bytes) -> bytes:
        """Skip to the next packet; return its beginning, or nothing if none is found."""
        self._data += data
        found = _PACKET_START.search(self._data)
        skipped = max(0, len(self._data) - _LONGEST_START) if found is None else found.start()
        self._left_out += skipped
        del self._data[:skipped]
        if found is None:
            return b""
        rest = bytes(self._data)
        self._data.clear()
        self._is_seeking = False
        return rest


@dataclass(slots=True)
class _Held:
    part: Part
    faults: list[Mark] = field(default_factory=list)


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

    def _write_part(self, direction: str, part: Part, faults: list[Mark]) -> None:
        if self.is_over:
            return
        if direction == TO_SERVER and part.number:
            self._previous = part
        if part.fault is not None and not faults:
            faults = [part.fault]
        if part.data and part.last - part.first >= SLOW_PACKET:
            delay = f"{part.last - part.first:.3f} s"
            faults = [
                *faults,
                Mark(f"it arrived in {count_text(part.pieces, 'piece')}, {delay} from first to last"),
            ]
        self._write_lines(self._head(part.last, direction), part, faults)

    def _write_lines(self, head: str, part: Part, faults: list[Mark]) -> None:
        skipped = len(part.before)  # where a password may have begun
        spans = find_passwords(part.before + part.data)
        passwords = [(max(0, start - skipped), end - skipped) for start, end in spans if end > skipped]
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


def _fault(part: Part, text: str, position: int | None) -> Mark:
    """Return the fault that `text` describes, with its place in `part` if it can be found."""
    if position is not None:
        return Mark(text, min(position, len(part.data)))
    for found in _QUOTED.finditer(text):
        word = next(filter(None, found.groups())).encode()
        start = part.data.find(word)
        if start >= 0:
            return Mark(text, start, start + len(word))
    return Mark(text)


# -- passwords --------------------------------------------------------------------------------------------------------
#
# This is a search for text, not for XML: it finds passwords in packets that cannot be parsed as well. If it is not
# clear where one ends, too much is found rather than too little. The time is proportional to the length.


def find_passwords(data: bytes) -> list[tuple[int, int]]:
    """Return the beginning and the end of each password in `data`, in order; the spans do not overlap."""
    lowered = data.lower()
    if not any(word in lowered for word in _WORDS):
        if b"\0" in data:  # another encoding, such as UTF-16
            narrow = lowered.replace(b"\0", b"")
            if any(word in narrow for word in _WORDS):
                return [(0, len(data))]
        return []
    if b"authenticate" in lowered and (opening := _JSON.match(data)):
        return [(opening.end(), len(data))]  # a program of another protocol; any value may be the password
    spans = []
    for finder in _FINDERS:
        for found in finder.finditer(data):
            start, end = found.span("value")
            spans.append((start + (data[start : start + 1] in _QUOTES), end))
    reached = 0
    for tag in _AUTHENTICATE.finditer(data):
        if tag.start() >= reached:  # otherwise hidden already; searching again would make the time quadratic
            values = _values_of_tag(data, tag.end())
            reached = max((end for _, end in values), default=reached)
            spans += values
    return merged_spans([(start, end) for start, end in spans if start < end])


def _values_of_tag(data: bytes, start: int) -> list[tuple[int, int]]:
    """Return all values of a tag whose name ends at `start`, and its text; everything up to the next tag if unclear."""
    spans = []
    position = start
    while value := _VALUE.match(data, position):
        spans.append(value.span(1 if value[1] is not None else 2))
        position = value.end()
    end = _TAG_END.match(data, position)
    if end is not None and end[1]:
        return spans
    text = _TEXT.match(data, position if end is None else end.end())
    assert text is not None  # it matches nothing as well
    return [*spans, text.span()]


def merged_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the same bytes as spans in order that do not overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
