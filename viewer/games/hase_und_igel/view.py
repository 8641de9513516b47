"""The view of Hase und Igel: the track, and what each player holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from spielleiter.game.api import Seat
from spielleiter.game.hase_und_igel.board import (
    GOAL_INDEX,
    Action,
    Advance,
    Card,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    HaseUndIgelMove,
    Skip,
)
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake
from spielleiter.game.hase_und_igel.state import GOAL, ROUND_LIMIT_REACHED, HaseUndIgelState
from spielleiter.viewer.positions.view import (
    TEAM_COLORS,
    Bilingual,
    Json,
    TeamView,
    counts_of_moves,
    played_move,
    shortened_text,
)

_MOST_CARROTS: Final = 1000
"""More than anybody can collect in 30 rounds; the number of carrots bounds the number of moves."""

_RULES: Final[Mapping[HaseUndIgelMistake, Bilingual]] = {
    HaseUndIgelMistake.NO_ACTION_LIST: ("Der Zug enthält keine Aktion.", "The move has no action."),
    HaseUndIgelMistake.NO_ACTIONS: ("Der Zug enthält keine Aktion.", "The move has no action."),
    HaseUndIgelMistake.WRONG_ORDER: (
        "Die Aktionen sind nicht fortlaufend ab 0 nummeriert.",
        "The actions are not numbered 0, 1, 2 and so on.",
    ),
    HaseUndIgelMistake.ONLY_CARDS_FOLLOW: (
        "Nach der ersten Aktion dürfen nur noch Karten folgen.",
        "Only cards may follow the first action.",
    ),
    HaseUndIgelMistake.CARD_REQUIRED: (
        "Auf einem Hasenfeld muss eine Karte gespielt werden.",
        "A card has to be played on a hare field.",
    ),
    HaseUndIgelMistake.ADVANCE: (
        "So weit oder auf dieses Feld darf der Spieler nicht vorrücken.",
        "The player may not advance that far, or not to that field.",
    ),
    HaseUndIgelMistake.EXCHANGE_CARROTS: (
        "Diese Karotten dürfen hier nicht getauscht werden.",
        "These carrots cannot be exchanged here.",
    ),
    HaseUndIgelMistake.EAT_SALAD: ("Hier darf kein Salat gefressen werden.", "No salad can be eaten here."),
    HaseUndIgelMistake.FALL_BACK: (
        "Der Spieler darf nicht auf ein Igelfeld zurückfallen.",
        "The player cannot fall back to a hedgehog field.",
    ),
    HaseUndIgelMistake.SKIP: (
        "Aussetzen ist nicht erlaubt, solange ein anderer Zug möglich ist.",
        "Skipping is not allowed while another move is possible.",
    ),
    HaseUndIgelMistake.CARD_TAKE_OR_DROP_CARROTS: (
        "Die Karte „Karotten nehmen oder abgeben“ darf hier nicht gespielt werden.",
        "The card “take or drop carrots” cannot be played here.",
    ),
    HaseUndIgelMistake.CARD_EAT_SALAD: (
        "Die Karte „Salat fressen“ darf hier nicht gespielt werden.",
        "The card “eat a salad” cannot be played here.",
    ),
    HaseUndIgelMistake.CARD_HURRY_AHEAD: (
        "Die Karte „Vorrücken“ darf hier nicht gespielt werden.",
        "The card “hurry ahead” cannot be played here.",
    ),
    HaseUndIgelMistake.CARD_FALL_BACK: (
        "Die Karte „Zurückfallen“ darf hier nicht gespielt werden.",
        "The card “fall back” cannot be played here.",
    ),
}

_ENDS: Final[Mapping[str | None, Bilingual]] = {
    GOAL: ("Das Ziel ist erreicht", "the goal is reached"),
    ROUND_LIMIT_REACHED: ("Alle Runden sind gespielt", "all rounds are played"),
}


class HaseUndIgelView(TeamView):
    """The view of positions of the type HaseUndIgelState."""

    name = "hase_und_igel"
    rule_texts = _RULES
    end_texts = _ENDS

    def is_possible(self, state: HaseUndIgelState) -> bool:
        return state.board.is_regular() and all(
            0 <= player.index <= GOAL_INDEX and player.carrots <= _MOST_CARROTS for player in state.players
        )

    def parts(self, state: HaseUndIgelState) -> Json:
        return {
            "track": [{"index": index, "type": field.name} for index, field in enumerate(state.board.fields)],
        }

    def player(self, state: HaseUndIgelState, seat: Seat) -> Json:
        player = state.players[seat]
        last = None if player.last_action is None else shortened_text(player.last_action)
        return {
            "color": TEAM_COLORS[seat],
            "field": player.index,
            "carrots": player.carrots,
            "salads": player.salads,
            "cards": [card.name for card in player.cards],
            "lastAction": last,
            "fields": {"field": player.index, "carrots": player.carrots, "salads": player.salads},
        }

    def picture(self, state: HaseUndIgelState) -> Json:
        return {"goal": GOAL_INDEX, "fields": [player.index for player in state.players]}

    def count_moves(self, state: HaseUndIgelState) -> list[int] | None:
        if not self.is_possible(state):  # counting may take very long
            return None
        return counts_of_moves(state, replace(state, turn=state.turn + 1))

    def last_move(self, state: HaseUndIgelState, _previous: HaseUndIgelState | None) -> Json | None:
        move = state.last_move
        if move is None:
            return None
        seat = 1 - state.seat_on_turn
        is_skip = any(isinstance(action, Skip) for action in move.in_order)
        actions = [shortened_text(action) for action in move.in_order]
        return played_move(seat, TEAM_COLORS[seat], move, kind="SKIP" if is_skip else "MOVE", actions=actions)

    def move(self, state: HaseUndIgelState, move: HaseUndIgelMove) -> Json:
        seat = state.seat_on_turn
        before, after = state.players[seat], state.play(move).players[seat]
        return {
            "field": None if after.index == before.index else after.index,
            "carrots": after.carrots - before.carrots,
            "actions": [_described(action) for action in move.in_order],
        }


VIEW: Final = HaseUndIgelView()


def _described(action: Action) -> Json:
    """Return an action: its name on the wire, its distance or value, and its card."""
    match action:
        case Advance(distance):
            return {"type": "advance", "value": distance, "card": None}
        case Card(card, value):
            return {"type": "card", "value": value, "card": card.name}
        case ExchangeCarrots(value):
            return {"type": "exchangeCarrots", "value": value, "card": None}
        case EatSalad():
            return {"type": "eatSalad", "value": None, "card": None}
        case FallBack():
            return {"type": "fallBack", "value": None, "card": None}
        case Skip():
            return {"type": "skip", "value": None, "card": None}
