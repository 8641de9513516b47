"""What a program thinks about its next move: lines of JSON on its standard error, which pages show at that move.

`docs/thinking.md` describes the format for those who write programs.

Invariants: a line may come from anybody. Whatever is in it, reading it raises nothing, and what is kept of a line and
of a move is bounded; numbers are finite. A part that is not of the expected form is left out, and so are unknown keys.
A line that is no such line is the program's ordinary output.

>>> from spielleiter.protocol.thinking import read_thinking
>>> read_thinking(b'{"thinking": 1, "value": 2.5, "cells": [[3, 4]], "mood": "good"}')
Thinking(turn=None, value=2.5, texts=(), numbers={}, cells=(Mark(x=3, y=4, weight=1.0),), moves=())
>>> read_thinking(b"an ordinary line") is None
True
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from msgspec import Struct

VERSION: Final = 1
"""The version of the format: the value of the key `thinking`."""
LONGEST_LINE: Final = 16 * 1024
"""The bytes of a line; a longer one is ordinary output."""
MOST_LINES: Final = 100
"""The number of lines about one move; further ones are left out."""
MOST_CELLS: Final = 400
"""The number of marked cells: as many as the largest board has."""
MOST_MOVES: Final = 20
"""The number of candidate moves."""
MOST_MOVE_CELLS: Final = 25
"""The number of cells of one candidate move."""
MOST_NUMBERS: Final = 20
"""The number of named numbers."""
MOST_TEXTS: Final = 20
"""The number of texts that are kept of one move."""
LONGEST_TEXT: Final = 500
"""The characters of a text; the rest is cut off."""
LONGEST_NAME: Final = 60
"""The characters of the name of a number, and of a candidate move."""
LARGEST: Final = 1e15
"""The largest number that is shown; a computer's numbers are exact up to there."""
LAST_CELL: Final = 99
"""The largest coordinate of a cell, and number of a field."""

_KEY: Final = b'"thinking"'


class Mark(Struct, frozen=True, array_like=True):
    """A marked cell. On a track `x` is the number of the field and `y` is 0."""

    x: int
    y: int
    weight: float = 1.0


class Candidate(Struct, frozen=True, omit_defaults=True):
    """A move that the program considers: what it is called, what the program thinks it is worth, where it would be."""

    text: str = ""
    value: float | None = None
    cells: tuple[tuple[int, int], ...] = ()


class Thinking(Struct, frozen=True, omit_defaults=True):
    """What a program has said about one move, in one line or in several.

    `turn` is that of the position in which the move is played, if the program named it. `value` is what the program
    thinks its position is worth, higher is better for it.
    """

    turn: int | None = None
    value: float | None = None
    texts: tuple[str, ...] = ()
    numbers: dict[str, float] = {}
    cells: tuple[Mark, ...] = ()
    moves: tuple[Candidate, ...] = ()

    def followed_by(self, later: Thinking) -> Thinking:
        """Return both as one: of each part the later one, and the texts of both, the newest of them."""
        return Thinking(
            later.turn if self.turn is None else self.turn,
            self.value if later.value is None else later.value,
            (*self.texts, *later.texts)[-MOST_TEXTS:],
            dict(list({**self.numbers, **later.numbers}.items())[:MOST_NUMBERS]),
            later.cells or self.cells,
            later.moves or self.moves,
        )


def read_thinking(line: bytes) -> Thinking | None:
    """Return what a line of a program's standard error says, without its line end; None for an ordinary line."""
    if not may_be_thinking(line):
        return None
    try:
        # `NaN` and `Infinity` are no JSON, but libraries write them
        found = json.loads(line.decode("utf-8", "replace"), parse_constant=lambda _: None)
    except (ValueError, RecursionError):  # ValueError also for a number with thousands of digits
        return None
    version = found["thinking"] if isinstance(found, dict) and "thinking" in found else None
    if isinstance(version, bool) or version != VERSION:
        return None
    text = _text(found.get("text"), LONGEST_TEXT)
    named = ((_text(name, LONGEST_NAME), _number(value)) for name, value in _items(found.get("numbers")))
    kept = ((name, value) for name, value in named if name and value is not None)
    return Thinking(
        _whole(found.get("turn"), 1_000_000),
        _number(found.get("value")),
        (text,) if text else (),
        dict(islice(kept, MOST_NUMBERS)),
        tuple(_marks(_list(found.get("cells"))[:MOST_CELLS])),
        tuple(_candidates(_list(found.get("moves"))[:MOST_MOVES])),
    )


def may_be_thinking(line: bytes) -> bool:
    """Return whether a line looks as if a program says in it what it thinks, which takes far less time than reading."""
    return _KEY in line and len(line) <= LONGEST_LINE and line.lstrip().startswith(b"{")


def request_of(thinking: Thinking, turns: Sequence[int], latest: int) -> int:
    """Return the number of the request, from 0, to which a line belongs.

    - `turns`: the turns of the positions in which the program was asked for a move.
    - `latest`: the number of the request that was the last one before the line was read. It decides if the line names
      no turn, or one in which the program was not asked.
    """
    return turns.index(thinking.turn) if thinking.turn is not None and thinking.turn in turns else latest


class ThinkingByRequest:
    """Gathers what one program says about its moves."""

    def __init__(self) -> None:
        self.said: dict[int, Thinking] = {}
        """All that was said, by the number of the request, from 0."""
        self._lines: Counter[int] = Counter()

    def add(self, number: int, thinking: Thinking) -> bool:
        """Add a line about the request `number`; return False if there were `MOST_LINES` about it already."""
        self._lines[number] += 1
        if self._lines[number] > MOST_LINES:
            return False
        before = self.said.get(number)
        self.said[number] = thinking if before is None else before.followed_by(thinking)
        return True


class ThinkingReader:
    """Finds the lines in what a program writes, which is read in pieces of any length.

    After `MOST_LINES` lines, further ones cost next to nothing, and are left out until `note_request` is called.
    """

    def __init__(self) -> None:
        self._rest = b""
        """The beginning of the last line, up to more bytes than a line may have."""
        self._left = MOST_LINES

    def note_request(self) -> None:
        """Note that the program was asked for a move, so that it may say more."""
        self._left = MOST_LINES

    def read(self, chunk: bytes) -> Iterator[Thinking]:
        """Yield what the lines say that end in `chunk`."""
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[: LONGEST_LINE + 1]
        for line in lines:
            if self._left and may_be_thinking(line):
                self._left -= 1
                if (thinking := read_thinking(line)) is not None:
                    yield thinking


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _number(value: Any) -> float | None:
    """Return a finite number of a size that can be shown; None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
    return float(value) if is_number else None


def _whole(value: Any, most: int) -> int | None:
    """Return a whole number from 0 to `most`, which some libraries write as 3.0; None for anything else."""
    number = _number(value)
    return int(number) if number is not None and number.is_integer() and 0 <= number <= most else None


def _text(value: Any, longest: int) -> str:
    """Return a text without lone surrogates, which cannot be sent; the empty one for anything else."""
    return value[:longest].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _cell(value: Any) -> tuple[int, int] | None:
    if not isinstance(value, list) or len(value) < len(("x", "y")):
        return None
    x, y = _coordinate(value[0]), _coordinate(value[1])
    return None if x is None or y is None else (x, y)


def _coordinate(value: Any) -> int | None:
    if type(value) is int:  # nearly always, and there are hundreds in a line
        return value if 0 <= value <= LAST_CELL else None
    return _whole(value, LAST_CELL)


def _marks(values: list[Any]) -> Iterator[Mark]:
    for value in values:
        cell = _cell(value)
        weight = _number(value[2]) if cell is not None and len(value) > 2 else 1.0
        if cell is not None and weight is not None:
            yield Mark(*cell, weight)


def _candidates(values: list[Any]) -> Iterator[Candidate]:
    for value in values:
        if isinstance(value, dict):
            cells = map(_cell, _list(value.get("cells"))[:MOST_MOVE_CELLS])
            yield Candidate(
                _text(value.get("text"), LONGEST_NAME),
                _number(value.get("value")),
                tuple(cell for cell in cells if cell is not None),
            )
