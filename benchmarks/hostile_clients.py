"""A process that runs many hostile clients at the same time, until standard input ends.

Run this file with the arguments PORT COUNT [KIND...]. Each client does one thing for ever, and connects again a second
after it was disconnected. "ready" is written when all clients have connected once, and at the end the number of
connections of each kind. With the argument --sink the process discards what it receives, and writes its port at first.
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
from functools import partial

import trio

PAUSE = 1.0  # seconds until a client that was disconnected connects again, and between two bytes or bursts
RESET_PAUSE = 0.25
FLOOD_PAUSE = 0.02  # seconds between two attempts to send more
FLOOD_PACKETS = 20  # maximum number of packets in one attempt, so that one client leaves time for the others
JOIN = b'<protocol>\n  <join gameType="swc_2027_blokus"/>'
REFUSED = b'\n  <joinPrepared reservationCode="nobody"/>' * 20
QUOTES = b'\n  <joinPrepared reservationCode="' + b"&quot;" * 2600 + b'"/>'
"""A request that takes long to escape if the answer repeats it. It is within the limits for players."""
SLOTS = b'\n  <prepare gameType="swc_2027_blokus">' + b"<slot/>" * 60 + b"</prepare>"
MORE_QUOTES = b'\n  <joinPrepared reservationCode="' + b"'" * 60_000 + b'"/>'
MORE_SLOTS = b'\n  <prepare gameType="swc_2027_blokus">' + b"<slot/>" * 4000 + b"</prepare>"
"""This and `MORE_QUOTES` are accepted only by a server that has the same limits for players as for administrators."""
HINTS = (
    b'\n  <room roomId="nowhere"><data class="sc.plugin2027.SetMove"><piece color="BLUE" kind="MONO" rotation="NONE" '
    b'isFlipped="false"><position x="0" y="0"/></piece>%s</data></room>'
)
FEW_HINTS = HINTS % (b'<hint content="......................................................"/>' * 60)
MANY_HINTS = HINTS % (b'<hint content="x"/>' * 3000)
LAUGHS = b'<?xml version="1.0"?><!DOCTYPE protocol [<!ENTITY a0 "ha">%s]><protocol><join gameType="&a9;"/>' % b"".join(
    b'<!ENTITY a%d "%s">' % (level, b"&a%d;" % (level - 1) * 10) for level in range(1, 10)
)


class HostileClient:
    """A hostile client. Subclasses say what it sends."""

    opening = b""
    """Sent at once."""
    more = b""
    """Sent after every `pause`."""
    pause = PAUSE
    """Seconds between two calls of `act`."""
    reads = True
    """Whether the client reads the data that the server sends."""

    def __init__(self, group: HostileClients) -> None:
        self.group = group
        self.sock: socket.socket | None = None

    def act(self, now: float) -> None:
        """Connect, or send more, and schedule the next call."""
        try:
            if self.sock is None:
                self.sock = socket.create_connection(("127.0.0.1", self.group.port))
                self.sock.setblocking(False)
                self.group.count[type(self).__name__.lower()] += 1
                if self.reads:
                    self.group.selector.register(self.sock, selectors.EVENT_READ, self)
                self._send(self.opening)
            elif self.more:
                self._send(self.more)
        except OSError:
            self.leave()
        self.group.schedule(now + self.pause, self)

    def _send(self, data: bytes) -> None:
        assert self.sock is not None
        with contextlib.suppress(BlockingIOError):
            self.sock.send(data)

    def receive(self) -> None:
        """Discard what has arrived; if the server has closed the connection, close it, too."""
        assert self.sock is not None
        try:
            if self.sock.recv(1 << 16):
                return
        except OSError:
            pass
        self.leave()

    def leave(self) -> None:
        """Close the connection."""
        if self.sock is None:
            return
        if self.reads:
            self.group.selector.unregister(self.sock)
        self.sock.close()
        self.sock = None


class Silent(HostileClient):
    """Sends nothing."""


class Dripping(HostileClient):
    """Sends one byte per second."""

    opening = b"<"
    more = b"p"


class Endless(HostileClient):
    """Sends an element that never ends."""

    opening = b"<protocol><join gameType='"
    more = b"x" * 4000


class Laughing(HostileClient):
    """Sends a document type with exponentially growing entities ("billion laughs")."""

    opening = LAUGHS


class Named(HostileClient):
    """Sends a name of 64 KiB."""

    opening = b"<protocol><" + b"n" * 65536 + b"/>"


class Inventive(HostileClient):
    """Sends new names of elements and attributes in every packet, 240 of them."""

    def act(self, now: float) -> None:
        names = b"".join(
            b'<n%x-%x a%x="" b%x="" c%x=""/>' % (number, *(random.getrandbits(32) for _ in range(4)))
            for number in range(60)
        )
        self.opening = b'<protocol><joinPrepared reservationCode="nobody">%s</joinPrepared>' % names
        super().act(now)


class Deaf(HostileClient):
    """Joins, sends requests that are refused, and never reads."""

    opening = JOIN
    more = REFUSED
    reads = False


class Resetting(HostileClient):
    """Connects, and resets the connection."""

    pause = RESET_PAUSE
    reads = False

    def act(self, now: float) -> None:
        super().act(now)
        if self.sock is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.leave()

    opening = b"<protocol><join"


class Flooding(HostileClient):
    """Joins, and then sends packets that are expensive to refuse, as fast as the server accepts them."""

    opening = JOIN
    packet = b""
    pause = FLOOD_PAUSE
    reads = True

    def __init__(self, group: HostileClients) -> None:
        super().__init__(group)
        self._rest = b""

    def act(self, now: float) -> None:
        is_new = self.sock is None
        super().act(now)
        if is_new or self.sock is None:
            return
        try:
            for _ in range(FLOOD_PACKETS):
                self._rest = self._rest or self.packet
                self._rest = self._rest[self.sock.send(self._rest) :]
        except BlockingIOError:
            pass
        except OSError:
            self.leave()

    def leave(self) -> None:
        super().leave()
        self._rest = b""


class Quotes(Flooding):
    """Floods with texts that grow when they are escaped."""

    packet = QUOTES


class MoreQuotes(Flooding):
    """Floods with such texts, of a length that only an administrator may send."""

    packet = MORE_QUOTES


class Slots(Flooding):
    """Floods with requests for games with the maximum number of slots that fits into a player's packet."""

    packet = SLOTS


class MoreSlots(Flooding):
    """Floods with requests for games with a number of slots that only an administrator may send."""

    packet = MORE_SLOTS


class Hints(Flooding):
    """Floods with moves in a room that does not exist, with the maximum number of hints in a player's packet."""

    packet = FEW_HINTS


class MoreHints(Flooding):
    """Floods with such moves, with a number of hints that only an administrator may send."""

    packet = MANY_HINTS


class Staller(Flooding):
    """Fills its own outbox with errors and reads a single byte now and then, so that no move request reaches it."""

    packet = REFUSED
    reads = False
    pause = PAUSE

    def act(self, now: float) -> None:
        super().act(now)
        if self.sock is not None:
            with contextlib.suppress(OSError):
                self.sock.recv(1)


KINDS: tuple[type[HostileClient], ...] = (
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


class HostileClients:
    """`number` hostile clients, the same number of each kind."""

    def __init__(self, port: int, number: int, kinds: tuple[type[HostileClient], ...] = KINDS) -> None:
        self.port = port
        self.selector = selectors.DefaultSelector()
        self.count: Counter[str] = Counter()
        """The number of connections of each kind."""
        self._timers: list[tuple[float, int, HostileClient]] = []
        self._timer_count = 0
        self._members = [kinds[each % len(kinds)](self) for each in range(number)]

    def schedule(self, instant: float, member: HostileClient) -> None:
        """Have `member.act` called at `instant` of `time.perf_counter`."""
        self._timer_count += 1
        heapq.heappush(self._timers, (instant, self._timer_count, member))

    def run(self) -> None:
        """Run all clients until standard input ends."""
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


async def serve_sink() -> None:
    """Accept connections and discard what arrives, until the process is killed; write the port first."""

    async def discard(stream: trio.SocketStream) -> None:
        try:
            async for _ in stream:
                pass
        except trio.BrokenResourceError:
            pass

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, discard, 0, host="127.0.0.1"))
        print(listener.socket.getsockname()[1], flush=True)


def main() -> None:
    port, number, *names = sys.argv[1:]
    chosen = tuple(kind for kind in KINDS if not names or kind.__name__.lower() in names)
    group = HostileClients(int(port), int(number), chosen)
    group.run()
    print(json.dumps(group.count))


if __name__ == "__main__":
    if sys.argv[1:] == ["--sink"]:
        trio.run(serve_sink)
    else:
        main()
