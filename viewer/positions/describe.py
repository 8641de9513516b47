"""Positions, legal moves and illegal moves of any game, as JSON objects.

Invariants: everything about a concrete game is in its view. The result depends on the arguments only, can be encoded as
JSON, and must not be changed by the caller.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, cast

from spielleiter.common.imports import imported_if_there
from spielleiter.game.api import Game, GameOverError, IncompleteMoveError, Move, State, package_of
from spielleiter.viewer.positions.view import Json, View, shortened_text

_TABLE: Final = View()

MOST_LEGAL_MOVES: Final = 5000
"""The number of legal moves after which the overlay is cut; positions of Blokus have at most about 1000."""


def view_of(value: State | Game) -> View:
    """Return the view of a game, `VIEW` of its module in `viewer/games/`; a game without one is shown as a table."""
    return cast("View", imported_if_there(f"viewer.games.{package_of(value)}.view:VIEW") or _TABLE)


def describe_position(state: State, ply: int, previous: State | None = None) -> Json:
    """Return the JSON object of a position.

    - `ply`: the number of moves before it in this game; 0 for the position that the game began with.
    - `previous`: the position one ply before, if there is one.
    """
    view = view_of(state)
    outcome = state.outcome()
    side = (
        None if outcome is not None else {"player": state.seat_on_turn, "color": view.color(state, state.seat_on_turn)}
    )
    return {
        "game": view.name,
        "ply": ply,
        "round": state.round,
        "turn": state.turn,
        "sideToMove": side,
        "isOver": outcome is not None,
        "fields": {"turn": state.turn, "round": state.round},
        "players": [{"points": state.points(seat)[0], **view.player(state, seat)} for seat in (0, 1)],
        **view.parts(state),
        "legalMoves": view.count_moves(state),  # about a millisecond
        "lastMove": view.last_move(state, previous),
    }


def describe_legal_moves(state: State, ply: int) -> Json:
    """Return all legal moves of the side to move, for the overlay of the board; none in an impossible position.

    The ``index`` of a move is its place in `state.generate_legal_moves()`. ``canSkip`` says whether there is a legal
    skip besides these moves; see `skip_move`.
    """
    view = view_of(state)
    moves = islice(state.generate_legal_moves(), MOST_LEGAL_MOVES) if view.is_possible(state) else ()
    return {
        "ply": ply,
        "canSkip": skip_move(state) is not None,
        "moves": [
            {"index": index, "text": shortened_text(move), **view.move(state, move)} for index, move in enumerate(moves)
        ],
    }


def skip_move(state: State) -> Move | None:
    """Return the legal skip of the side to move, if the game has one that is not among the generated moves."""
    return None if state.outcome() is not None else view_of(state).skip_move(state)


def describe_illegal_move(state: State, move: Move, text: str) -> Json | None:
    """Return what to draw of a move that breaks a rule in the position `state`; None if it breaks none.

    `text` is what the server said about it.
    """
    view, seat = view_of(state), state.seat_on_turn
    try:
        mistake = state.check(move) if view.is_possible(state) else None
    except (GameOverError, IncompleteMoveError, TypeError):  # not a move for this position at all
        return None
    if mistake is None:
        return None
    words = view.rule_words(mistake)
    cells = {"piece": None, "cells": [], "offendingCells": [], **view.illegal_cells(state, move, mistake)}
    return {
        "player": seat,
        "color": view.color(state, seat),
        **cells,
        "words": words,
        "rule": words["en"],
        "text": text,
    }
