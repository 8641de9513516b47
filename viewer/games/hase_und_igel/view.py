"""The view of Hase und Igel: the track, and what each player holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from spielleiter.game.api import Mistake, Move, Outcome, Seat, State
from spielleiter.game.hase_und_igel.board import (
    GOAL_INDEX,
    Action,
    Advance,
    Card,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    HaseUndIgelMove,
    PlayerColor,
    Skip,
)
from spielleiter.game.hase_und_igel.rules import HaseUndIgelMistake
from spielleiter.game.hase_und_igel.state import GOAL, HaseUndIgelState
from spielleiter.viewer.positions.view import Json, View, Words, shortened_text

_MOST_CARROTS: Final = 1000
"""More than anybody can collect in 30 rounds; the number of carrots bounds the number of moves."""

RULE_WORDS: Final[Mapping[HaseUndIgelMistake, Words]] = {
    HaseUndIgelMistake.NO_ACTION_LIST: {"de": "Der Zug enthält keine Aktion.", "en": "The move has no action."},
    HaseUndIgelMistake.NO_ACTIONS: {"de": "Der Zug enthält keine Aktion.", "en": "The move has no action."},
    HaseUndIgelMistake.WRONG_ORDER: {
        "de": "Die Aktionen sind nicht fortlaufend ab 0 nummeriert.",
        "en": "The actions are not numbered 0, 1, 2 and so on.",
    },
    HaseUndIgelMistake.ONLY_CARDS_FOLLOW: {
        "de": "Nach der ersten Aktion dürfen nur noch Karten folgen.",
        "en": "Only cards may follow the first action.",
    },
    HaseUndIgelMistake.CARD_REQUIRED: {
        "de": "Auf einem Hasenfeld muss eine Karte gespielt werden.",
        "en": "A card has to be played on a hare field.",
    },
    HaseUndIgelMistake.ADVANCE: {
        "de": "So weit oder auf dieses Feld darf der Spieler nicht vorrücken.",
        "en": "The player may not advance that far, or not to that field.",
    },
    HaseUndIgelMistake.EXCHANGE_CARROTS: {
        "de": "Diese Karotten dürfen hier nicht getauscht werden.",
        "en": "These carrots cannot be exchanged here.",
    },
    HaseUndIgelMistake.EAT_SALAD: {"de": "Hier darf kein Salat gefressen werden.", "en": "No salad can be eaten here."},
    HaseUndIgelMistake.FALL_BACK: {
        "de": "Der Spieler darf nicht auf ein Igelfeld zurückfallen.",
        "en": "The player cannot fall back to a hedgehog field.",
    },
    HaseUndIgelMistake.SKIP: {
        "de": "Aussetzen ist nicht erlaubt, solange ein anderer Zug möglich ist.",
        "en": "Skipping is not allowed while another move is possible.",
    },
    HaseUndIgelMistake.CARD_TAKE_OR_DROP_CARROTS: {
        "de": "Die Karte „Karotten nehmen oder abgeben“ darf hier nicht gespielt werden.",
        "en": "The card “take or drop carrots” cannot be played here.",
    },
    HaseUndIgelMistake.CARD_EAT_SALAD: {
        "de": "Die Karte „Salat fressen“ darf hier nicht gespielt werden.",
        "en": "The card “eat a salad” cannot be played here.",
    },
    HaseUndIgelMistake.CARD_HURRY_AHEAD: {
        "de": "Die Karte „Vorrücken“ darf hier nicht gespielt werden.",
        "en": "The card “hurry ahead” cannot be played here.",
    },
    HaseUndIgelMistake.CARD_FALL_BACK: {
        "de": "Die Karte „Zurückfallen“ darf hier nicht gespielt werden.",
        "en": "The card “fall back” cannot be played here.",
    },
}


@dataclass(frozen=True, slots=True)
class HaseUndIgelView(View):
    """The view of positions of the type HaseUndIgelState."""

    name: str = "hase_und_igel"

    def is_possible(self, state: State) -> bool:
        position = _own(state)
        return position.board.is_regular() and all(
            0 <= player.index <= GOAL_INDEX and player.carrots <= _MOST_CARROTS for player in position.players
        )

    def color(self, state: State, _seat: Seat) -> str | None:
        return _own(state).color_on_turn.name

    def parts(self, state: State) -> Json:
        position = _own(state)
        return {
            "fields": {"turn": position.turn, "round": position.round},
            "track": [{"index": index, "type": field.name} for index, field in enumerate(position.board.fields)],
        }

    def player(self, state: State, seat: Seat) -> Json:
        player = _own(state).players[seat]
        last = None if player.last_action is None else shortened_text(player.last_action)
        return {
            "color": PlayerColor(seat).name,
            "field": player.index,
            "carrots": player.carrots,
            "salads": player.salads,
            "cards": [card.name for card in player.cards],
            "lastAction": last,
            "fields": {"field": player.index, "carrots": player.carrots, "salads": player.salads},
        }

    def picture(self, state: State) -> Json:
        return {"goal": GOAL_INDEX, "fields": [player.index for player in _own(state).players]}

    def count_moves(self, state: State) -> list[int] | None:
        position = _own(state)
        if not self.is_possible(position):  # counting may take very long
            return None
        if position.outcome() is not None:
            return [0, 0]
        counts = [0, 0]
        counts[position.seat_on_turn] = _count(position)
        counts[1 - position.seat_on_turn] = _count(replace(position, turn=position.turn + 1))
        return counts

    def last_move(self, state: State, _previous: State | None) -> Json | None:
        position = _own(state)
        move = position.last_move
        if move is None:
            return None
        seat = 1 - position.seat_on_turn
        is_skip = any(isinstance(action, Skip) for action in move.in_order)
        return {
            "player": seat,
            "color": PlayerColor(seat).name,
            "kind": "SKIP" if is_skip else "MOVE",
            "piece": None,
            "cells": [],
            "actions": [shortened_text(action) for action in move.in_order],
            "text": shortened_text(move),
        }

    def move(self, state: State, move: Move) -> Json:
        position = _own(state)
        assert isinstance(move, HaseUndIgelMove)
        seat = position.seat_on_turn
        before, after = position.players[seat], position.play(move).players[seat]
        return {
            "field": None if after.index == before.index else after.index,
            "carrots": after.carrots - before.carrots,
            "actions": [_described(action) for action in move.in_order],
        }

    def end_words(self, outcome: Outcome) -> Words:
        if outcome.reason == GOAL:
            return {"de": "Das Ziel ist erreicht", "en": "the goal is reached"}
        return {"de": "Alle Runden sind gespielt", "en": "all rounds are played"}

    def rule_words(self, mistake: Mistake) -> Words:
        assert isinstance(mistake, HaseUndIgelMistake)
        return RULE_WORDS[mistake]


VIEW: Final = HaseUndIgelView()


def _own(state: State) -> HaseUndIgelState:
    assert isinstance(state, HaseUndIgelState)
    return state


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


def _count(state: HaseUndIgelState) -> int:
    return sum(1 for _ in state.generate_legal_moves())
