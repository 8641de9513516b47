"""The editions there are, and which one a gameType means.

Law: this is the only place that names concrete games, dialects and policies. A new game or season is one entry here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from game.api import GameOptionError
from game.blokus.rulesets import BLOKUS_2021
from protocol.dialects.blokus_2021 import BLOKUS_2021_R3, BLOKUS_2021_RELEASE
from protocol.messages import Cause
from server.errors import Fault, StartError
from server.policy import CancelWinner, Edition, Policy, TimeoutWinner

_DOCUMENTED: Final = Policy()

_RELEASE_2021: Final = _DOCUMENTED.evolve(
    ends_players_streams=False,
    judges_joined_games=False,
    hard_timeout_cause=Cause.SOFT_TIMEOUT,
    timeout_winner=TimeoutWinner.LEADER,
    cancel_winner=CancelWinner.LEADER,
    observing_sends_state=False,
    accepts_single_slot=True,
    explains_protocol_errors=False,
    unanswered_faults=frozenset({Fault.BAD_SLOTS, Fault.NO_GAME_TYPE}),
    has_default_game=False,
    answers_end_tag=False,
    sends_result_before_start=True,
)

EDITIONS: Final[Mapping[str, Edition]] = {
    edition.name: edition
    for edition in (
        Edition("blokus-2021-r3", "swc_2021_blokus", BLOKUS_2021, BLOKUS_2021_R3, _DOCUMENTED),
        Edition(
            "blokus-2021-21.4.0",
            "swc_2021_blokus",
            BLOKUS_2021.with_options({"gameEnd": "noMovesLeft"}),
            BLOKUS_2021_RELEASE,
            _RELEASE_2021,
        ),
    )
}
"""By name; the first one of each gameType is what that gameType means unless the operator chooses another."""


def choose_editions(chosen: Mapping[str, str], game_options: Mapping[str, str]) -> dict[str, Edition]:
    """The edition each gameType is played in, with the game's options set.

    `chosen`: edition name by gameType, for those that shall not be played in their first edition. Raises StartError.
    """
    editions: dict[str, Edition] = {}
    for edition in EDITIONS.values():
        editions.setdefault(edition.game_type, edition)
    for game_type, name in chosen.items():
        names = [edition.name for edition in EDITIONS.values() if edition.game_type == game_type]
        if not names:
            raise StartError(f"edition {game_type}={name}: there is no such gameType, expected {_one_of(editions)}")
        if name not in names:
            raise StartError(f"edition {game_type}={name}: there is no such edition, expected {_one_of(names)}")
        editions[game_type] = EDITIONS[name]
    try:
        return {
            game_type: dataclasses.replace(edition, game=edition.game.with_options(game_options))
            for game_type, edition in editions.items()
        }
    except GameOptionError as error:
        raise StartError(str(error)) from None


def choose_default(default_game: str | None, editions: Mapping[str, Edition]) -> Edition:
    """The edition of a `join` without gameType: that of `default_game`, or the first. Raises StartError."""
    if default_game is None:
        return next(iter(editions.values()))
    if default_game not in editions:
        raise StartError(f"defaultGame {default_game}: there is no such gameType, expected {_one_of(editions)}")
    return editions[default_game]


def _one_of(names: Mapping[str, object] | list[str]) -> str:
    return " or ".join(names)
