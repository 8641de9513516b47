"""Plays many scripted games at once against a server, and measures.

Law: the driver does next to nothing (no parsing, no rules), in a process of its own, and says how busy it was. Latency
is from the moment a move has been sent to the moment the next request has been read.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from bench.scripts import ROOM, Script

RESERVATION = rb"\s*<reservation>(.*?)</reservation>"
PREPARED = re.compile(rb'<prepared roomId="([^"]*)">' + RESERVATION + RESERVATION)
REQUESTS = (b'MoveRequest"/>', b'"moveRequest"/>')
RESULT = b'<data class="result">'


@dataclass
class Measured:
    """What one run gave; seconds."""

    moves: int = 0
    games: int = 0
    seconds: float = 0.0
    driver_cpu: float = 0.0
    latencies: list[float] = field(default_factory=list)


class Administrator:
    """The connection that prepares games, for whoever waits for one, in order."""

    def __init__(self, driver: Driver, password: str) -> None:
        self.sock = socket.create_connection(driver.address)
        self._data = b""
        self._waiting: deque[Game] = deque()
        self._prepare = (
            b'\n  <prepare gameType="%s"><slot displayName="" canTimeout="true" reserved="true"/>'
            b'<slot displayName="" canTimeout="true" reserved="true"/></prepare>' % driver.game_type
        )
        driver.selector.register(self.sock, selectors.EVENT_READ, self)
        self.sock.sendall(b'<protocol>\n  <authenticate password="%s"/>' % password.encode())

    def prepare(self, game: Game) -> None:
        self._waiting.append(game)
        self.sock.sendall(self._prepare)

    def receive(self, _now: float) -> None:
        self._data += self.sock.recv(1 << 16)
        for prepared in PREPARED.finditer(self._data):
            self._waiting.popleft().sit_down(prepared[1], (prepared[2], prepared[3]))
            self._data = self._data[prepared.end() :]


class Seat:
    """One player's connection."""

    __slots__ = ("game", "sock", "tail")

    def __init__(self, game: Game, code: bytes) -> None:
        self.sock = socket.create_connection(game.driver.address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.game = game
        self.tail = b""
        game.driver.selector.register(self.sock, selectors.EVENT_READ, self)
        self.sock.sendall(b'<protocol>\n  <joinPrepared reservationCode="%s"/>' % code)

    def receive(self, now: float) -> None:
        self.game.receive(self, now)


class Game:
    """One scripted game, played again and again until time is up."""

    __slots__ = ("driver", "is_over", "packets", "ply", "script", "seats", "sent_at")

    def __init__(self, driver: Driver, script: Script) -> None:
        self.driver = driver
        self.script = script
        self.start()

    def start(self) -> None:
        self.ply = 0
        self.is_over = False
        self.sent_at = 0.0
        self.packets: Sequence[bytes] = ()
        self.seats: tuple[Seat, ...] = ()
        self.driver.admin.prepare(self)

    def sit_down(self, room: bytes, codes: tuple[bytes, bytes]) -> None:
        self.packets = [packet.replace(ROOM.encode(), room) for packet in self.script.packets]
        self.seats = (Seat(self, codes[0]), Seat(self, codes[1]))

    def receive(self, seat: Seat, now: float) -> None:
        data = seat.sock.recv(1 << 18)
        if not data:
            self._over()
            return
        tail = seat.tail + data[-64:]
        seat.tail = tail[-32:]
        if any(request in tail for request in REQUESTS):
            seat.tail = b""
            self._answer(seat, now)
        elif RESULT in data:
            self.driver.measured.games += 1
            self._over()

    def _answer(self, seat: Seat, now: float) -> None:
        measured = self.driver.measured
        if self.ply:
            measured.latencies.append(now - self.sent_at)
        packet = self.packets[self.ply]
        self.ply += 1
        measured.moves += 1
        seat.sock.send(packet)
        self.sent_at = time.perf_counter()

    def _over(self) -> None:
        if self.is_over:
            return
        self.is_over = True
        for seat in self.seats:
            self.driver.selector.unregister(seat.sock)
            seat.sock.close()
        if time.perf_counter() < self.driver.deadline:
            self.start()
        else:
            self.driver.running -= 1


class Driver:
    """Keeps `games` games going for `seconds`, then lets them end."""

    def __init__(
        self, address: tuple[str, int], password: str, game_type: bytes, scripts: Sequence[Script], games: int
    ) -> None:
        self.address = address
        self.game_type = game_type
        self.selector = selectors.DefaultSelector()
        self.measured = Measured()
        self.deadline = 0.0
        self.running = games
        self._scripts = scripts
        self._games = games
        self.admin = Administrator(self, password)

    def run(self, seconds: float) -> Measured:
        start = time.perf_counter()
        cpu = time.process_time()
        self.deadline = start + seconds
        for number in range(self._games):
            Game(self, self._scripts[number % len(self._scripts)])
        while self.running:
            ready = self.selector.select(20.0)
            if not ready:
                raise RuntimeError("nothing came for 20 s: a game hangs")
            for key, _ in ready:
                if key.fileobj.fileno() >= 0:  # type: ignore[union-attr]
                    key.data.receive(time.perf_counter())
        self.measured.seconds = time.perf_counter() - start
        self.measured.driver_cpu = time.process_time() - cpu
        return self.measured


def main() -> None:
    """Arguments as JSON on standard input, what was measured as JSON on standard output."""
    told = json.load(sys.stdin)
    scripts = [
        Script(tuple(each["seats"]), tuple(packet.encode() for packet in each["packets"]), ())
        for each in told["scripts"]
    ]
    address, game_type = (told["host"], told["port"]), told["game_type"].encode()
    driver = Driver(address, told["password"], game_type, scripts, told["games"])
    print(json.dumps(asdict(driver.run(told["seconds"]))))


if __name__ == "__main__":
    main()
