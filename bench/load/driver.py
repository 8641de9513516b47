"""The driver process: plays many scripted games at once against a server, and measures them.

Run it as `python -m spielleiter.bench.load.driver`; see `main`.

Invariants: the driver does as little as possible (no parsing, no rules), in a process of its own, and reports how busy
it was. The latency is the time from sending a move to having read the next request. Everything that is reported of an
interval happened within it; starting and ending the games does not count.

Only the connection of the player on turn is read, so that a position and the request after it need one call. What
arrives for the others in the meantime stays in the kernel, and most of it is discarded there without being copied.
Every socket is registered once, edge-triggered, so that choosing another connection to read costs no system call.
"""

from __future__ import annotations

import json
import select
import sys
import time
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from spielleiter.bench.load.gate import Gate
from spielleiter.bench.load.peers import BUFFER, Administrator, Peer, Reader
from spielleiter.bench.load.plan import PASSWORD, Plan, PlannedGame
from spielleiter.bench.load.scripts import ROOM

PATIENCE: Final = 20.0  # seconds without any data after which a game is considered to hang
GATE_MOVES: Final = 4  # moves in flight at a time while games are being started
OBSERVED_PLIES: Final = 4  # plies after which an observer's connection is drained
OBSERVER_BYTES: Final = 1 << 18  # the receive buffer of an observer, large enough for OBSERVED_PLIES plies
RESULT: Final = b'<data class="result">'
POSITION_END: Final = b"</state>\n    </data>\n  </room>"
RESULT_BYTES: Final = 8192  # more than the longest one
TAIL_BYTES: Final = 64  # more than the longest end that is searched for


class Seat(Peer):
    """One player's connection."""

    __slots__ = ("_request", "_tail", "game")

    def __init__(self, game: Game, code: bytes) -> None:
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
        elif not BUFFER.endswith(POSITION_END, 0, count):
            self._look_closer(count)

    def _look_closer(self, count: int) -> None:
        if not count:
            self.game.end(is_whole=False)
            return
        end = self._tail + BUFFER[max(0, count - RESULT_BYTES) : count]
        if end.endswith(self._request):
            self._tail = b""
            self.game.requested(self, perf_counter())
        elif RESULT in end:
            self.game.end(is_whole=self.game.ply == len(self.game.turns) - 1)
        else:
            self._tail = end[-TAIL_BYTES:]


class Game:
    """A scripted game. When it is over, the same object plays the next one."""

    __slots__ = (
        "driver",
        "joined_at",
        "observers",
        "packets",
        "ply",
        "room",
        "script",
        "script_number",
        "seats",
        "sent_at",
        "turns",
    )

    def __init__(self, driver: Driver, number: int) -> None:
        self.driver = driver
        self.script_number = number % len(driver.plan.scripts)
        self.script: PlannedGame = driver.plan.scripts[self.script_number]
        authenticate = b'\n  <authenticate password="%s"/>' % PASSWORD.encode()
        self.observers = tuple(Peer(driver, authenticate, OBSERVER_BYTES) for _ in range(driver.plan.observers))
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
        self.packets = [packet.replace(ROOM, room.decode()).encode() for packet in self.script.packets]
        for observer in self.observers:
            observer.send(b'\n  <observe roomId="%s"/>' % room)
        self.joined_at = perf_counter()
        self.seats = (Seat(self, codes[0]), Seat(self, codes[1]))
        for seat in self.seats:
            self.driver.readers[seat.fd] = seat

    def _arrange(self, first: Seat) -> None:
        """Assign the moves to the seats: `first` has got the first request, whichever player joined first."""
        second = self.seats[first is self.seats[0]]
        own = self.script.seats[0]
        self.turns = [first if seat == own else second for seat in self.script.seats]
        self.turns.append(self.turns[-1])  # the result is read from this connection
        del self.driver.readers[second.fd]

    def requested(self, seat: Seat, now: float) -> None:
        """Handle a move request to `seat`, which was read at the instant `now`."""
        if self.ply:
            self.driver.latencies[self.ply].append(now - self.sent_at)
        else:
            self.driver.start_times.append(now - self.joined_at)
            self._arrange(seat)
        gate = self.driver.gate
        if gate is None:
            self.answer(seat)
        else:
            gate.add(self, seat)

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
        if self.driver.gate is not None:
            self.driver.gate.forget(self)
        if is_whole:
            self.driver.games_over += 1
        else:
            self.driver.games_broken += 1
        self.leave()
        if self.driver.starts_new_games():
            self.begin()
        else:
            self.driver.games.remove(self)

    def leave(self) -> None:
        """Close the players' connections."""
        for seat in self.seats:
            self.driver.readers.pop(seat.fd, None)
            seat.close()
        self.seats = ()
        self.turns = []


class Commands:
    """Reads the commands on standard input, one line each."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._data = ""
        driver.register(sys.stdin.fileno())
        driver.readers[sys.stdin.fileno()] = self

    def receive(self) -> None:
        """Read one line, and add it to the driver's commands; the end of the input is added as None."""
        line = sys.stdin.readline()
        self._driver.commands.append(line.split() if line else None)


def _new_epoll() -> Any:
    if sys.platform != "linux":
        raise NotImplementedError
    return select.epoll()


class Driver:
    """Plays the games of `plan`. `make_game` creates a game, given the driver and the number of the game."""

    def __init__(self, plan: Plan, make_game: Callable[[Driver, int], Game] = Game) -> None:
        self.plan = plan
        self.address = ("127.0.0.1", plan.port)
        self.request = plan.request.encode()
        self.readers: dict[int, Reader] = {}
        self.commands: deque[list[str] | None] = deque()
        self.games: list[Game] = []
        self.moves = self.games_over = self.games_broken = 0
        self.latencies: list[list[float]] = []
        """For each ply the seconds until the next request."""
        self.start_times: list[float] = []
        """For each game the seconds from the players' connecting to the first request."""
        self.gate: Gate | None = None
        self._is_ending = False
        self._make_game = make_game
        self._epoll = _new_epoll()
        self.reset_counts()
        self.administrator = Administrator(self)

    def register(self, fd: int) -> None:
        """Have `poll` watch `fd` for data."""
        if sys.platform != "linux":
            raise NotImplementedError
        self._epoll.register(fd, select.EPOLLIN | select.EPOLLET)

    def reset_counts(self) -> None:
        """Set the counts of moves and latencies to zero."""
        longest = max(len(script.packets) for script in self.plan.scripts)
        self.latencies = [[] for _ in range(longest + 1)]
        self.start_times = []
        self.moves = 0

    def starts_new_games(self) -> bool:
        """Return whether a game is followed by another one."""
        return not self._is_ending

    def poll(self, patience: float = PATIENCE) -> bool:
        """Wait up to `patience` seconds, handle everything that has arrived, and return whether anything has."""
        events = self._epoll.poll(patience)
        readers = self.readers
        for fd, _ in events:
            reader = readers.get(fd)
            if reader is not None:
                reader.receive()
        return bool(events)

    def play(self, patience: float = PATIENCE) -> None:
        """Poll once, for `patience` seconds at most. Raises RuntimeError if nothing arrives for `PATIENCE` seconds."""
        if not self.poll(min(patience, PATIENCE)) and patience >= PATIENCE:
            raise RuntimeError(f"nothing arrived for {PATIENCE:g} s: a game hangs")

    def play_until(self, instant: float) -> None:
        """Play until `instant`, by `time.perf_counter`."""
        while (left := instant - perf_counter()) > 0:
            self.play(left)

    def begin(self) -> None:
        """Start all games. Each is played while others are being started, so that they are spread over the plies."""
        total = self.plan.games
        self.gate = Gate()
        progress = 0.0
        patience = perf_counter() + PATIENCE
        while len(self.games) < total or not (self.is_complete or perf_counter() > patience):
            while len(self.games) < total and (not self.plan.is_spread or len(self.games) <= progress * total):
                self.games.append(self._make_game(self, len(self.games)))
            self.gate.release(GATE_MOVES)
            self.play()
            first = self.games[0]
            progress = 1.0 if self.games_over else max(progress, first.ply / len(first.script.packets))
        gate, self.gate = self.gate, None
        gate.release(total)

    @property
    def is_complete(self) -> bool:
        """Whether every game has got its first request."""
        return all(game.turns for game in self.games)

    def measure(self, start: float, end: float) -> dict[str, Any]:
        """Measure from `start` to `end`, two instants of `time.perf_counter`, and return the figures by name."""
        self.play_until(start)
        self.reset_counts()
        before, over_before = self._instants(), self.games_over
        self.play_until(end)
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
        of_subject = time.clock_gettime(~self.plan.pid << 3 | 2) if self.plan.pid else 0.0
        return perf_counter(), time.process_time(), of_subject

    def finish(self) -> dict[str, Any]:
        """Play the games to their end or abort them, as the plan says.

        Returns the numbers of completed and broken games of the whole run, and the rooms of those that were aborted.
        """
        if self.plan.ends_games:
            self._is_ending = True
            while self.games:
                self.play()
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

    def run_commands(self) -> None:
        """Play, and execute the commands on standard input.

        First, "ready" is written when all games are in play. Each line `measure START END` is then answered with the
        result of `measure`, and the end of the input with the result of `finish`.
        """
        Commands(self)
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


def main() -> None:
    """Read a plan and then commands from standard input, and write the results; see `Driver.run_commands`."""
    Driver(Plan.from_json(sys.stdin.readline())).run_commands()


if __name__ == "__main__":
    main()
