"""The rules of an official release, as answered by its own code in a process of its own."""

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tools.season.release import Release


class RulesError(Exception):
    """The release's code could not answer a question; the text is its exception."""


class Rules:
    """Positions of a game, one of them in use, and what the release says about it. `open_rules` makes one.

    Each method is one question to driver/Rules.java, which says what the answers have. States and moves are texts of
    XML: a state as on the wire, a move as `<data class="move">…</data>`.
    """

    _used = ""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, *words: str) -> dict[str, Any]:
        """Ask one question. Raises RulesError if it has no answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(map(_in_one_line, words)) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline() or '{"error": "the process has ended"}')
        if "error" in answer:
            raise RulesError(f"{words[0]}: {answer['error']}")
        return answer

    def use(self, name: str) -> None:
        """Go to another position, which keeps its place under this name."""
        if name != self._used:
            self.ask("use", name)
            self._used = name

    def start(self, seed: int) -> None:
        """Begin a new game whose random start is drawn from the seed."""
        self.ask("start", str(seed))

    def load(self, state: str) -> None:
        """Go to the position of a state."""
        self.ask("load", state)

    def position(self, *, exact: bool = False) -> dict[str, Any]:
        return self.ask("position", *["exact"] * exact)

    def moves(self, limit: int) -> dict[str, Any]:
        return self.ask("moves", str(limit))

    def sensible_moves(self) -> list[str]:
        """The moves that the release's simple players choose from; none in seasons that have no such list."""
        moves: list[str] = self.ask("sensible")["moves"]
        return moves

    def values(self, moves: Sequence[str]) -> list[tuple[int, int]]:
        """How well each team stands after each of these legal moves, by the release's own estimate."""
        return self._ask_about("values", moves)

    def foresee(self, moves: Sequence[str]) -> list[int]:
        """How many moves the team has in its next turn, for each move that it may play now; 0: the game is over."""
        return self._ask_about("foresee", moves)

    def judge(self, moves: Sequence[str]) -> list[dict[str, str]]:
        """A verdict for each move; nothing is played."""
        return self._ask_about("judge", moves)

    def _ask_about(self, word: str, moves: Sequence[str]) -> list[Any]:
        answers: list[Any] = self.ask(word, *moves)["answers"]
        return answers

    def play(self, move: str) -> dict[str, str]:
        return self.ask("play", move)

    def result(self) -> dict[str, Any]:
        return self.ask("result")

    def perft(self, depth: int) -> list[int]:
        counts: list[int] = self.ask("perft", str(depth))["perft"]
        return counts


def _in_one_line(xml: str) -> str:
    return re.sub(r">\s+<", "><", xml).replace("\t", " ").replace("\n", " ")


@contextmanager
def open_rules(release: Release) -> Iterator[Rules]:
    """Start the release's rules, and end them with the block.

    Raises ReleaseError if nothing is built in the release's folder, or Java does not compile the driver against it.
    """
    with subprocess.Popen(
        release.java("Rules"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            yield Rules(process)
        finally:
            process.kill()
