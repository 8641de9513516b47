"""The ways a game can end before it is over by the rules, as a scripted server reports them.

Invariants: a program receives exactly what the edition's server sends to a player in that situation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from spielleiter.match.checking.scripted_server import ScriptedServer
from spielleiter.protocol.messages import Cause, Result
from spielleiter.server.core.ending import Ending
from spielleiter.server.core.policy import Edition


@dataclass(frozen=True, slots=True)
class EarlyEnding:
    """An end of a game: by a fault of the program (`own`), by one of its opponent (`other`), or without a fault."""

    text: str
    own: Cause = Cause.REGULAR
    other: Cause = Cause.REGULAR
    has_begun: bool = True


EARLY_ENDINGS: Final = (
    EarlyEnding("the opponent leaves", other=Cause.LEFT),
    EarlyEnding("the opponent breaks a rule", other=Cause.RULE_VIOLATION),
    EarlyEnding("the opponent is too slow", other=Cause.SOFT_TIMEOUT),
    EarlyEnding("the opponent never answers", other=Cause.HARD_TIMEOUT),
    EarlyEnding("the program is told that it broke a rule", own=Cause.RULE_VIOLATION),
    EarlyEnding("the program is told that it was too slow", own=Cause.SOFT_TIMEOUT),
    EarlyEnding("the program is told that it never answered", own=Cause.HARD_TIMEOUT),
    EarlyEnding("the game is called off"),
    EarlyEnding("the room closes before the game begins", has_begun=False),
)


def result_of(edition: Edition, scripted_server: ScriptedServer, end: EarlyEnding) -> Result:
    """Return the result that the edition's server sends if the game now ends by `end`."""
    if not end.has_begun:
        return _result_before_start(edition, scripted_server)
    return _result(edition, scripted_server, _ending(edition, scripted_server, end))


def result_by_rules(edition: Edition, scripted_server: ScriptedServer) -> Result:
    """Return the result that the edition's server sends for a game that is over by the rules."""
    outcome = scripted_server.state.outcome()
    assert outcome is not None
    return _result(edition, scripted_server, Ending.by_rules(outcome))


def _ending(edition: Edition, scripted_server: ScriptedServer, end: EarlyEnding) -> Ending:
    if end.own is not Cause.REGULAR:
        return Ending.against(scripted_server.seat, end.own, f"cause {end.own.value}", (1 - scripted_server.seat,))
    if end.other is not Cause.REGULAR:
        return Ending.against(1 - scripted_server.seat, end.other, f"cause {end.other.value}", (scripted_server.seat,))
    return Ending.by_command(edition.policy.cancel_winner, scripted_server.state)


def _result_before_start(edition: Edition, scripted_server: ScriptedServer) -> Result:
    """Return the result of a game whose opponent never takes its seat."""
    absent = {1 - scripted_server.seat: (Cause.LEFT, "not connected")} if edition.policy.absent_players_left else {}
    return _result(edition, scripted_server, Ending.by_faults(absent) if absent else Ending.cancelled(()))


def _result(edition: Edition, scripted_server: ScriptedServer, ending: Ending) -> Result:
    dialect = edition.dialect
    points = ending.points(scripted_server.state, zeroes_offenders=edition.policy.zeroes_offenders)
    return ending.result(
        dialect.score_definition, points, scripted_server.names, dialect.player_details(scripted_server.state)
    )
