"""Checking the verdicts on answers shortly before and after the time limit, with an idle and with a stalled server.

Run it as `python -m spielleiter.bench.punctual`.

Invariants: only the times on the wire matter. The limit is 2 s. An answer 1.95 s after the arrival of the request must
never be judged too slow, one after 2.05 s always, even while the server's event loop is blocked for a third of the
time. The client determines both instants itself: the kernel's time stamp of the request, and its clock immediately
before and after sending. An answer that this machine was too busy to send in time is excluded, and counted. The
verdicts are read from the server's results file.
"""

from __future__ import annotations

import argparse
import heapq
import json
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spielleiter.bench.load.scripts import ROOM, play_script
from spielleiter.bench.load.stamped_player import LIMIT, Answer, Received, StampedPlayer
from spielleiter.bench.machine import raise_file_limit
from spielleiter.common.own_python import own_python
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3

IN_TIME, LATE = 1.95, 2.05
SPIN: Final = 0.002  # seconds before an answer is due in which this process does not sleep
APART: Final = 0.01  # seconds between the starts of two games, so that a stall affects them at different moments
PATIENCE: Final = 30.0  # seconds after the last start within which all games must have been answered

START_PIECE = "PENTO_L"
GAME_TYPE = "swc_2021_blokus"
JOIN = f'<join gameType="{GAME_TYPE}"/>'.encode()


class PunctualPlayers:
    """Plays the first move of many games, each after one of `think_times`. `move` is its packet."""

    def __init__(self, port: int, think_times: Sequence[float], move: bytes) -> None:
        self.answers: dict[str, Answer] = {}
        """For each room the answer to the first request."""
        self._address = ("127.0.0.1", port)
        self._move = move
        self._think_times = list(think_times)
        self._selector = selectors.DefaultSelector()
        self._due: list[tuple[float, str, StampedPlayer]] = []
        self._open = len(think_times)

    def play(self) -> None:
        """Play until every first move has been followed by a request or a result. Raises TimeoutError."""
        starts = deque(time.time() + APART * number for number in range(self._open))
        give_up_at = starts[-1] + PATIENCE
        while self._open:
            now = time.time()
            if now > give_up_at:
                raise TimeoutError(f"{self._open} games hang")
            while starts and starts[0] <= now:
                starts.popleft()
                self._start()
            next_due = self._due[0][0] - SPIN if self._due else give_up_at
            wake_at = min(next_due, starts[0] if starts else give_up_at, now + 0.1)
            for key, _ in self._selector.select(max(0.0, wake_at - now)):
                self._receive(key.data)
            while self._due and self._due[0][0] <= time.time():
                _, room, player = heapq.heappop(self._due)
                self._send(room, player)
        for key in list(self._selector.get_map().values()):
            key.data.sock.close()

    def _start(self) -> None:
        for _ in range(2):
            player = StampedPlayer(self._address, JOIN)
            self._selector.register(player.sock, selectors.EVENT_READ, player)

    def _receive(self, player: StampedPlayer) -> None:
        received, arrived_at = player.receive()
        answer = self.answers.get(player.room)
        if received is Received.END:
            self._selector.unregister(player.sock)
            player.sock.close()
        elif received is not Received.NOTHING_NEW and answer is not None and not answer.followed_at:
            answer.followed_at = arrived_at
            self._open -= 1
        elif received is Received.REQUEST and answer is None:
            answer = self.answers[player.room] = Answer(self._think_times.pop(), arrived_at)
            heapq.heappush(self._due, (answer.due_at, player.room, player))

    def _send(self, room: str, player: StampedPlayer) -> None:
        player.send(self._move.replace(ROOM.encode(), room.encode()), self.answers[room])


@dataclass
class Count:
    """The numbers of answers with the same intended think time."""

    tried: int = 0
    left_out: int = 0
    """Answers that could not be sent when they were due."""
    called_too_slow: int = 0
    answered_after_limit: int = 0
    """Answers to which the server, being stalled, reacted only after the limit."""
    differences: list[float] = field(default_factory=list)
    """For each answer the think time measured by the server minus that on the wire, in seconds."""

    @property
    def counted(self) -> int:
        return self.tried - self.left_out


def tally(answers: dict[str, Answer], results: dict[str, Any]) -> dict[float, Count]:
    """Count the verdicts on the answers, by think time. Both arguments are by room; `results` are the server's."""
    counts = {IN_TIME: Count(), LATE: Count()}
    for room, answer in answers.items():
        count = counts[answer.think_time]
        count.tried += 1
        is_certain = answer.is_in_time if answer.think_time == IN_TIME else answer.is_late
        if not is_certain:
            count.left_out += 1
            continue
        line = results[room]
        count.called_too_slow += bool({"SOFT_TIMEOUT", "HARD_TIMEOUT"} & set(line["causes"]))
        count.answered_after_limit += answer.followed_at - answer.asked_at > LIMIT
        measured = next(times[0] for times in line["think_times"] if times)
        count.differences.append(measured - (answer.sent_until - answer.asked_at))
    return counts


def run(games: int, stall: float, stall_interval: float) -> dict[float, Count]:
    """Play `games` games of each kind against a new server, whose event loop is blocked for up to `stall` seconds."""
    script = play_script(BLOKUS_2021.with_options({"startPiece": START_PIECE}), BLOKUS_2021_R3, 1)
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        options = {
            "port": 0,
            "start_piece": START_PIECE,
            "soft_timeout": LIMIT,
            "results_file": str(results),
            "log_level": "error",
            "stall": stall,
            "stall_interval": stall_interval,
            "grace": 5.0,
        }
        server = subprocess.Popen(
            [*own_python(), "-P", "-m", "spielleiter.bench.stalling", json.dumps(options)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            port = json.loads(server.stdout.readline())["port"]
            players = PunctualPlayers(port, [IN_TIME, LATE] * games, script.packets[0])
            players.play()
        finally:
            server.terminate()
            server.communicate()
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return tally(players.answers, {line["room"]: line for line in lines})


def is_right(counts: dict[float, Count]) -> bool:
    """Return whether no answer in time was judged too slow, and all late ones were."""
    return not counts[IN_TIME].called_too_slow and counts[LATE].called_too_slow == counts[LATE].counted


def main() -> int:
    """Return 0 if all answers were judged correctly, and most of them were sent when they were due; otherwise 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", type=int, nargs="?", default=200, help="number of games of each kind")
    parser.add_argument("--stall", type=float, default=0.3, help="longest stall of the server's loop, in seconds")
    parser.add_argument("--stall-interval", type=float, default=0.3, help="seconds between stalls")
    arguments = parser.parse_args()
    raise_file_limit()
    is_well = True
    for name, stall in (("idle", 0.0), ("stalled", arguments.stall)):
        counts = run(arguments.games, stall, arguments.stall_interval)
        for think_time, count in counts.items():
            print(
                f"{name:8} answers after {think_time} s by the wire: {count.counted:4} "
                f"({count.left_out} more could not be sent when due), judged too slow {count.called_too_slow:4}, "
                f"read by the server after {LIMIT:g} s {count.answered_after_limit:4}"
            )
            if count.differences:
                low, median, high = min(count.differences), statistics.median(count.differences), max(count.differences)
                print(
                    f"{'':8} think time measured by the server minus that on the wire: "
                    f"{1e3 * low:+.2f} ms to {1e3 * high:+.2f} ms, median {1e3 * median:+.2f} ms",
                    flush=True,
                )
        is_well &= is_right(counts) and all(2 * count.counted >= count.tried for count in counts.values())
    print("all verdicts are correct" if is_well else "FAILED: wrong verdicts, or too few answers sent when due")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
