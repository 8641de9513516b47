"""The driver process: plays many scripted games at once against a server, and measures them.

Run it as `python -m spielleiter.bench.driver`; see `main`. It does as little as possible (no parsing, no rules), in a
process of its own, and reports how busy it was. The latency is the time from sending a move to having read the next
request. Everything that is reported of an interval happened within it; starting and ending games does not count.
"""

from __future__ import annotations

import json
import re
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any, Final, Protocol

from spielleiter.bench.scripted_games import ROOM, Load

PASSWORD: Final = "examplepassword"
HANG_SECONDS: Final = 20.0  # without any data, after which a game is considered to hang
STARTING_MOVES: Final = 4  # moves in flight at a time while games are being started
OBSERVED_PLIES: Final = 4  # plies after which an observer's connection is drained
OBSERVER_BYTES: Final = 1 << 18  # the receive buffer of an observer, large enough for OBSERVED_PLIES plies
RESULT: Final = b'<data class="result">'
POSITION_END: Final = b"</state>\n    </data>\n  </room>"
RESULT_BYTES: Final = 8192  # more than the longest one
TAIL_BYTES: Final = 64  # more than the longest end that is searched for
RESERVATION: Final = rb"\s*<reservation>(.*?)</reservation>"
PREPARED: Final = re.compile(rb'<prepared roomId="([^"]*)">' + RESERVATION + RESERVATION)
BUFFER: Final = bytearray(1 << 20)
"""The receive buffer of all connections; they are read one at a time."""


@dataclass(frozen=True)
class Plan:
    """The load of one driver process, which receives it as one line of JSON."""

    port: int
    game_type: str
    request: str
    """The end of a packet that requests a move."""
    scripts: list[tuple[list[int], list[str]]]
    """For each game the seats of the players of its moves, and the packets of the moves."""
    games: int
    """The number of games at once."""
    pid: int = 0
    """The process whose processor time is reported; 0 for none."""
    observers: int = 0
    """The number of observers of each game."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def plan_of(load: Load, port: int, games: int, *, pid: int = 0, observers: int = 0) -> Plan:
    """Return a plan with the games of `load`; the arguments are fields of `Plan`."""
    scripts = [(list[int](each.seats), [packet.decode() for packet in each.packets]) for each in load.scripts]
    request = load.request[load.request.index(b"<data") :].decode()
    return Plan(port, load.game_type, request, scripts, games, pid, observers)


class Reader(Protocol):
    """Reads a file descriptor when something has arrived."""

    def receive(self) -> None: ...


class PeerSocket:
    """One connection to the server. It sends `opening` at once, after the root's start tag.

    `receive_bytes` is the size of the kernel's receive buffer; 0 leaves the default.
    """

    __slots__ = ("fd", "recv_into", "send", "sock")

    def __init__(self, driver: Driver, opening: bytes, receive_bytes: int = 0) -> None:
        sock = socket.socket()
        if receive_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        sock.connect(("127.0.0.1", driver.plan.port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
        self.sock = sock
        self.fd = sock.fileno()
        self.recv_into = sock.recv_into
        self.send = sock.send
        driver.register(self.fd)
        self.send(b"<protocol>" + opening)

    def drain(self) -> None:
        """Discard everything that has arrived; the kernel does not copy it."""
        try:
            self.recv_into(BUFFER, 0, socket.MSG_TRUNC)
        except OSError:
            return

    def close(self) -> None:
        """Close the connection. It is drained first, so that the server sees the end of the stream and not a reset."""
        self.drain()
        self.sock.close()


class Administrator(PeerSocket):
    """The connection that prepares rooms for the games, in the order in which they ask for one."""

    __slots__ = ("_data", "_game_type", "_waiting")

    def __init__(self, driver: Driver) -> None:
        super().__init__(driver, b'\n  <authenticate password="%s"/>' % PASSWORD.encode())
        self._data = b""
        self._waiting: deque[ScriptedGame] = deque()
        self._game_type = driver.plan.game_type
        driver.readers[self.fd] = self

    def prepare(self, game: ScriptedGame) -> None:
        """Ask for a room for `game`, whose method `join` is called when the room exists.

        The display name is the number of the script, for the bare wire, which cannot know it otherwise.
        """
        slot = f'<slot displayName="{game.script_number}" canTimeout="true" reserved="true"/>'
        self._waiting.append(game)
        self.send(f'\n  <prepare gameType="{self._game_type}">{slot * 2}</prepare>'.encode())

    def receive(self) -> None:
        """Read what has arrived. For each new room, the game that has waited longest joins it."""
        try:
            count = self.recv_into(BUFFER)
        except BlockingIOError:
            return
        self._data += BUFFER[:count]
        for prepared in list(PREPARED.finditer(self._data)):
            self._waiting.popleft().join(prepared[1], (prepared[2], prepared[3]))
        self._data = self._data[self._data.rfind(b"</prepared>") + 1 :]


class Seat(PeerSocket):
    """One player's connection."""

    __slots__ = ("_request", "_tail", "game")

    def __init__(self, game: ScriptedGame, code: bytes) -> None:
        super().__init__(game.driver, b'\n  <joinPrepared reservationCode="%s"/>' % code)
        self.game = game
        self._request = game.driver.request
        self._tail = b""

    def receive(self) -> None:
        """Read what has arrived, and check how it ends."""
        try:
            count = self.recv_into(BUFFER)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if BUFFER.endswith(self._request, 0, count):
            self.game.requested(self, perf_counter())
            return
        if BUFFER.endswith(POSITION_END, 0, count):
            return
        if not count:
            self.game.end(is_whole=False)
            return
        # a request in pieces, or the result, behind which there may be more
        end = self._tail + BUFFER[max(0, count - RESULT_BYTES) : count]
        if end.endswith(self._request):
            self._tail = b""
            self.game.requested(self, perf_counter())
        elif RESULT in end:
            self.game.end(is_whole=self.game.ply == len(self.game.turns) - 1)
        else:
            self._tail = end[-TAIL_BYTES:]


class ScriptedGame:
    """A scripted game. When it is over, the same object plays the next one.

    Only the connection of the player on turn is read, so that a position and the request after it need one call. What
    arrives for the others meanwhile stays in the kernel, and most of it is discarded there without being copied.
    """

    def __init__(self, driver: Driver, number: int) -> None:
        self.driver = driver
        self.script_number = number % len(driver.plan.scripts)
        self.own_seats, self.templates = driver.plan.scripts[self.script_number]
        authenticate = b'\n  <authenticate password="%s"/>' % PASSWORD.encode()
        self.observers = tuple(PeerSocket(driver, authenticate, OBSERVER_BYTES) for _ in range(driver.plan.observers))
        self.begin()

    def begin(self) -> None:
        """Ask for a room."""
        self.ply = 0
        self.sent_at = 0.0
        self.joined_at = 0.0
        self.room = b""
        self.packets: list[bytes] = []
        self.seats: tuple[Seat, ...] = ()
        self.turns: list[Seat] = []
        self.driver.administrator.prepare(self)

    def join(self, room: bytes, codes: tuple[bytes, bytes]) -> None:
        """Join the room that was prepared for this game, with the reservation codes of its two seats."""
        self.room = room
        self.packets = [packet.replace(ROOM, room.decode()).encode() for packet in self.templates]
        for observer in self.observers:
            observer.send(b'\n  <observe roomId="%s"/>' % room)
        self.joined_at = perf_counter()
        self.seats = (Seat(self, codes[0]), Seat(self, codes[1]))
        for seat in self.seats:
            self.driver.readers[seat.fd] = seat

    def requested(self, seat: Seat, now: float) -> None:
        """Handle a move request to `seat`, which was read at the instant `now`."""
        driver = self.driver
        if self.ply:
            driver.latencies.append(now - self.sent_at)
        else:  # whoever gets the first request begins, whichever player joined first
            driver.start_times.append(now - self.joined_at)
            second = self.seats[seat is self.seats[0]]
            self.turns = [seat if each == self.own_seats[0] else second for each in self.own_seats]
            self.turns.append(self.turns[-1])  # the result is read from this connection
            del driver.readers[second.fd]
        if driver.is_starting:
            driver.in_flight.discard(self)
            driver.due.append((self, seat))
        else:
            self.answer(seat)

    def answer(self, seat: Seat) -> None:
        """Send the next move, which `seat` makes, and from then on read the connection of the player after it."""
        ply = self.ply
        self.ply = ply + 1
        following = self.turns[ply + 1]
        if following is not seat:
            readers = self.driver.readers
            del readers[seat.fd]
            readers[following.fd] = following
        else:
            self.seats[seat is self.seats[0]].drain()
        if self.observers and not ply % OBSERVED_PLIES:
            for observer in self.observers:
                observer.drain()
        self.driver.moves += 1
        seat.send(self.packets[ply])
        self.sent_at = perf_counter()

    def end(self, *, is_whole: bool) -> None:
        """Handle the end of the game. `is_whole`: the result has arrived after the last move."""
        driver = self.driver
        driver.in_flight.discard(self)
        driver.games_over += is_whole
        driver.games_broken += not is_whole
        self.leave()
        if driver.is_ending:
            driver.games.remove(self)
        else:
            self.begin()

    def leave(self) -> None:
        """Close the players' connections."""
        for seat in self.seats:
            self.driver.readers.pop(seat.fd, None)
            seat.close()
        self.seats = ()
        self.turns = []


def _new_epoll() -> Any:
    if sys.platform != "linux":
        raise NotImplementedError
    return select.epoll()


class Driver:
    """Plays the games of `plan`. `make_game` creates a game, given the driver and the number of the game."""

    def __init__(self, plan: Plan, make_game: Callable[[Driver, int], ScriptedGame] = ScriptedGame) -> None:
        self.plan = plan
        self.request = plan.request.encode()
        self.readers: dict[int, Reader] = {}
        self.commands: deque[list[str] | None] = deque()
        """The lines of standard input, as words; None for its end."""
        self.games: list[ScriptedGame] = []
        self.moves = self.games_over = self.games_broken = 0
        self.latencies: list[float] = []
        """For each move the seconds until the next request."""
        self.start_times: list[float] = []
        """For each game the seconds from the players' connecting to the first request."""
        self.is_starting = False
        """Whether games are being started. Meanwhile moves wait in `due`, and those `in_flight` are limited."""
        self.due: deque[tuple[ScriptedGame, Seat]] = deque()
        self.in_flight: set[ScriptedGame] = set()
        self.is_ending = False
        """Whether games that end are not followed by others."""
        self.make_game = make_game
        self._epoll = _new_epoll()
        self._reset_counts()
        self.administrator = Administrator(self)

    def register(self, fd: int) -> None:
        """Have `poll` watch `fd` for data."""
        if sys.platform != "linux":
            raise NotImplementedError
        # once and edge-triggered, so that choosing another connection to read costs no system call
        self._epoll.register(fd, select.EPOLLIN | select.EPOLLET)

    def _reset_counts(self) -> None:
        self.latencies = []
        self.start_times = []
        self.moves = 0

    def poll(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds, handle everything that has arrived, and return whether anything has."""
        events = self._epoll.poll(timeout)
        readers = self.readers
        for fd, _ in events:
            reader = readers.get(fd)
            if reader is not None:
                reader.receive()
        return bool(events)

    def play(self, timeout: float = HANG_SECONDS) -> None:
        """Poll once, for `timeout` seconds at most. Raises RuntimeError if nothing arrives for HANG_SECONDS."""
        if not self.poll(min(timeout, HANG_SECONDS)) and timeout >= HANG_SECONDS:
            raise RuntimeError(f"nothing arrived for {HANG_SECONDS:g} s: a game hangs")

    def _play_until(self, instant: float) -> None:
        while (left := instant - perf_counter()) > 0:
            self.play(left)

    def begin(self) -> None:
        """Start all games. Each is played while others are being started, so that they are spread over the plies.

        A server that is busy with moves admits players more slowly than games end. Without a limit of the moves in
        flight, the games would never all be in play at once.
        """
        total = self.plan.games
        self.is_starting = True
        progress = 0.0
        deadline = perf_counter() + HANG_SECONDS
        while len(self.games) < total or not (self.is_complete or perf_counter() > deadline):
            while len(self.games) < total and len(self.games) <= progress * total:
                self.games.append(self.make_game(self, len(self.games)))
            self.release(STARTING_MOVES)
            self.play()
            first = self.games[0]
            progress = 1.0 if self.games_over else max(progress, first.ply / len(first.templates))
        self.is_starting = False
        self.release(total)

    def release(self, most: int) -> None:
        """Have moves sent in the order in which they became due, while fewer than `most` are in flight."""
        while self.due and len(self.in_flight) < most:
            game, seat = self.due.popleft()
            if seat in game.seats:
                self.in_flight.add(game)
                game.answer(seat)

    @property
    def is_complete(self) -> bool:
        """Whether every game has got its first request."""
        return all(game.turns for game in self.games)

    def measure(self, start: float, end: float) -> dict[str, Any]:
        """Measure from `start` to `end`, two instants of `time.perf_counter`, and return the figures by name."""
        self._play_until(start)
        self._reset_counts()
        before, over_before = self._instants(), self.games_over
        self._play_until(end)
        after = self._instants()
        waiting = [after[0] - game.sent_at for game in self.games if game.turns and game.sent_at]
        waiting_to_begin = [after[0] - game.joined_at for game in self.games if game.seats and not game.turns]
        return {
            "seconds": after[0] - before[0],
            "driver_seconds": after[1] - before[1],
            "subject_seconds": after[2] - before[2],
            "moves": self.moves,
            "games": self.games_over - over_before,
            "latencies": self.latencies,
            "start_times": self.start_times + waiting_to_begin,
            "longest_wait": max(waiting, default=0.0),
            "playing": len(waiting),
        }

    def _instants(self) -> tuple[float, float, float]:
        """Return the clock, and the processor seconds of this process and of the measured process."""
        if sys.platform != "linux":
            raise NotImplementedError
        of_subject = time.clock_gettime(~self.plan.pid << 3 | 2) if self.plan.pid else 0.0  # its CLOCK_PROCESS_CPUTIME
        return perf_counter(), time.process_time(), of_subject

    def finish(self) -> dict[str, Any]:
        """Abort the games. Returns the numbers of complete and broken ones of the run, and the rooms of the aborted."""
        cut_off = [game.room.decode() for game in self.games if game.seats]
        for game in self.games:
            game.leave()
        return {"over": self.games_over, "broken": self.games_broken, "cut_off": cut_off}

    def close(self) -> None:
        """Close the remaining connections."""
        for game in self.games:
            for observer in game.observers:
                observer.close()
        self.administrator.close()
        self._epoll.close()

    def receive(self) -> None:
        """Read one command from standard input."""
        line = sys.stdin.readline()
        self.commands.append(line.split() if line else None)

    def run_commands(self) -> None:
        """Play, and execute the commands on standard input.

        First, "ready" is written when all games are in play. Each line `measure START END` is then answered with the
        result of `measure`, and the end of the input with the result of `finish`.
        """
        self.register(sys.stdin.fileno())
        self.readers[sys.stdin.fileno()] = self
        self.begin()
        write_line("ready")
        while True:
            while not self.commands:
                self.play()
            command = self.commands.popleft()
            if command is None:
                del self.readers[sys.stdin.fileno()]
                write_line(self.finish())
                return
            write_line(self.measure(float(command[1]), float(command[2])))


def write_line(value: Any) -> None:
    """Write a value as one line of JSON to standard output."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main(make_driver: Callable[[Plan], Driver] = Driver) -> None:
    """Read a plan and then commands from standard input, and write the results; see `Driver.run_commands`."""
    make_driver(Plan(**json.loads(sys.stdin.readline()))).run_commands()


if __name__ == "__main__":
    main()
