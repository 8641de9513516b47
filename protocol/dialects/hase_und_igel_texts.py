"""The texts of 2018's official server about Hase und Igel: broken rules, the end of a game, refused moves.

Invariants: the texts are those of release 18.2.6. The player who broke a rule gets the text with its name before it,
observers get the text alone, and only CloseConnection follows. For refused requests, to which that release did not
reply, the texts of later releases are used. Sources: recorded packets, and the verdicts of that release's rules.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State
from spielleiter.game.hase_und_igel.board import Advance, ExchangeCarrots, HaseUndIgelMove
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake
from spielleiter.game.hase_und_igel.state import GOAL, ROUND_LIMIT_REACHED
from spielleiter.protocol.messages import MoveData, RoomData, UnreadableData
from spielleiter.protocol.texts import (
    LEFT_REASON,
    MoveRefusal,
    Texts,
    invalid_move_error,
    release_texts,
    unreadable_reason,
)

_CARD: Final = "Das Ausspielen der {} Karte ist nicht möglich."

MISTAKE_TEXTS: Final[Mapping[Mistake, str]] = {
    HaseUndIgelMistake.NO_ACTION_LIST: "Aktionen sind null",
    HaseUndIgelMistake.NO_ACTIONS: "Keine Aktionen vorhanden.",
    HaseUndIgelMistake.WRONG_ORDER: "Das order Attribut wurde nicht richtig gesetzt.",
    HaseUndIgelMistake.ONLY_CARDS_FOLLOW: "Nach der ersten Aktion können nur noch Karten folgen.",
    HaseUndIgelMistake.CARD_REQUIRED: "Es muss eine Karte ausgespielt werden.",
    HaseUndIgelMistake.ADVANCE: "Vorwärtszug um {} Felder ist nicht möglich",
    HaseUndIgelMistake.EXCHANGE_CARROTS: "Es können nicht {} Karotten aufgenommen werden.",
    HaseUndIgelMistake.EAT_SALAD: "Es kann gerade kein Salat (mehr) gegessen werden.",
    HaseUndIgelMistake.FALL_BACK: "Es kann gerade kein Rückzug gemacht werden.",
    HaseUndIgelMistake.SKIP: "Spieler kann noch einen anderen Zug ausführen, aussetzen ist nicht erlaubt.",
    HaseUndIgelMistake.CARD_TAKE_OR_DROP_CARROTS: _CARD.format("TAKE_OR_DROP_CARROTS"),
    HaseUndIgelMistake.CARD_EAT_SALAD: _CARD.format("EAT_SALAD"),
    HaseUndIgelMistake.CARD_HURRY_AHEAD: _CARD.format("HURRY_AHEAD"),
    HaseUndIgelMistake.CARD_FALL_BACK: _CARD.format("FALL_BACK"),
}
"""The texts by mistake. `{}` stands for the distance or the number of carrots of the move's first action."""

OUTCOME_TEXTS: Final[Mapping[str, str]] = {
    GOAL: "Das Spiel ist beendet.\nEin Spieler ist im Ziel",
    ROUND_LIMIT_REACHED: "Das Rundenlimit wurde erreicht.",
}

_NOT_YOUR_TURN: Final = "It's not your turn yet."
_NOT_REQUESTED: Final = "We didn't request a data from you yet."


def describe_mistake(mistake: Mistake, move: Move) -> str:
    """Return the text about `mistake`, which the rules have found in `move`."""
    assert isinstance(move, HaseUndIgelMove)
    first = move.first_action
    number = first.distance if isinstance(first, Advance) else first.value if isinstance(first, ExchangeCarrots) else ""
    return MISTAKE_TEXTS[mistake].format(number)


def _refuse_illegal(name: str, mistake: Mistake, move: Move, _state: State) -> MoveRefusal:
    """Refuse an illegal move. The error shows its actions in the order in which they were carried out."""
    assert isinstance(move, HaseUndIgelMove)
    reason = describe_mistake(mistake, move)
    shown = MoveData(move if move.actions is None else HaseUndIgelMove(move.in_order))
    return MoveRefusal(reason, invalid_move_error(name, reason), reason, None, shown)


def _refuse_unreadable(name: str, data: UnreadableData) -> MoveRefusal:
    reason = unreadable_reason(data.problem)
    return MoveRefusal(reason, invalid_move_error(name, reason), reason, None, data)


def _refuse_out_of_turn(
    _active: Seat | None, on_turn: Seat, actual: Seat, _names: tuple[str, str], data: RoomData
) -> MoveRefusal:
    error = _NOT_REQUESTED if actual == on_turn else _NOT_YOUR_TURN
    return MoveRefusal(LEFT_REASON, error, error, None, data)


def _regular_reason(outcome: Outcome) -> str:
    return OUTCOME_TEXTS[outcome.reason]


TEXTS: Final[Texts] = dataclasses.replace(
    release_texts(
        mistake_texts=MISTAKE_TEXTS,
        mistakes_without_move=frozenset(MISTAKE_TEXTS),
        describe_move=lambda move: "null" if move is None else str(move),
        team_names=("RED", "BLUE"),
    ),
    illegal=_refuse_illegal,
    unreadable=_refuse_unreadable,
    out_of_turn=_refuse_out_of_turn,
    regular_reason=_regular_reason,
)
