"""Plays many scripted games at once against a server and measures them.

Run it as `python -m spielleiter.bench.load.driver`; see `main`.

Law: the driver does next to nothing (no parsing, no rules), in a process of its own, and says how busy it was. Latency
is from the moment a move has been sent to the moment the next request has been read. What is told of an interval
happened in it: the way there and the way out are not counted.

Only the connection of whoever is on turn is read, so that a position and the request behind it are one call; what has
come meanwhile for the others stays with the kernel, and much of it is thrown away there without being copied. Every
socket is registered once, for edges: a change of who is read costs no call.
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

PATIENCE: Final = 20.0  # seconds without anything, after which a game hangs
GATE_MOVES: Final = 4  # on the way at a time while games are begun
OBSERVED_PLIES: Final = 4  # plies after which an observer's connection is emptied
OBSERVER_BYTES: Final = 1 << 18  # what waits there till then has room
RESULT: Final = b'<data class="result">'
POSITION_END: Final = b"</state>\n    </data>\n  </room>"
RESULT_BYTES: Final = 8192  # more than the longest one
TAIL_BYTES: Final = 64  # more than the longest end that is looked for


class Seat(Peer):
    """One player's connection."""

    __slots__ = ("_request", "_tail", "game")

    def __init__(self, game: Game, code: bytes) -> None:
        super().__init__(game.driver, b'\n  <joinPrepared reservationCode="%s"/>' % code)
        self.game = game
        self._request = game.driver.request
        self._tail = b""

    def receive(self) -> None:
        """Read what has come, and look at its end."""
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
    """A scripted game, followed by the next one."""

    __slots__ = (
        "driver",
        "observers",
        "packets",
        "ply",
        "room",
        "sat_down_at",
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
        self.sat_down_at = 0.0
        self.room = b""
        self.packets: list[bytes] = []
        self.seats: tuple[Seat, ...] = ()
        self.turns: list[Seat] = []
        self.driver.administrator.prepare(self)

    def sit_down(self, room: bytes, codes: tuple[bytes, bytes]) -> None:
        """The room is there."""
        self.room = room
        self.packets = [packet.replace(ROOM, room.decode()).encode() for packet in self.script.packets]
        for observer in self.observers:
            observer.send(b'\n  <observe roomId="%s"/>' % room)
        self.sat_down_at = perf_counter()
        self.seats = (Seat(self, codes[0]), Seat(self, codes[1]))
        for seat in self.seats:
            self.driver.readers[seat.fd] = seat

    def _arrange(self, first: Seat) -> None:
        """The first request says who sits where; it may be who has come first."""
        second = self.seats[first is self.seats[0]]
        own = self.script.seats[0]
        self.turns = [first if seat == own else second for seat in self.script.seats]
        self.turns.append(self.turns[-1])  # where the result is looked for
        del self.driver.readers[second.fd]

    def requested(self, seat: Seat, now: float) -> None:
        """A move is due."""
        if self.ply:
            self.driver.latencies[self.ply].append(now - self.sent_at)
        else:
            self.driver.start_times.append(now - self.sat_down_at)
            self._arrange(seat)
        gate = self.driver.gate
        if gate is None:
            self.answer(seat)
        else:
            gate.arrive(self, seat)

    def answer(self, seat: Seat) -> None:
        """Send the next move, and read whoever is on turn after it."""
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
        """The result has come, or the connection was closed."""
        if self.driver.gate is not None:
            self.driver.gate.forget(self)
        if is_whole:
            self.driver.games_over += 1
        else:
            self.driver.games_broken += 1
        self.leave()
        if self.driver.goes_on():
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
    """Standard input: lines, until it ends."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._data = ""
        driver.register(sys.stdin.fileno())
        driver.readers[sys.stdin.fileno()] = self

    def receive(self) -> None:
        """Read one piece of it; that it has ended is told as None."""
        line = sys.stdin.readline()
        self._driver.commands.append(line.split() if line else None)


class Driver:
    """Keeps the plan's games going."""

    def __init__(self, plan: Plan, make_game: Callable[[Driver, int], Game] = Game) -> None:
        self.plan = plan
        self.address = ("127.0.0.1", plan.port)
        self.request = plan.request.encode()
        self.readers: dict[int, Reader] = {}
        self.commands: deque[list[str] | None] = deque()
        self.games: list[Game] = []
        self.moves = self.games_over = self.games_broken = 0
        self.latencies: list[list[float]] = []
        """Seconds until the next request, by ply."""
        self.start_times: list[float] = []
        """Seconds from a player's connecting to the first request of its game."""
        self.gate: Gate | None = None
        self._is_ending = False
        self._make_game = make_game
        self._epoll = select.epoll()
        self.forget()
        self.administrator = Administrator(self)

    def register(self, fd: int) -> None:
        """Hear of everything new that comes there."""
        self._epoll.register(fd, select.EPOLLIN | select.EPOLLET)

    def forget(self) -> None:
        """Begin to count anew."""
        longest = max(len(script.packets) for script in self.plan.scripts)
        self.latencies = [[] for _ in range(longest + 1)]
        self.start_times = []
        self.moves = 0

    def goes_on(self) -> bool:
        """Whether a game is followed by another one."""
        return not self._is_ending

    def turn(self, patience: float = PATIENCE) -> bool:
        """Wait for something, and deal with everything that has come. Returns whether anything has."""
        events = self._epoll.poll(patience)
        readers = self.readers
        for fd, _ in events:
            reader = readers.get(fd)
            if reader is not None:
                reader.receive()
        return bool(events)

    def play(self, patience: float = PATIENCE) -> None:
        """One turn, of so many seconds at most. Raises RuntimeError if nothing comes for too long."""
        if not self.turn(min(patience, PATIENCE)) and patience >= PATIENCE:
            raise RuntimeError(f"nothing came for {PATIENCE:g} s: a game hangs")

    def play_until(self, instant: float) -> None:
        """Play till then, by `time.perf_counter`."""
        while (left := instant - perf_counter()) > 0:
            self.play(left)

    def begin(self) -> None:
        """Begin all games; each goes on while the others are begun, so that they spread over the plies."""
        total = self.plan.games
        self.gate = Gate()
        progress = 0.0
        patience = perf_counter() + PATIENCE
        while len(self.games) < total or not (self.is_complete or perf_counter() > patience):
            while len(self.games) < total and (not self.plan.is_spread or len(self.games) <= progress * total):
                self.games.append(self._make_game(self, len(self.games)))
            self.gate.let_through(GATE_MOVES)
            self.play()
            first = self.games[0]
            progress = 1.0 if self.games_over else max(progress, first.ply / len(first.script.packets))
        gate, self.gate = self.gate, None
        gate.let_through(total)

    @property
    def is_complete(self) -> bool:
        """Every game has had its first request."""
        return all(game.turns for game in self.games)

    def measure(self, start: float, end: float) -> dict[str, Any]:
        """What happens between two instants of `time.perf_counter`."""
        self.play_until(start)
        self.forget()
        before, over_before = self._instants(), self.games_over
        self.play_until(end)
        after = self._instants()
        waiting = [after[0] - game.sent_at for game in self.games if game.turns and game.sent_at]
        waiting_to_begin = [after[0] - game.sat_down_at for game in self.games if game.seats and not game.turns]
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
        """Of the clock, of this process, and of the process that is measured."""
        of_subject = time.clock_gettime(~self.plan.pid << 3 | 2) if self.plan.pid else 0.0
        return perf_counter(), time.process_time(), of_subject

    def finish(self) -> dict[str, Any]:
        """Let games end, or cut them off. Returns how games ended, and the rooms of those that did not."""
        if self.plan.ends_games:
            self._is_ending = True
            while self.games:
                self.play()
        cut_off = [game.room.decode() for game in self.games if game.seats]
        for game in self.games:
            game.leave()
        return {"over": self.games_over, "broken": self.games_broken, "cut_off": cut_off}

    def close(self) -> None:
        """Close what is left open."""
        for game in self.games:
            for observer in game.observers:
                observer.close()
        self.administrator.close()
        self._epoll.close()

    def obey(self) -> None:
        """Play; for each line `measure START END` say what was measured, and when there are no more how it ended."""
        Commands(self)
        self.begin()
        tell("ready")
        while True:
            while not self.commands:
                self.play()
            command = self.commands.popleft()
            if command is None:
                del self.readers[sys.stdin.fileno()]
                tell(self.finish())
                return
            tell(self.measure(float(command[1]), float(command[2])))


def tell(what: Any) -> None:
    """One line of JSON on standard output."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def main() -> None:
    """On standard input a plan, then commands, on standard output what came of them; see `Driver.obey`."""
    Driver(Plan.from_json(sys.stdin.readline())).obey()


if __name__ == "__main__":
    main()
