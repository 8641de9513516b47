"""Playing many games with hostile clients and a stalled server, and checking every verdict and all resources.

Run it as `python -m benchmarks.soak GAMES` (`make soak`). Players answer within some hundredths of a second or,
sometimes, after 1.9 s on the wire, which is in time; none of them may ever be judged too slow. Some answer after 2.05
s, which is late; all of them must be judged too slow. Some make an illegal move, and some disconnect. Only the times on
the wire matter, which the players determine themselves. The verdict on every game is read from the server's results
file. The resources of the server's process are compared before the first game and after the last one.
"""

from __future__ import annotations

import argparse
import contextlib
import enum
import heapq
import json
import random
import re
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spielleiter.bench.driver import PREPARED
from spielleiter.bench.scripted_games import ROOM, START_PIECE, Script, load_of
from spielleiter.common.own_python import own_python
from spielleiter.server.net.sockets import connections_possible
from spielleiter.server.net.wire import SO_TIMESTAMPNS, stamp_arrivals

EDITION: Final = "blokus-2021-r3"
GAME_TYPE: Final = "swc_2021_blokus"
PASSWORD: Final = "examplepassword"
WARM_UP: Final = 500  # games after which the memory is measured for the first time
GROWTH: Final = 0.1  # the fraction by which it may have grown at the end
HANG_SECONDS: Final = 30.0  # seconds without any data after which games hang; also until all clients are gone

LIMIT: Final = 2.0
IN_TIME: Final = 1.9
LATE: Final = 2.05
MARGIN: Final = 0.01  # an answer at least this many seconds before (or after) the limit is certainly in time (or late)
_JOINED: Final = re.compile(rb'<joined roomId="([^"]*)"')
_REQUEST: Final = re.compile(rb'class="(?:[\w.]*M|m)oveRequest"/>')
_TIMESPEC: Final = struct.Struct("@qq")
_RESET: Final = struct.pack("ii", 1, 0)
PREPARE: Final = (
    f'\n  <prepare gameType="{GAME_TYPE}">' + '<slot displayName="" canTimeout="true" reserved="true"/>' * 2
).encode() + b"</prepare>"

BAD_BYTES: Final = (
    b"<protocol><join gameType=",
    b"GET / HTTP/1.0\r\n\r\n",
    b"<protocol><foo/>",
    b'<protocol><joinPrepared reservationCode="nobody"/>',
    b'<protocol><authenticate password="wrong"/>',
    b"<protocol>" + b"<a>" * 100,
    b"<protocol><join x='" + b"x" * 20000 + b"'/>",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]><protocol>",
    b"\xff\xfe",
    b"",
)


@dataclass(frozen=True)
class Shares:
    """The fractions of games in which something special happens, and the pace of the other moves."""

    slow: float = 0.1
    """Games with one answer shortly before the limit."""
    late: float = 0.01
    """Games with an answer after the limit."""
    illegal: float = 0.01
    """Games with an illegal move."""
    vanishing: float = 0.01
    """Games in which a player disconnects."""
    bad: float = 0.02
    """The probability of a new bad client in each iteration of the driver's loop."""
    pace: float = 0.03
    """The average think time in seconds. If players answered at once, new ones would have to wait to be admitted."""


class Conduct(enum.Enum):
    """What happens in a game. The value is the cause with which the game must end."""

    FAIR = "REGULAR"
    LATE = "SOFT_TIMEOUT"
    ILLEGAL = "RULE_VIOLATION"
    VANISHING = "LEFT"


@dataclass
class SoakTally:
    """What the players of some games did, and the verdicts that they expect."""

    moves: int = 0
    slow_moves: int = 0
    bad_clients: int = 0
    seconds: float = 0.0
    in_play_seconds: float = 0.0
    """The sum of the times for which the games were in play."""
    expected: dict[str, Conduct | None] = field(default_factory=dict)
    """By room; None if this machine was too busy to send an answer when it was due."""


@dataclass
class SoakReport:
    """The results of a run."""

    warm_up: int = 0
    """The number of games that were played before the memory was measured for the first time."""
    games: int = 0
    moves: int = 0
    slow_moves: int = 0
    bad_clients: int = 0
    seconds: float = 0.0
    in_play_seconds: float = 0.0
    counted: Counter[Conduct | None] = field(default_factory=Counter)
    """The number of games of each kind; None stands for those whose verdict is uncertain."""
    false_timeouts: int = 0
    missed_late: int = 0
    other_verdicts: list[str] = field(default_factory=list)
    """A description of each of the other wrong verdicts."""
    usage: list[dict[str, Any]] = field(default_factory=list)
    """The resource usage of the server: before the first game, after the warm-up, at the end."""

    def add(self, tally: SoakTally) -> None:
        """Add the numbers of `tally`."""
        self.games += len(tally.expected)
        self.moves += tally.moves
        self.slow_moves += tally.slow_moves
        self.bad_clients += tally.bad_clients
        self.seconds += tally.seconds
        self.in_play_seconds += tally.in_play_seconds
        self.counted.update(tally.expected.values())

    def judge(self, expected: Mapping[str, Conduct | None], results: Mapping[str, list[str]]) -> None:
        """Compare the expected verdicts with the causes in the server's results, both by room."""
        for room in expected.keys() | results.keys():
            if room not in expected or room not in results:
                self.other_verdicts.append(f"{room}: {'not one of these games' if room in results else 'no result'}")
                continue
            conduct, causes = expected[room], [cause for cause in results[room] if cause != Conduct.FAIR.value]
            is_timeout = any(cause.endswith("TIMEOUT") for cause in causes)
            if conduct is None or causes == ([] if conduct is Conduct.FAIR else [conduct.value]):
                continue
            if is_timeout:
                self.false_timeouts += 1
            elif conduct is Conduct.LATE:
                self.missed_late += 1
            else:
                self.other_verdicts.append(f"{room}: {conduct.name.lower()} was judged {causes}")

    @property
    def is_right(self) -> bool:
        """Whether there is no wrong verdict."""
        return not (self.false_timeouts or self.missed_late or self.other_verdicts)

    @property
    def leaks(self) -> dict[str, int]:
        """The numbers of tasks and file descriptors that were added between the first game and the end."""
        return {kind: self.usage[-1][kind] - self.usage[0][kind] for kind in ("tasks", "descriptors")}

    @property
    def growth(self) -> float:
        """The growth of the memory since the warm-up, as a fraction."""
        return float(self.usage[-1]["bytes"] / self.usage[1]["bytes"] - 1)

    def __str__(self) -> str:
        counted, (start, middle, end) = self.counted, self.usage
        pauses, mebibyte = end["pauses"], 2**20
        return f"""\
games played                                  {self.games}, {self.moves} moves, {self.moves / self.seconds:.0f} a second
games in play at once, on average             {self.in_play_seconds / self.seconds:.1f}
answers {IN_TIME} s after the request (in time)   {self.slow_moves}
answers {LATE} s after the request (late)     {counted[Conduct.LATE]}
illegal moves                                 {counted[Conduct.ILLEGAL]}
players that disconnected during a game       {counted[Conduct.VANISHING]}
clients that sent something wrong             {self.bad_clients}
games excluded, since this machine was busy   {counted[None]}
false timeouts                                {self.false_timeouts}
late answers that were not judged late        {self.missed_late}
other wrong verdicts                          {len(self.other_verdicts)} {self.other_verdicts[:5] or ""}
memory at the start                           {start["bytes"] / mebibyte:.1f} MiB
memory after {self.warm_up} games                       {middle["bytes"] / mebibyte:.1f} MiB
memory at the end                             {end["bytes"] / mebibyte:.1f} MiB ({self.growth:+.1%})
tasks before and after                        {start["tasks"]}, {end["tasks"]}
file descriptors before and after             {start["descriptors"]}, {end["descriptors"]}
pauses of the garbage collector               {pauses["count"]}, {pauses["total"]:.3f} s in total, \
{1e3 * pauses["longest"]:.1f} ms the longest
objects that only a collection frees          {end["collected"]}"""


class Received(enum.Enum):
    """The meaning of the bytes that were received last."""

    REQUEST = enum.auto()
    RESULT = enum.auto()
    END = enum.auto()
    NOTHING_NEW = enum.auto()


@dataclass(slots=True)
class SoakAnswer:
    """An answer to a request for a move."""

    think_time: float
    """The intended time from the request to the answer, in seconds."""
    asked_at: float
    """When the request arrived."""
    sent_from: float = 0.0
    """Just before the answer was sent."""
    sent_until: float = 0.0
    """Just after the answer was sent."""

    @property
    def due_at(self) -> float:
        """When the answer should be sent."""
        return self.asked_at + self.think_time

    @property
    def is_in_time(self) -> bool:
        """Whether the answer was certainly sent before the limit."""
        return self.sent_until - self.asked_at <= LIMIT - MARGIN

    @property
    def is_late(self) -> bool:
        """Whether the answer was certainly sent after the limit."""
        return self.sent_from - self.asked_at >= LIMIT + MARGIN


class StampedPlayer:
    """A connection to `address` that sends `opening` at once. `room` is the room id, empty until it has joined."""

    def __init__(self, address: tuple[str, int], opening: bytes) -> None:
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stamp_arrivals(self.sock)
        self.room = ""
        self._data = b""
        self.sock.sendall(b"<protocol>\n  " + opening)

    def receive(self) -> tuple[Received, float]:
        """Receive data. Returns what it means, and when its last byte arrived at this machine."""
        if sys.platform != "linux":
            raise NotImplementedError
        try:
            data, ancillary, _, _ = self.sock.recvmsg(1 << 18, socket.CMSG_SPACE(_TIMESPEC.size))
        except OSError:
            data, ancillary = b"", []
        arrived_at = time.time()
        for level, kind, stamp in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                seconds, nanoseconds = _TIMESPEC.unpack(stamp)
                arrived_at = seconds + nanoseconds * 1e-9
        if not data:
            return Received.END, arrived_at
        self._data += data
        if not self.room and (joined := _JOINED.search(self._data)):
            self.room = joined[1].decode()
        if b'class="result"' in self._data:
            return Received.RESULT, arrived_at
        if _REQUEST.search(self._data):
            self._data = b""
            return Received.REQUEST, arrived_at
        return Received.NOTHING_NEW, arrived_at

    def send(self, packet: bytes, answer: SoakAnswer) -> None:
        """Send `packet` in one call, and record the time before and after it. A closed connection is ignored."""
        answer.sent_from = time.time()
        with contextlib.suppress(OSError):
            self.sock.send(packet)
        answer.sent_until = time.time()

    def reset(self) -> None:
        """Close the connection with a reset."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.sock.close()


class SoakGame:
    """One game between two connections of this process."""

    def __init__(
        self, soak: Soak, script: Script, conduct: Conduct, slow_ply: int | None, codes: tuple[bytes, bytes]
    ) -> None:
        self.soak = soak
        self.conduct = conduct
        self._slow_ply = slow_ply
        self.is_doubtful = False
        self.is_over = False
        self._is_in_play = False
        self._ply = 0
        self._packets = script.packets
        self._players = [StampedPlayer(soak.address, b'<joinPrepared reservationCode="%s"/>' % code) for code in codes]
        for player in self._players:
            soak.selector.register(player.sock, selectors.EVENT_READ, (self, player))

    def receive(self, player: StampedPlayer) -> None:
        """Handle the data that has arrived for `player`."""
        received, arrived_at = player.receive()
        if received is Received.REQUEST:
            self._answer(player, arrived_at)
        elif received is Received.RESULT:
            self._end(player.room)
        elif received is Received.END:
            self._leave(player)

    def _answer(self, player: StampedPlayer, asked_at: float) -> None:
        if not self._is_in_play:
            self._is_in_play = True
            self.soak.in_play += 1
        tally = self.soak.tally
        is_middle = self._ply == len(self._packets) // 2
        if is_middle and self.conduct is Conduct.VANISHING:
            self._leave(player)
        elif is_middle and self.conduct is Conduct.ILLEGAL:
            self._ply -= 1  # the opponent's last move, once more
            self.send(player, SoakAnswer(0.0, asked_at))
        elif is_middle and self.conduct is Conduct.LATE:
            self.soak.schedule(self, player, SoakAnswer(LATE, asked_at))
        elif self._ply == self._slow_ply:
            tally.slow_moves += 1
            self.soak.schedule(self, player, SoakAnswer(IN_TIME, asked_at))
        else:
            self.soak.schedule(self, player, SoakAnswer(self.soak.draw_think_time(), asked_at))

    def send(self, player: StampedPlayer, answer: SoakAnswer) -> None:
        """Send the next move of `player`, and note whether the verdict on it is certain."""
        if self.is_over:
            return
        packet = self._packets[self._ply].replace(ROOM.encode(), player.room.encode())
        self._ply += 1
        self.soak.tally.moves += 1
        player.send(packet, answer)
        self.is_doubtful |= not (answer.is_late if answer.think_time == LATE else answer.is_in_time)

    def _leave(self, player: StampedPlayer) -> None:
        self.soak.selector.unregister(player.sock)
        player.reset()
        self._players.remove(player)
        if not self._players:
            self._end(player.room)

    def _end(self, room: str) -> None:
        if self.is_over:
            return
        self.is_over = True
        self.soak.in_play -= self._is_in_play
        for player in list(self._players):
            self._leave(player)
        self.soak.game_over(self, room)


class Soak:
    """Plays a number of games, while bad clients connect and disconnect."""

    def __init__(self, port: int, scripts: list[Script], shares: Shares, seed: int) -> None:
        self.address = ("127.0.0.1", port)
        self.selector = selectors.DefaultSelector()
        self._rng = random.Random(f"{seed} bad clients")
        self._conducts = random.Random(f"{seed} conducts")
        """Only used when a game is started, so that the games do not depend on how fast they are played."""
        self.shares = shares
        self.tally = SoakTally()
        self.in_play = 0
        """The number of games in which a move has been requested."""
        self._scripts = scripts
        self._timers: list[tuple[float, int, SoakGame, StampedPlayer, SoakAnswer]] = []
        self._timer_count = 0
        self._bad: deque[socket.socket] = deque()
        self._games_to_start = 0
        self._admin = socket.create_connection(self.address)
        self._admin_data = b""

    def schedule(self, game: SoakGame, player: StampedPlayer, answer: SoakAnswer) -> None:
        """Have `answer` sent when it is due."""
        self._timer_count += 1
        heapq.heappush(self._timers, (answer.due_at, self._timer_count, game, player, answer))

    def draw_think_time(self) -> float:
        return self._rng.uniform(0.0, 2.0 * self.shares.pace)

    def play(self, games: int, at_once: int) -> None:
        """Play `games` games to their end, `at_once` at a time. Raises TimeoutError if they hang."""
        start = reported = time.perf_counter()
        self._games_to_start = games
        self.selector.register(self._admin, selectors.EVENT_READ, None)
        self._admin.sendall(b'<protocol>\n  <authenticate password="%s"/>' % PASSWORD.encode())
        for _ in range(min(games, at_once)):
            self._prepare()
        now = last_received = start
        while len(self.tally.expected) < games:
            wait = self._timers[0][0] - time.time() if self._timers else 0.05
            ready = self.selector.select(min(max(wait, 0.0), 0.05))
            for key, _ in ready:
                if key.data is None:
                    self._admin_data += self._admin.recv(1 << 16)
                    for prepared in list(PREPARED.finditer(self._admin_data)):
                        self._start_game((prepared[2], prepared[3]))
                    self._admin_data = self._admin_data[self._admin_data.rfind(b"</prepared>") + 1 :]
                elif key.fileobj.fileno() >= 0:  # type: ignore[union-attr]
                    key.data[0].receive(key.data[1])
            while self._timers and self._timers[0][0] <= time.time():
                _, _, game, player, answer = heapq.heappop(self._timers)
                game.send(player, answer)
            # sometimes connect a client that sends something wrong and stays for a while
            if self._rng.random() < self.shares.bad:
                sock = socket.create_connection(self.address)
                sock.sendall(self._rng.choice(BAD_BYTES))
                self._bad.append(sock)
                self.tally.bad_clients += 1
            if len(self._bad) > 50:
                self._bad.rotate(self._rng.randrange(50))
                self._bad.popleft().close()
            before, now = now, time.perf_counter()
            self.tally.in_play_seconds += self.in_play * (now - before)
            last_received = now if ready else last_received
            if now - last_received > HANG_SECONDS:
                raise TimeoutError(f"{games - len(self.tally.expected)} games hang")
            if now - reported > 10.0:
                reported = now
                print(f"{len(self.tally.expected)} games, {self.tally.moves / (now - start):.0f} moves/s", flush=True)
        self.tally.seconds = time.perf_counter() - start
        self._admin.close()
        for sock in self._bad:
            sock.close()

    def game_over(self, game: SoakGame, room: str) -> None:
        """Note the verdict that is expected on a finished game, and start another one."""
        self.tally.expected[room] = None if game.is_doubtful else game.conduct
        self._prepare()

    def _prepare(self) -> None:
        """Ask for another room if there is another game to play."""
        if self._games_to_start:
            self._games_to_start -= 1
            self._admin.sendall(PREPARE)

    def _start_game(self, codes: tuple[bytes, bytes]) -> None:
        """Connect the players of a room that has been prepared, and draw how they play."""
        script, drawn = self._conducts.choice(self._scripts), self._conducts.random()
        conduct = Conduct.FAIR
        for each, share in (
            (Conduct.LATE, self.shares.late),
            (Conduct.ILLEGAL, self.shares.illegal),
            (Conduct.VANISHING, self.shares.vanishing),
        ):
            if drawn < share:
                conduct = each
                break
            drawn -= share
        is_slow = conduct is Conduct.FAIR and self._conducts.random() < self.shares.slow
        slow_ply = self._conducts.randrange(len(script.packets)) if is_slow else None
        SoakGame(self, script, conduct, slow_ply, codes)


def soak(games: int, at_once: int, stall: float, stall_interval: float, shares: Shares, seed: int = 1) -> SoakReport:
    """Play against a new server whose event loop is blocked for up to `stall` seconds about every `stall_interval`."""
    scripts = list(load_of(EDITION).scripts)
    report = SoakReport(warm_up=min(WARM_UP, games // 2))
    expected: dict[str, Conduct | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        options = {
            "port": 0,
            "start_piece": START_PIECE,
            "default_game": GAME_TYPE,
            "results_file": str(results),
            "log_level": "error",
            "first_packet_timeout": 5.0,
            "bounds_loopback": True,
            "stall": stall,
            "stall_interval": stall_interval,
            "grace": 0.0,
            "password_attempts": 1_000_000,
        }
        server = subprocess.Popen(
            [*own_python(), "-P", str(Path(__file__).with_name("stalling_server.py")), json.dumps(options)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            start = json.loads(server.stdout.readline())
            report.usage.append(start)
            for number, share in enumerate((report.warm_up, games - report.warm_up)):
                soaking = Soak(start["port"], scripts, shares, seed + number)
                soaking.play(share, at_once)
                report.add(soaking.tally)
                expected.update(soaking.tally.expected)
                report.usage.append(_usage_after_disconnects(server, start))
        finally:
            server.terminate()
            server.communicate()
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    report.judge(expected, {line["room"]: line["causes"] for line in lines})
    return report


def _usage_after_disconnects(server: subprocess.Popen[str], start: dict[str, Any]) -> dict[str, Any]:
    """Return the server's resource usage when all clients are gone, or if it does not shrink within `HANG_SECONDS`."""
    if sys.platform != "linux":
        raise NotImplementedError
    assert server.stdout is not None
    give_up_at = time.perf_counter() + HANG_SECONDS
    while True:
        time.sleep(0.5)
        server.send_signal(signal.SIGUSR1)
        found: dict[str, Any] = json.loads(server.stdout.readline())
        is_over = all(found[kind] <= start[kind] for kind in ("tasks", "descriptors"))
        if is_over or time.perf_counter() > give_up_at:
            return found


def main() -> int:
    """Return 0 if all verdicts were correct and no resources leaked; otherwise 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", type=int, nargs="?", default=20_000)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--stall", type=float, default=0.3, help="longest stall of the server's loop, in seconds")
    parser.add_argument("--stall-interval", type=float, default=5.0, help="seconds between stalls")
    arguments = parser.parse_args()
    connections_possible(1 << 20)
    report = soak(arguments.games, arguments.at_once, arguments.stall, arguments.stall_interval, Shares())
    print(report)
    is_well = report.is_right and not any(report.leaks.values()) and report.growth < GROWTH
    print("all verdicts are correct, nothing leaked" if is_well else "FAILED: wrong verdicts, leaks or too much memory")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
