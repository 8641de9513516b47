"""A small GTP engine for the board game Blokus, for tests: it speaks Pentobi's dialect and plays large pieces first.

As a program it reads commands from standard input. Options make it lack commands (`--without`) or fail (`--fault`, from
its move number `--at` on).
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from spielleiter.game.blokus.moves import attach_cells, free_cells, generate_placements
from spielleiter.game.blokus.pieces import ALL_SHAPES_MASK, ORIENTATIONS, SIZE, STRIDE, bit, scan
from spielleiter.players.gtp_blokus import read_cells, write_cells

CORNERS: Final = (bit(0, 0), bit(SIZE - 1, 0), bit(SIZE - 1, SIZE - 1), bit(0, SIZE - 1))
"""The cells in which the colours start; Pentobi's blue starts at the upper left."""

_SETUP: Final = re.compile(r"A([1-4])((?:\[[a-t0-9,]+\])+)")
_BY_MASK: Final = {each.mask: each for each in ORIENTATIONS}


class RefusedError(Exception):
    """A command is refused; the text goes into the response."""


class BlokusEngine:
    """The board and the commands."""

    def __init__(self, without: tuple[str, ...] = (), fault: str = "", at: int = 0) -> None:
        self.history: list[str] = []
        """All commands, for tests."""
        self._without = without
        self.fault = fault
        self.at = at
        self._moves_generated = 0
        self.is_two_player = False
        self._clear()

    def _clear(self) -> None:
        self.cells = [0, 0, 0, 0]
        self._remaining = [ALL_SHAPES_MASK] * 4
        self._undo: list[tuple[list[int], list[int]]] = []

    @property
    def commands(self) -> dict[str, Callable[..., str]]:
        """The commands that it knows."""
        known: dict[str, Callable[..., str]] = {
            "name": lambda: "Test engine",
            "version": lambda: "1.0",
            "list_commands": lambda: "\n".join(self.commands),
            "set_game": self._set_game,
            "clear_board": self._clear_board,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "loadsgf": self._loadsgf,
        }
        return {name: function for name, function in known.items() if name not in self._without}

    def answer(self, line: str) -> str:
        """Return the response's text. Raises RefusedError."""
        self.history.append(line)
        name, *arguments = line.split()
        if name not in self.commands:
            raise RefusedError(f"unknown command ({name})")
        return self.commands[name](*arguments)

    def _set_game(self, *words: str) -> str:
        self.is_two_player = words == ("Blokus", "Two-Player")
        return self._clear_board()

    def _clear_board(self) -> str:
        self._clear()
        return ""

    def _play(self, color: str, move: str) -> str:
        self._place(int(color) - 1, move)
        return ""

    def _genmove(self, color: str) -> str:
        move = self._reg_genmove(color)
        if move not in {"pass", "resign"} and not self._is_faulty:
            self._place(int(color) - 1, move)
        return move

    def _reg_genmove(self, color: str) -> str:
        self._moves_generated += 1
        if self._is_faulty:
            return _FAULTS[self.fault]()
        masks = self._legal_masks(int(color) - 1)
        return _written(masks[0]) if masks else "pass"

    @property
    def _is_faulty(self) -> bool:
        return bool(self.fault) and self._moves_generated >= self.at

    def _loadsgf(self, path: str) -> str:
        text = Path(path.strip('"')).read_text("utf-8")
        if not text.startswith("(;GM[Blokus Two-Player]"):
            raise RefusedError("another game")
        self._clear()
        for color, values in _SETUP.findall(text):
            for move in values[1:-1].split("]["):
                self._put(int(color) - 1, sum(bit(*cell) for cell in read_cells(move)))
        return ""

    def _place(self, color: int, move: str) -> None:
        if not self.is_two_player:
            raise RefusedError("wrong game")
        mask = sum(bit(*cell) for cell in read_cells(move))
        if mask not in self._legal_masks(color):
            raise RefusedError("illegal move")
        self._put(color, mask)

    def _put(self, color: int, mask: int) -> None:
        x, y = min(i % STRIDE for i in scan(mask)), min(i // STRIDE for i in scan(mask))
        shape = _BY_MASK[mask >> (y * STRIDE + x)].shape
        if not self._remaining[color] >> shape & 1:
            raise RefusedError("piece already played")
        self.cells[color] |= mask
        self._remaining[color] ^= 1 << shape

    def legal(self, color: int) -> list[str]:
        """Return the legal moves of a colour, the largest pieces first."""
        return [_written(mask) for mask in self._legal_masks(color)]

    def _legal_masks(self, color: int) -> list[int]:
        own, occupied = self.cells[color], self.cells[0] | self.cells[1] | self.cells[2] | self.cells[3]
        free = free_cells(own, occupied)
        attach = attach_cells(own, free) if own else CORNERS[color] & free
        masks = [
            turned.mask << index
            for turned, corners in generate_placements(free, attach, self._remaining[color])
            for index in scan(corners)
        ]
        masks.sort(key=int.bit_count, reverse=True)
        return masks


def _written(mask: int) -> str:
    return write_cells((i % STRIDE, i // STRIDE) for i in scan(mask))


def _die() -> str:
    sys.stderr.write("loading the network\nout of memory\n")
    sys.exit(3)


def _hang() -> str:
    time.sleep(10_000)
    return ""


def _write_without_end() -> str:
    while True:
        sys.stdout.write("thinking about it " * 1000)


def _refuse() -> str:
    raise RefusedError("no search tree")


_FAULTS: Final[dict[str, Callable[[], str]]] = {
    "die": _die,
    "hang": _hang,
    "endless": _write_without_end,
    "refuse": _refuse,
    "unreadable": lambda: "q16 or so",
    "not-a-piece": lambda: "a1,c3",
    "illegal": lambda: "a1,b1,c1,d1,e1",  # never legal twice, and rarely once
    "pass": lambda: "pass",
    "resign": lambda: "resign",
}


def main() -> None:
    """Answer the commands on standard input."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--fault", default="", choices=_FAULTS)
    parser.add_argument("--at", type=int, default=1)
    parser.add_argument("--is-not-gtp", action="store_true")
    options = parser.parse_args()
    if options.is_not_gtp:
        sys.exit("usage: chess")
    engine = BlokusEngine(tuple(options.without), options.fault, options.at)
    for line in sys.stdin:
        number, _, command = line.strip().partition(" ")
        if line.strip() == "quit":
            return
        try:
            text, sign = engine.answer(command), "="
        except RefusedError as error:
            text, sign = str(error), "?"
        sys.stdout.write(f"{sign}{number} {text}\n\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
