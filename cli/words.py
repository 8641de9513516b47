"""Positions, results and refusals of a server as text, for people and for scripts.

Control characters are escaped. A player is called by its display name or, without one, `player 1` or `player 2`. The
server's own words, which are German, are quoted. `spielleiter.viewer.terminal` draws positions.
"""

from __future__ import annotations

import re
from typing import Final

from spielleiter.client.client_errors import (
    ClientError,
    ConnectionLostError,
    RequestRefusedError,
    ServerProtocolError,
    plain_text,
)
from spielleiter.client.player import GameEnd, GameReport
from spielleiter.common.text import escaped
from spielleiter.game.api import Seat, State
from spielleiter.protocol.messages import Cause, Memento, Result

_ENDS: Final = {
    GameEnd.LEFT: "the room was closed without a result",
    GameEnd.REFUSED: "the server refused",
    GameEnd.ENDED: "the server ended the connection without a result",
    GameEnd.LOST: "the connection was lost",
    GameEnd.ABANDONED: "this player broke the connection itself",
}
_SEASON_HINT: Final = "if this server plays another season, name it with --game or --edition"
_ADVICE: Final = (
    (
        r"Couldn't find a room with id .*",
        "its game may be over; `spielleiter admin status` lists the rooms that exist",
    ),
    (
        r"Couldn't find a reservation for the provided token\.",
        "a code is valid for one seat and expires; `spielleiter admin prepare` creates new ones",
    ),
    (
        r"Room .* is already full!",
        "take a reserved seat with --reservation, or leave --room out to join any open game",
    ),
    (
        r"Unknown GameType UUID: .*",
        "choose one of these with --game",
    ),
    (
        r"cannot connect to .*:(\d+) \(nobody listens there\)",
        r"start a server with `spielleiter serve --port \1`, or name another one with --host and --port",
    ),
    (
        r"Failed to authenticate as administrator|This request requires authentication as administrator",
        "give the server's password with --password or in the variable SPIELLEITER_PASSWORD",
    ),
)
"""Patterns of refusals and of errors of this program, each with advice."""


def points_text(parts: tuple[tuple[int, ...], ...]) -> str:
    """The points of all seats, for example ``136:127``; ``12/3:10/5`` if they have several parts."""
    return ":".join("/".join(str(part) for part in seat) for seat in parts)


def state_points(state: State) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The points by seat."""
    return state.points(0), state.points(1)


def result_points(result: Result) -> tuple[tuple[int, ...], ...]:
    """The points by seat, without the first part, which says who won."""
    return tuple(score.parts[1:] for score in result.scores)


def last_move_text(state: State) -> str | None:
    """The move that led to this position; None for the first one."""
    last_move = getattr(state, "last_move", None)  # not part of the interface of every game
    return None if last_move is None else str(last_move)


def state_line(memento: Memento) -> str:
    """A position as one line."""
    state = memento.state
    move = last_move_text(state) or "the game begins"
    return f"turn {state.turn:3}  round {state.round:2}  {points_text(state_points(state)):>7}  {move}"


def _name(names: tuple[str, str], seat: Seat) -> str:
    return names[seat] or f"player {seat + 1}"


def _faults(result: Result, names: tuple[str, str]) -> list[str]:
    """The faults of the players, if there are any."""
    return [
        f"{_name(names, seat)}: {score.cause.value}" + (f" (the server says: “{score.reason}”)" if score.reason else "")
        for seat, score in enumerate(result.scores)
        if score.cause is not Cause.REGULAR
    ]


def result_line(result: Result, names: tuple[str, str]) -> str:
    """The end of a game as one line. `names` are by seat; a result itself names only winners."""
    match result.winners:
        case ():
            head = "nobody wins"
        case (winner,):
            head = f"{_name(names, winner)} wins"
        case _:
            head = "a draw"
    return escaped("; ".join([f"{head} {points_text(result_points(result))}", *_faults(result, names)]))


def outcome_word(report: GameReport) -> str:
    """``won``, ``lost``, ``draw`` or ``none``; ``none`` also if the game never began."""
    if report.result is None or not report.result.winners or report.seat is None:
        return "none"
    return "draw" if report.is_draw else "won" if report.has_won else "lost"


def report_line(report: GameReport) -> str:
    """A game as one line, from the point of view of its player."""
    result = report.result
    if result is None:
        return " - ".join([_ENDS[report.end], *(refusal_text(text) for text in report.errors[-1:])])
    head = {"none": "no winner", "draw": "a draw"}.get(outcome_word(report), outcome_word(report))
    if report.seat is None:
        head = "the game never began"
    place = "" if report.seat is None else f" as player {report.seat + 1}"
    return escaped("; ".join([f"{head}{place}, {points_text(result_points(result))}", *_faults(result, result.names)]))


# -- refusals ---------------------------------------------------------------------------------------------------------


def refusal_text(message: str) -> str:
    """One line for people: the reason in the server's words and, if it is known, what to do."""
    text = escaped(plain_text(message))
    for pattern, advice in _ADVICE:
        if found := re.fullmatch(pattern, text):
            return f"{text.removesuffix('.')}; {found.expand(advice)}"
    return text


def failure_text(error: ClientError, *, keeps_words: bool, is_season_known: bool = True) -> str:
    """One line on why a command failed.

    `keeps_words`: a refusal of the server is left unchanged, for scripts. `is_season_known`: the user or the server
    named the season; if not, a server that cannot be understood may play another one, and the line says what to try.
    """
    text = str(error) if keeps_words and isinstance(error, RequestRefusedError) else refusal_text(str(error))
    is_strange = isinstance(error, ConnectionLostError | ServerProtocolError)
    return f"{text}; {_SEASON_HINT}" if is_strange and not is_season_known else text
