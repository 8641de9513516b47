"""Hostile clients, all at once, until standard input ends.

Run it as `python -m spielleiter.bench.hostile PORT COUNT [KIND]`.

Invariants: each does one thing for ever, and comes back a second after it was cut off (one that only connects and
resets, four times a second). Those that flood send again as soon as the kernel takes more. "ready" is written as soon
as everybody has connected once; at the end how often each kind did.
"""

from __future__ import annotations

import contextlib
import heapq
import json
import random
import selectors
import socket
import struct
import sys
import time
from collections import Counter

PAUSE = 1.0  # seconds until somebody who was cut off comes back, and between two bytes or bursts
RESET_PAUSE = 0.25
FLOOD_PAUSE = 0.02  # seconds between two looks whether the kernel takes more
FLOOD_PACKETS = 20  # most at one look, so that one client leaves the others time
JOIN = b'<protocol>\n  <join gameType="swc_2027_blokus"/>'
REFUSED = b'\n  <joinPrepared reservationCode="nobody"/>' * 20
QUOTES = b'\n  <joinPrepared reservationCode="' + b"&quot;" * 2600 + b'"/>'
"""An answer that repeated it would be as long, and takes long to escape. It fits into what a player may send."""
SLOTS = b'\n  <prepare gameType="swc_2027_blokus">' + b"<slot/>" * 60 + b"</prepare>"
MORE_QUOTES = b'\n  <joinPrepared reservationCode="' + b"'" * 60_000 + b'"/>'
MORE_SLOTS = b'\n  <prepare gameType="swc_2027_blokus">' + b"<slot/>" * 4000 + b"</prepare>"
"""What servers took whose limits for players were those for administrators."""
HINTS = (
    b'\n  <room roomId="nowhere"><data class="sc.plugin2027.SetMove"><piece color="BLUE" kind="MONO" rotation="NONE" '
    b'isFlipped="false"><position x="0" y="0"/></piece>%s</data></room>'
)
FEW_HINTS = HINTS % (b'<hint content="......................................................"/>' * 60)
MANY_HINTS = HINTS % (b'<hint content="x"/>' * 3000)
LAUGHS = b'<?xml version="1.0"?><!DOCTYPE protocol [<!ENTITY a0 "ha">%s]><protocol><join gameType="&a9;"/>' % b"".join(
    b'<!ENTITY a%d "%s">' % (level, b"&a%d;" % (level - 1) * 10) for level in range(1, 10)
)


class Hostile:
    """One of them. `opening` is sent at once, `more` again and again; subclasses say what else."""

    opening = b""
    more = b""
    pause = PAUSE
    reads = True

    def __init__(self, crowd: Crowd) -> None:
        self.crowd = crowd
        self.sock: socket.socket | None = None

    def act(self, now: float) -> None:
        """Connect, or go on; called again when it asked to be."""
        try:
            if self.sock is None:
                self._connect()
                self._send(self.opening)
            elif self.more:
                self._send(self.more)
        except OSError:
            self.leave()
        self.crowd.later(now + self.pause, self)

    def _connect(self) -> None:
        self.sock = socket.create_connection(("127.0.0.1", self.crowd.port))
        self.sock.setblocking(False)
        self.crowd.count[type(self).__name__.lower()] += 1
        if self.reads:
            self.crowd.selector.register(self.sock, selectors.EVENT_READ, self)

    def _send(self, data: bytes) -> None:
        assert self.sock is not None
        with contextlib.suppress(BlockingIOError):
            self.sock.send(data)

    def receive(self) -> None:
        assert self.sock is not None
        try:
            if self.sock.recv(1 << 16):
                return
        except OSError:
            pass
        self.leave()

    def leave(self) -> None:
        if self.sock is None:
            return
        if self.reads:
            self.crowd.selector.unregister(self.sock)
        self.sock.close()
        self.sock = None


class Silent(Hostile):
    """Never sends."""


class Dripping(Hostile):
    """One byte a second."""

    opening = b"<"
    more = b"p"


class Endless(Hostile):
    """An element that never ends."""

    opening = b"<protocol><join gameType='"
    more = b"x" * 4000


class Laughing(Hostile):
    """The billion laughs."""

    opening = LAUGHS


class Named(Hostile):
    """Names of 64 KiB."""

    opening = b"<protocol><" + b"n" * 65536 + b"/>"


class Inventive(Hostile):
    """Names that nobody has used before, of elements and attributes, 240 in each packet."""

    def act(self, now: float) -> None:
        names = b"".join(
            b'<n%x-%x a%x="" b%x="" c%x=""/>' % (number, *(random.getrandbits(32) for _ in range(4)))
            for number in range(60)
        )
        self.opening = b'<protocol><joinPrepared reservationCode="nobody">%s</joinPrepared>' % names
        super().act(now)


class Deaf(Hostile):
    """Joins, asks for what it does not get, and never reads."""

    opening = JOIN
    more = REFUSED
    reads = False


class Resetting(Hostile):
    """Connects and resets."""

    pause = RESET_PAUSE
    reads = False

    def act(self, now: float) -> None:
        super().act(now)
        if self.sock is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.leave()

    opening = b"<protocol><join"


class Flooding(Hostile):
    """Joins, and then sends packets that cost much to refuse, as fast as they are taken."""

    opening = JOIN
    pause = FLOOD_PAUSE
    reads = True

    def __init__(self, crowd: Crowd) -> None:
        super().__init__(crowd)
        self._rest = b""

    def act(self, now: float) -> None:
        is_new = self.sock is None
        super().act(now)
        if not is_new and self.sock is not None:
            self._flood()

    def leave(self) -> None:
        super().leave()
        self._rest = b""

    def _flood(self) -> None:
        assert self.sock is not None
        try:
            for _ in range(FLOOD_PACKETS):
                self._rest = self._rest or self.packet
                self._rest = self._rest[self.sock.send(self._rest) :]
        except BlockingIOError:
            pass
        except OSError:
            self.leave()

    packet = b""


class Quotes(Flooding):
    """Texts that grow when they are escaped."""

    packet = QUOTES


class MoreQuotes(Flooding):
    """... as many as an administrator may send."""

    packet = MORE_QUOTES


class Slots(Flooding):
    """Games with as many slots as fit."""

    packet = SLOTS


class MoreSlots(Flooding):
    """... as many as an administrator may send."""

    packet = MORE_SLOTS


class Hints(Flooding):
    """Moves with as many hints as fit, in a room that there is not."""

    packet = FEW_HINTS


class MoreHints(Flooding):
    """... as many as an administrator may send."""

    packet = MANY_HINTS


class Staller(Flooding):
    """Has its own outbox filled with errors and reads a little now and then, so that no request reaches it."""

    packet = REFUSED
    reads = False
    pause = PAUSE

    def act(self, now: float) -> None:
        super().act(now)
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.recv(1)


KINDS: tuple[type[Hostile], ...] = (
    Silent,
    Dripping,
    Endless,
    Laughing,
    Named,
    Inventive,
    Deaf,
    Resetting,
    Quotes,
    MoreQuotes,
    Slots,
    MoreSlots,
    Hints,
    MoreHints,
    Staller,
)


class Crowd:
    """`count` of them, as many of each kind."""

    def __init__(self, port: int, number: int, kinds: tuple[type[Hostile], ...] = KINDS) -> None:
        self.port = port
        self.selector = selectors.DefaultSelector()
        self.count: Counter[str] = Counter()
        """How often each kind has connected."""
        self._timers: list[tuple[float, int, Hostile]] = []
        self._timer_count = 0
        self._members = [kinds[each % len(kinds)](self) for each in range(number)]

    def later(self, instant: float, member: Hostile) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (instant, self._timer_count, member))

    def run(self) -> None:
        """Until standard input ends."""
        for member in self._members:
            member.act(time.perf_counter())
        print("ready", flush=True)
        self.selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in self.selector.select(max(0.0, self._timers[0][0] - time.perf_counter())):
                if key.fileobj is sys.stdin:
                    return
                key.data.receive()
            now = time.perf_counter()
            while self._timers[0][0] <= now:
                heapq.heappop(self._timers)[2].act(now)


def main() -> None:
    port, number, *names = sys.argv[1:]
    chosen = tuple(kind for kind in KINDS if not names or kind.__name__.lower() in names)
    crowd = Crowd(int(port), int(number), chosen)
    crowd.run()
    print(json.dumps(crowd.count))


if __name__ == "__main__":
    main()
