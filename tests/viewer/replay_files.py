"""Replay files for the tests of the viewer."""

from __future__ import annotations

import random
from collections.abc import Sequence

from spielleiter.game.api import Move, State
from spielleiter.players.choosers import random_move
from spielleiter.protocol.messages import Cause, ErrorMessage, Memento, MoveData, RoomData
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Ending
from spielleiter.server.editions import EDITIONS
from spielleiter.server.replay import encode_replay
from spielleiter.viewer.game_json import Details, describe_game
from spielleiter.viewer.positions.view import Json
from spielleiter.viewer.replay_files import Replay

NAMES = ("Anton", "Berta")


def played(edition: Edition, seed: int = 1, plies: int = 1000) -> list[State]:
    """The positions of a random game."""
    rng = random.Random(seed)
    states = [edition.game.new_state(rng)]
    while states[-1].outcome() is None and len(states) <= plies:
        states.append(states[-1].play(random_move(states[-1], rng)))
    return states


def record_of(edition: Edition, states: Sequence[State], names: tuple[str, str] = NAMES) -> list[RoomData]:
    """The packets of a game that was played by the rules, or cancelled in its last position."""
    outcome = states[-1].outcome()
    ending = Ending.cancelled(()) if outcome is None else Ending.by_rules(outcome, edition, names)
    return [*(Memento(state, names) for state in states), ending.result(edition, states[-1], names)]


def refused_record(
    edition: Edition,
    states: Sequence[State],
    move: Move,
    text: str = "Ungueltig",
    names: tuple[str, str] = NAMES,
) -> list[RoomData]:
    """The packets of a game that ended with an illegal move."""
    seat = states[-1].seat_on_turn
    ending = Ending.by_faults({seat: (Cause.RULE_VIOLATION, text)})
    error = ErrorMessage(text, MoveData(move))
    return [*(Memento(state, names) for state in states), error, ending.result(edition, states[-1], names)]


def replay_of(name: str, seed: int = 1, plies: int = 1000) -> bytes:
    """A replay of the edition `name`."""
    edition = EDITIONS[name]
    return encode_replay(edition.dialect, "room", record_of(edition, played(edition, seed, plies)))


def described(edition: Edition, record: Sequence[RoomData], source: str = "", details: Details | None = None) -> Json:
    """The JSON object of a game with these packets."""
    return describe_game(Replay(edition, tuple(record), source), details or Details())
