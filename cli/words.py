"""Positions and results as text, for people and for scripts.

Invariants: games are known only through `spielleiter.game.api`. Control characters in names and reasons are escaped. A
player is called by its display name or, without one, `player 1` or `player 2`. The server's own words, which are
German, are quoted. `spielleiter.cli.board` draws positions.
"""

from __future__ import annotations

from typing import Final

from spielleiter.cli.refusals import refusal_text
from spielleiter.client.player import GameEnd, GameReport
from spielleiter.common.text import escaped
from spielleiter.game.api import Seat, State
from spielleiter.protocol.messages import Cause, Memento, Result


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


_ENDS: Final = {
    GameEnd.LEFT: "the room was closed without a result",
    GameEnd.REFUSED: "the server refused",
    GameEnd.ENDED: "the server ended the connection without a result",
    GameEnd.LOST: "the connection was lost",
    GameEnd.ABANDONED: "this player broke the connection itself",
}


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
