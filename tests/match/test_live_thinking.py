"""To which move of a running game a line of a program belongs, and what is told about it."""

from __future__ import annotations

import json

from spielleiter.game.api import Seat
from spielleiter.match.live_thinking import LiveThinking
from spielleiter.protocol.thinking import MOST_LINES, Thinking


class Told:
    """What is told of a game whose programs are asked for moves in turn."""

    def __init__(self) -> None:
        self.told: list[tuple[int, Seat, Thinking]] = []
        self.thinking = LiveThinking(lambda ply, seat, thinking: self.told.append((ply, seat, thinking)))
        self._say = self.thinking.reader(0), self.thinking.reader(1)

    def say(self, seat: Seat, **parts: object) -> None:
        self._say[seat](json.dumps({"thinking": 1, **parts}).encode() + b"\n")

    def last(self) -> tuple[int, Seat, tuple[str, ...]]:
        ply, seat, thinking = self.told[-1]
        return ply, seat, thinking.texts


def test_a_line_belongs_to_the_move_that_was_requested_last() -> None:
    game = Told()
    game.say(0, text="at the start")
    game.say(1, text="ready")
    assert game.told == []
    game.thinking.note_request(0, 0, 4)
    assert game.last() == (0, 0, ("at the start",))
    game.say(0, text="first")
    assert game.last() == (0, 0, ("at the start", "first"))
    game.thinking.note_request(1, 1, 5)
    assert game.last() == (1, 1, ("ready",))
    game.say(0, text="read after the move")
    assert game.last() == (0, 0, ("at the start", "first", "read after the move"))
    game.thinking.note_request(0, 2, 7)
    game.say(0, text="second")
    assert game.last() == (2, 0, ("second",))


def test_the_turn_in_a_line_decides() -> None:
    game = Told()
    game.thinking.note_request(0, 0, 4)
    game.thinking.note_request(1, 1, 5)
    game.thinking.note_request(0, 2, 7)
    game.say(0, text="late", turn=4)
    assert game.last() == (0, 0, ("late",))
    game.say(0, text="not asked", turn=5)
    assert game.last() == (2, 0, ("not asked",))


def test_lines_about_one_move_are_bounded() -> None:
    game = Told()
    game.thinking.note_request(0, 0, 0)
    for number in range(MOST_LINES + 50):
        game.say(0, value=number)
    assert len(game.told) == MOST_LINES
    assert game.told[-1][2].value == MOST_LINES - 1
    game.thinking.note_request(0, 2, 2)
    game.say(0, value=-1)
    assert game.told[-1] == (2, 0, Thinking(value=-1.0))


def test_naming_another_turn_in_each_line_lets_no_more_lines_be_read() -> None:
    game = Told()
    for ply in range(3):
        game.thinking.note_request(0, ply, ply)
    for number in range(MOST_LINES + 50):
        game.say(0, turn=number % 3)
    assert len(game.told) == MOST_LINES
