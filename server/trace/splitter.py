"""Divides the bytes of one direction into packets, and finds what is not well-formed in them.

Invariants: every byte is in exactly one part, or is counted as left out. Memory does not grow with the stream: a packet
that does not end is cut at a limit, and only the beginning of what follows a fault is kept. Nothing here raises for any
input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spielleiter.protocol.errors import Refusal, RemoteProtocolError
from spielleiter.protocol.limits import Limits
from spielleiter.protocol.reader import PacketReader
from spielleiter.server.trace.form import Fault

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
    fault: Fault | None = None
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
        self._number = 0
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

    @property
    def number(self) -> int:
        """The number of packets that have ended."""
        return self._number

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
                yield self._take_left_out()
        self._data += data
        self._reader.receive(data)
        if not self._has_root:
            yield from self._take_root()
        yield from self._take_packets()

    def miss(self, count: int, instant: float) -> Iterator[Part]:
        """Note that `count` bytes are missing here; yield what came before them, and go on at the next packet.

        The missing bytes are a part of their own at once, so that they precede what was answered to them.
        """
        yield from self.finish()
        self._refused = None
        self._first = self._last = instant
        if count:
            self._left_out = count
            yield self._take_left_out()
        self._resume()

    def finish(self) -> Iterator[Part]:
        """Yield what is left when nothing more will come."""
        if self._is_seeking:
            self._left_out += len(self._data)
            self._data.clear()
        if self._data or self._left_out:
            is_packet = self._refused is None and not self._data.isspace() and bool(self._data)
            fault = Fault(_INCOMPLETE) if is_packet else None
            yield self._part(bytes(self._data), self._first, fault=fault, before=self._refused or b"")
        self._data.clear()

    def abandon(self) -> Iterator[Part]:
        """Yield the packet that is not complete, and never divide what follows."""
        if self._refused is None and not self._is_seeking and self._data:
            self._refused = bytes(self._data)
            yield self._cut(len(self._data), self._number + 1)

    # -- packets ----------------------------------------------------------------------------------------------------

    def _take_root(self) -> Iterator[Part]:
        found = _ROOT.match(self._data, 0, _LONGEST_ROOT)
        if found is not None:
            self._has_root = True
            self.root_bytes = self._offset = found.end()
            yield self._cut(found.end())
        elif len(self._data) > _LONGEST_ROOT:
            self._has_root = True

    def _take_packets(self) -> Iterator[Part]:
        reader = self._reader
        while not reader.is_ended:
            try:
                packet = reader.next_packet()
            except RemoteProtocolError as error:
                yield from self._refuse(error)
                return
            if packet is None:
                break
            self._number += 1
            self._offset = 0
            yield self._cut(len(self._data) - reader.unread_bytes, self._number)
        if reader.is_ended:
            self._refused = b""
            yield self._cut(len(self._data) - reader.unread_bytes)
            rest = bytes(self._data)
            self._data.clear()
            if rest:
                self._keep_rest(rest)

    def _cut(self, size: int, number: int = 0, fault: Fault | None = None) -> Part:
        part = self._part(bytes(self._data[:size]), self._first, number, fault)
        del self._data[:size]
        self._first = self._last
        self._pieces = 1
        return part

    def _part(
        self, data: bytes, first: float, number: int = 0, fault: Fault | None = None, before: bytes = b""
    ) -> Part:
        left_out, self._left_out = self._left_out, 0
        return Part(data, first, self._last, self._pieces, number, fault, left_out, before)

    # -- what cannot be divided -------------------------------------------------------------------------------------

    def _refuse(self, error: RemoteProtocolError) -> Iterator[Part]:
        if error.refusal in _OWN_LIMITS:
            kept = min(len(self._data), self._packet_bytes)
            self._left_out = len(self._data) - kept
            del self._data[kept:]
            yield self._cut(kept, self._number + 1)
            self._number += 1
            self._resume()
            return
        start = None if error.position is None else max(0, min(error.position - self._offset, len(self._data)))
        kept = min(len(self._data), self._packet_bytes)
        self._left_out = len(self._data) - kept
        del self._data[kept:]
        self._refused = bytes(self._data)
        yield self._cut(kept, self._number + 1, Fault(str(error), start))

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

    def _take_left_out(self) -> Part:
        part = self._part(b"", self._first)
        self._first = self._last
        self._pieces = 1
        return part
