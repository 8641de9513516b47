"""Answers shortly before and shortly after the time limit, with an idle and a stalled server.

Run it as `python -m spielleiter.bench.punctual`.

Law: what counts is the wire. The limit is 2 s; a player that answers 1.95 s after its request arrived must never be
called too slow, one that answers after 2.05 s always, even while the server's loop is blocked a third of the time. The
client takes both instants itself: the kernel's stamp of the request, and its clock right before and right after the
send. An answer that this machine was too busy to send when it was due is left out, and counted. What was judged is
read from the server's results file.
"""

from __future__ import annotations

import argparse
import heapq
import json
import resource
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
from spielleiter.bench.load.stamped_player import LIMIT, Answer, Heard, StampedPlayer
from spielleiter.game.blokus.rulesets import BLOKUS_2021
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3

IN_TIME, LATE = 1.95, 2.05
SPIN: Final = 0.002  # seconds before an answer is due from which on nobody sleeps
APART: Final = 0.01  # seconds between the starts of two games, so that stalls meet them at different moments
PATIENCE: Final = 30.0  # seconds after the last start within which everything is over

START_PIECE = "PENTO_L"
GAME_TYPE = "swc_2021_blokus"
JOIN = f'<join gameType="{GAME_TYPE}"/>'.encode()


class Punctual:
    """Plays the first move of many games, each when it is due."""

    def __init__(self, port: int, think_times: Sequence[float], move: bytes) -> None:
        self.answers: dict[str, Answer] = {}
        """By room."""
        self._address = ("127.0.0.1", port)
        self._move = move
        self._think_times = list(think_times)
        self._selector = selectors.DefaultSelector()
        self._due: list[tuple[float, str, StampedPlayer]] = []
        self._open = len(think_times)

    def play(self) -> None:
        """Until every first move has been followed by something. Raises TimeoutError."""
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
                self._hear(key.data)
            while self._due and self._due[0][0] <= time.time():
                _, room, player = heapq.heappop(self._due)
                self._send(room, player)
        for key in list(self._selector.get_map().values()):
            key.data.sock.close()

    def _start(self) -> None:
        for _ in range(2):
            player = StampedPlayer(self._address, JOIN)
            self._selector.register(player.sock, selectors.EVENT_READ, player)

    def _hear(self, player: StampedPlayer) -> None:
        heard, arrived_at = player.receive()
        answer = self.answers.get(player.room)
        if heard is Heard.END:
            self._selector.unregister(player.sock)
            player.sock.close()
        elif heard is not Heard.NOTHING_NEW and answer is not None and not answer.followed_at:
            answer.followed_at = arrived_at
            self._open -= 1
        elif heard is Heard.REQUEST and answer is None:
            answer = self.answers[player.room] = Answer(self._think_times.pop(), arrived_at)
            heapq.heappush(self._due, (answer.due_at, player.room, player))

    def _send(self, room: str, player: StampedPlayer) -> None:
        player.send(self._move.replace(ROOM.encode(), room.encode()), self.answers[room])


@dataclass
class Count:
    """Of answers that were aimed at one think time."""

    tried: int = 0
    left_out: int = 0
    called_too_slow: int = 0
    answered_after_limit: int = 0
    """The server was so busy that it answered only when the limit had long passed."""
    differences: list[float] = field(default_factory=list)
    """Seconds: think time by the server minus that by the wire."""

    @property
    def counted(self) -> int:
        return self.tried - self.left_out


def tally(answers: dict[str, Answer], results: dict[str, Any]) -> dict[float, Count]:
    """What became of the answers; `results` are the server's, by room."""
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
    """`games` of either kind against a server of their own, whose loop is blocked for up to `stall` seconds."""
    script = play_script(BLOKUS_2021.with_options({"startPiece": START_PIECE}), BLOKUS_2021_R3, 1)
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        told = {
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
            [sys.executable, "-P", "-m", "spielleiter.bench.stalling", json.dumps(told)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            port = json.loads(server.stdout.readline())["port"]
            punctual = Punctual(port, [IN_TIME, LATE] * games, script.packets[0])
            punctual.play()
        finally:
            server.terminate()
            server.communicate()
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return tally(punctual.answers, {line["room"]: line for line in lines})


def is_right(counts: dict[float, Count]) -> bool:
    """Nobody who was in time was called too slow, and everybody who was late."""
    return not counts[IN_TIME].called_too_slow and counts[LATE].called_too_slow == counts[LATE].counted


def main() -> int:
    """Returns 0 if everybody was judged rightly, and most answers left when they were due."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", type=int, nargs="?", default=200, help="of either kind")
    parser.add_argument("--stall", type=float, default=0.3, help="longest stall of the server's loop, in seconds")
    parser.add_argument("--stall-interval", type=float, default=0.3, help="seconds between stalls")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    is_well = True
    for name, stall in (("idle", 0.0), ("stalled", arguments.stall)):
        counts = run(arguments.games, stall, arguments.stall_interval)
        for think_time, count in counts.items():
            print(
                f"{name:8} answers after {think_time} s by the wire: {count.counted:4} "
                f"({count.left_out} more could not be sent when due), called too slow {count.called_too_slow:4}, "
                f"read by the server after {LIMIT:g} s {count.answered_after_limit:4}"
            )
            if count.differences:
                low, middle, high = min(count.differences), statistics.median(count.differences), max(count.differences)
                print(
                    f"{'':8} server's think time minus the wire's: "
                    f"{1e3 * low:+.2f} ms to {1e3 * high:+.2f} ms, median {1e3 * middle:+.2f} ms",
                    flush=True,
                )
        is_well &= is_right(counts) and all(2 * count.counted >= count.tried for count in counts.values())
    print("as it should be" if is_well else "NOT as it should be")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
