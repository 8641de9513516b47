"""The table of editions, and which edition a gameType means.

This is the only module of the server that names concrete games, dialects and policies. An edition's game and dialect
are imported when it is first needed: when a client joins with its gameType, or a command names it. That happens inside
the event loop, once for each season and process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spielleiter.game.api import GameOptionError
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.messages import (
    Cause,
    JoinRoomRequest,
    ScoreForPlayerRequest,
    TestModeRequest,
    TimeoutRequest,
)
from spielleiter.server.core.policy import CancelWinner, Edition, Policy, TimeoutWinner
from spielleiter.server.errors import Fault, StartError
from spielleiter.server.setting import suggestion


def game_option_problem(edition: Edition, name: str, value: str) -> str | None:
    """Return why the option `name` cannot have this `value` in the edition's game; None if it can."""
    if name not in edition.game.option_names:
        return f"{edition.game_type} has no option {name}"
    try:
        edition.game.with_options({name: value})
    except GameOptionError as error:
        return f"{error} ({edition.game_type})"
    return None


_DOCUMENTED: Final = Policy()

_RELEASE_2021: Final = _DOCUMENTED.evolve(
    ends_players_streams=False,
    judges_joined_games=False,
    hard_timeout_cause=Cause.SOFT_TIMEOUT,
    timeout_winner=TimeoutWinner.LEADER,
    cancel_winner=CancelWinner.LEADER,
    scores_only_expected=True,
    observing_sends_state=False,
    accepts_single_slot=True,
    explains_protocol_errors=False,
    unanswered_faults=frozenset(
        {Fault.BAD_SLOTS, Fault.NO_GAME_TYPE, Fault.NO_ROOM_ID, Fault.INCOMPLETE_MOVE, Fault.UNKNOWN_PLAYER}
    ),
    has_default_game=False,
    answers_end_tag=False,
)

_EARLY_2021: Final = _DOCUMENTED.evolve(joins_reserved_together=True)

_RELEASE_2027: Final = _DOCUMENTED.evolve(
    ends_players_streams=False,
    ends_idle_players=True,
    observing_sends_state=False,
    answers_end_tag=False,
    keeps_refused=True,
    ending_faults=frozenset({Fault.BAD_SLOTS, Fault.UNKNOWN_GAME_TYPE, Fault.NO_ROOM_ID, Fault.INCOMPLETE_MOVE}),
    accepts_single_slot=True,
    keeps_violators=True,
    zeroes_offenders=True,
    tells_resuming_first=True,
    absent_players_left=True,
    scores_only_expected=True,
    out_of_turn_cause=Cause.PROCESS_VIOLATION,
    cancel_winner=CancelWinner.BY_RULES,
    missing_requests=frozenset({ScoreForPlayerRequest, TestModeRequest, TimeoutRequest}),
)

_RELEASE_2024: Final = _RELEASE_2027.evolve(judges_joined_games=False)

_RELEASE_2023: Final = _RELEASE_2024.evolve(
    zeroes_offenders=False,
    hard_timeout_cause=Cause.SOFT_TIMEOUT,
    timeout_winner=TimeoutWinner.NOBODY,
    cancel_winner=CancelWinner.NOBODY,
    out_of_turn_cause=Cause.RULE_VIOLATION,
)

_DOCUMENTED_2018: Final = _DOCUMENTED.evolve(
    joins_reserved_together=True,
    tells_violators_the_result=False,
    refuses_unknown_players=False,
    missing_requests=frozenset({JoinRoomRequest}),
)

EDITIONS: Final[Mapping[str, Edition]] = {
    edition.name: edition
    for edition in (
        Edition(
            "blokus-2027",
            "swc_2027_blokus",
            "game.blokus:BLOKUS_2027",
            "protocol.dialects.blokus_2027:BLOKUS_2027",
            _RELEASE_2027,
            release="27.0.4",
            since="2026-07-21",
        ),
        Edition(
            "piranhas-2026",
            "swc_2026_piranhas",
            "game.piranhas:PIRANHAS_2026",
            "protocol.dialects.piranhas_2026:PIRANHAS_2026",
            _RELEASE_2027,
            release="26.1.0",
            since="2026-03-31",
        ),
        Edition(
            "piranhas-2026-26.0.7",
            "swc_2026_piranhas",
            "game.piranhas:PIRANHAS_2026_FIRST",
            "protocol.dialects.piranhas_2026:PIRANHAS_2026_FIRST",
            _RELEASE_2027,
            release="26.0.7",
            since="2025-10-08",
        ),
        Edition(
            "mississippi-queen-2024",
            "swc_2024_mississippi_queen",
            "game.mississippi_queen:MISSISSIPPI_QUEEN_2024",
            "protocol.dialects.mississippi_queen_2024:MISSISSIPPI_QUEEN_2024",
            _RELEASE_2024,
            release="24.2.5",
            since="2024-03-27",
        ),
        Edition(
            "penguins-2023",
            "swc_2023_penguins",
            "game.penguins:PENGUINS_2023",
            "protocol.dialects.penguins_2023:PENGUINS_2023",
            _RELEASE_2023,
            release="23.0.3",
            since="2023-05-02",
        ),
        Edition(
            "blokus-2021-r3",
            "swc_2021_blokus",
            "game.blokus:BLOKUS_2021",
            "protocol.dialects.blokus_2021:BLOKUS_2021_R3",
            _DOCUMENTED,
            release="21.4.0",
            since="2021-02-11",
        ),
        Edition(
            "blokus-2021-21.4.0",
            "swc_2021_blokus",
            "game.blokus:BLOKUS_2021",
            "protocol.dialects.blokus_2021:BLOKUS_2021_RELEASE",
            _RELEASE_2021,
            release="21.4.0",
            since="2021-05-28",
            options={"gameEnd": "noMovesLeft"},
        ),
        Edition(
            "blokus-2021-r2",
            "swc_2021_blokus",
            "game.blokus:BLOKUS_2021",
            "protocol.dialects.blokus_2021:BLOKUS_2021_R2",
            _EARLY_2021,
        ),
        Edition(
            "blokus-2021-r1",
            "swc_2021_blokus",
            "game.blokus:BLOKUS_2021",
            "protocol.dialects.blokus_2021:BLOKUS_2021_R1",
            _EARLY_2021,
            release="21.1.0",
            since="2020-10-01",
        ),
        Edition(
            "hase-und-igel-2018",
            "swc_2018_hase_und_igel",
            "game.hase_und_igel:HASE_UND_IGEL_2018",
            "protocol.dialects.hase_und_igel_2018:HASE_UND_IGEL_2018",
            _DOCUMENTED_2018,
            release="18.2.6",
            since="2018-04-13",
        ),
    )
}
"""By name. The first edition of each gameType is the one that is played unless the operator chooses another."""


def choose_editions(chosen: Mapping[str, str], game_options: Mapping[str, str]) -> dict[str, Edition]:
    """Return the edition in which each gameType is played, with the options of the games set.

    `chosen` maps a gameType to the name of its edition, where that is not the first one; `game_options` are those of
    `spielleiter.game.api.Game.with_options`. Raises StartError for unknown names and values.
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
    for option, value in game_options.items():
        _require_acceptable(option, value, editions)
    return (
        {game_type: each.with_options(game_options) for game_type, each in editions.items()}
        if game_options
        else editions
    )


def _require_acceptable(option: str, value: str, editions: Mapping[str, Edition]) -> None:
    """Raise StartError if no game accepts this value; the text names the values that any of the games accepts.

    One such game is enough, since the start pieces differ between seasons; further games are not imported.
    """
    refusal: GameOptionError | None = None
    known: dict[str, None] = {}
    for edition in editions.values():
        if option in edition.game.option_names:
            try:
                edition.game.with_options({option: value})
            except GameOptionError as error:
                refusal = error
                known |= dict.fromkeys(error.known)
            else:
                return
    if refusal is not None:
        if not known:
            raise StartError(str(refusal))
        raise StartError(f"{option}: {value!r} is not one of {', '.join(known)}{suggestion(value, known)}")


def editions_meant(word: str) -> list[Edition]:
    """Return the editions of the game that `word` names; an empty list if it names no game.

    A game is named by its gameType, or by the first parts of its editions' names: ``blokus``, ``blokus-2021``.
    """
    begin = word.lower().replace("_", "-") + "-"
    return [each for each in EDITIONS.values() if word == each.game_type or each.name.startswith(begin)]


def choose_default(default_game: str | None, editions: Mapping[str, Edition]) -> Edition:
    """Return the edition for a `join` without gameType, which only clients of the current season send.

    `default_game` is the gameType that the operator chose; None means the current season, or the first of `editions` if
    that season is not among them. Raises StartError.
    """
    if default_game is None:
        return editions.get(DEFAULT_GAME_TYPE) or next(iter(editions.values()))
    if default_game in EDITIONS and default_game not in editions:
        game_type = EDITIONS[default_game].game_type
        raise StartError(
            f"defaultGame {default_game}: that is an edition, expected its gameType {game_type} "
            f"(the setting edition, {game_type}={default_game}, chooses the edition)"
        )
    if default_game not in editions:
        raise StartError(f"defaultGame {default_game}: there is no such gameType, expected {_one_of(editions)}")
    return editions[default_game]


def _one_of(names: Mapping[str, object] | list[str]) -> str:
    return " or ".join(names)
