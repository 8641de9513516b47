"""The ways a game can end before the rules end it, as a scripted server tells of them.

Invariants: a program is told exactly what the edition's server tells a player in that place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from match.stage import Stage
from protocol.messages import Cause, Result
from server.ending import Ending
from server.policy import Edition


@dataclass(frozen=True, slots=True)
class EarlyEnd:
    """How a game ends: by the program's fault, by its opponent's, or without any."""

    text: str
    own: Cause = Cause.REGULAR
    other: Cause = Cause.REGULAR
    has_begun: bool = True


EARLY_ENDS: Final = (
    EarlyEnd("the opponent leaves", other=Cause.LEFT),
    EarlyEnd("the opponent breaks a rule", other=Cause.RULE_VIOLATION),
    EarlyEnd("the opponent is too slow", other=Cause.SOFT_TIMEOUT),
    EarlyEnd("the opponent never answers", other=Cause.HARD_TIMEOUT),
    EarlyEnd("the program is told that it broke a rule", own=Cause.RULE_VIOLATION),
    EarlyEnd("the program is told that it was too slow", own=Cause.SOFT_TIMEOUT),
    EarlyEnd("the program is told that it never answered", own=Cause.HARD_TIMEOUT),
    EarlyEnd("the game is called off"),
    EarlyEnd("the room closes before the game begins", has_begun=False),
)


def result_of(edition: Edition, stage: Stage, end: EarlyEnd) -> Result | None:
    """What the edition's server says of such a game as it stands; None where it gives no result."""
    if not end.has_begun:
        return _result_before_start(edition, stage)
    return _result(edition, stage, _ending(edition, stage, end))


def result_by_rules(edition: Edition, stage: Stage) -> Result:
    """What the edition's server says of a game that is over by the rules."""
    outcome = stage.state.outcome()
    assert outcome is not None
    return _result(edition, stage, Ending.by_rules(outcome))


def _ending(edition: Edition, stage: Stage, end: EarlyEnd) -> Ending:
    if end.own is not Cause.REGULAR:
        return Ending.against(stage.seat, end.own, f"cause {end.own.value}", (1 - stage.seat,))
    if end.other is not Cause.REGULAR:
        return Ending.against(1 - stage.seat, end.other, f"cause {end.other.value}", (stage.seat,))
    return Ending.by_command(edition.policy.cancel_winner, stage.state)


def _result_before_start(edition: Edition, stage: Stage) -> Result | None:
    """What is said if the opponent never comes."""
    policy = edition.policy
    if not policy.sends_result_before_start:
        return None
    absent = {1 - stage.seat: "not connected"} if policy.absent_players_left else {}
    return _result(edition, stage, Ending.called_off(absent) if absent else Ending.cancelled(()))


def _result(edition: Edition, stage: Stage, ending: Ending) -> Result:
    dialect = edition.dialect
    points = ending.points(stage.state, zeroes_offenders=edition.policy.zeroes_offenders)
    return ending.result(dialect.score_definition, points, stage.names, dialect.player_details(stage.state))
