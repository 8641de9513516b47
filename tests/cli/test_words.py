"""Lines for results, reports and refusals; those for positions are tested with the commands that print them."""

from __future__ import annotations

import pytest

from spielleiter.cli.words import outcome_word, refusal_text, report_line, result_line
from spielleiter.client.player import GameEnd, GameReport
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.messages import Cause, Result, Score
from spielleiter.server.core.lobby import NO_ADMINS

NO_NAMES = ("", "")
TEXTS = BLOKUS_2027.texts


def _result(winners: tuple[int, ...], *causes: Cause) -> Result:
    first, second = causes or (Cause.REGULAR, Cause.REGULAR)
    return Result((), (Score(first, "", (2, 10)), Score(second, "too late", (0, 7))), winners)


ABORTED = _result((), Cause.LEFT, Cause.REGULAR)


def _report(result: Result | None, *, end: GameEnd = GameEnd.RESULT, seat: int | None = 0) -> GameReport:
    return GameReport(end, "r", seat, result, None, 3, ("first\n word", "last\n word"))


def test_control_characters_are_escaped() -> None:
    scores = (Score(Cause.REGULAR, "", (2, 10)), Score(Cause.LEFT, "\x9b2J\u202e", (0, 7)))
    result = Result((), scores, (0,))
    assert result_line(result, ("a\x9b", "b\n")) == r"a\x9b wins 10:7; b\n: LEFT (the server says: “\x9b2J\u202e”)"
    assert report_line(_report(result)).isprintable()
    lost = GameReport(GameEnd.REFUSED, "r", None, None, None, 0, ("no \x9b2J",))
    assert report_line(lost) == r"the server refused - no \x9b2J"


@pytest.mark.parametrize(
    ("winners", "names", "line"),
    [
        ((0,), NO_NAMES, "player 1 wins 10:7"),
        ((1,), ("Alice", "Bob"), "Bob wins 10:7"),
        ((0, 1), NO_NAMES, "a draw 10:7"),
        ((), NO_NAMES, "nobody wins 10:7"),
    ],
)
def test_a_result_is_a_line(winners: tuple[int, ...], names: tuple[str, str], line: str) -> None:
    assert result_line(_result(winners), names) == line


@pytest.mark.parametrize(
    ("report", "word", "line"),
    [
        (_report(_result((0,))), "won", "won as player 1, 10:7"),
        (_report(_result((0,)), seat=1), "lost", "lost as player 2, 10:7"),
        (_report(_result((0, 1))), "draw", "a draw as player 1, 10:7"),
        # a server that stops sends every player a result, even one that is still waiting for an opponent
        (
            _report(ABORTED, seat=None),
            "none",
            "the game never began, 10:7; player 1: LEFT",
        ),
        (_report(ABORTED), "none", "no winner as player 1, 10:7; player 1: LEFT"),
        (_report(None, end=GameEnd.LEFT), "none", "the room was closed without a result - last word"),
        (_report(None, end=GameEnd.REFUSED), "none", "the server refused - last word"),
        (
            _report(None, end=GameEnd.ENDED),
            "none",
            "the server ended the connection without a result - last word",
        ),
        (_report(None, end=GameEnd.LOST), "none", "the connection was lost - last word"),
        (_report(None, end=GameEnd.ABANDONED), "none", "this player broke the connection itself - last word"),
    ],
)
def test_a_game_is_reported_from_the_view_of_its_player(report: GameReport, word: str, line: str) -> None:
    assert outcome_word(report) == word
    assert report_line(report) == line


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (TEXTS.unknown_room("x"), "spielleiter admin status"),
        (TEXTS.room_full("x"), "--reservation"),
        (TEXTS.unknown_reservation, "spielleiter admin prepare"),
        (TEXTS.unknown_game_type("x", ["y"]), "--game"),
        (TEXTS.wrong_password, "--password"),
        ("cannot connect to ::1:4000 (nobody listens there)", "spielleiter serve --port 4000"),
    ],
)
def test_known_refusals_say_what_to_do(message: str, advice: str) -> None:
    reason, _, what = refusal_text(message).partition("; ")
    assert "Exception" not in reason
    assert reason in message
    assert advice in what


@pytest.mark.parametrize(
    "message", ["whatever", f"{TEXTS.wrong_password}; {NO_ADMINS}", "cannot connect to x:1 (no such host)"]
)
def test_unknown_refusals_have_no_advice(message: str) -> None:
    assert refusal_text(message) == message.rpartition("Exception: ")[2]
