"""Reading the positions, moves and verdicts recorded from the rule code of release 18.2.6 (see data/README.md).

Invariants: this module contains no rules; it only converts between texts and values.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from spielleiter.game.hase_und_igel import (
    Action,
    Advance,
    Board,
    Card,
    CardType,
    EatSalad,
    ExchangeCarrots,
    FallBack,
    HaseUndIgelMistake,
    HaseUndIgelMove,
    HaseUndIgelState,
    Player,
    Skip,
)

Line: TypeAlias = dict[str, Any]

DATA: Final = Path(__file__).parent / "data"

TEXTS: Final = {
    HaseUndIgelMistake.NO_ACTION_LIST: "Aktionen sind null",
    HaseUndIgelMistake.NO_ACTIONS: "Keine Aktionen vorhanden.",
    HaseUndIgelMistake.WRONG_ORDER: "Das order Attribut wurde nicht richtig gesetzt.",
    HaseUndIgelMistake.ONLY_CARDS_FOLLOW: "Nach der ersten Aktion können nur noch Karten folgen.",
    HaseUndIgelMistake.CARD_REQUIRED: "Es muss eine Karte ausgespielt werden.",
    HaseUndIgelMistake.ADVANCE: "Vorwärtszug um {move.first_action.distance} Felder ist nicht möglich",
    HaseUndIgelMistake.EXCHANGE_CARROTS: "Es können nicht {move.first_action.value} Karotten aufgenommen werden.",
    HaseUndIgelMistake.EAT_SALAD: "Es kann gerade kein Salat (mehr) gegessen werden.",
    HaseUndIgelMistake.FALL_BACK: "Es kann gerade kein Rückzug gemacht werden.",
    HaseUndIgelMistake.SKIP: "Spieler kann noch einen anderen Zug ausführen, aussetzen ist nicht erlaubt.",
    HaseUndIgelMistake.CARD_TAKE_OR_DROP_CARROTS: "Das Ausspielen der TAKE_OR_DROP_CARROTS Karte ist nicht möglich.",
    HaseUndIgelMistake.CARD_EAT_SALAD: "Das Ausspielen der EAT_SALAD Karte ist nicht möglich.",
    HaseUndIgelMistake.CARD_HURRY_AHEAD: "Das Ausspielen der HURRY_AHEAD Karte ist nicht möglich.",
    HaseUndIgelMistake.CARD_FALL_BACK: "Das Ausspielen der FALL_BACK Karte ist nicht möglich.",
}
"""The texts of the release. The part in braces is filled in from the move."""

REASONS: Final = {
    "goal": "Das Spiel ist beendet.\nEin Spieler ist im Ziel",
    "round_limit": "Das Rundenlimit wurde erreicht.",
}

_PLAIN_ACTIONS: Final[dict[str, type[EatSalad | FallBack | Skip]]] = {
    "eatSalad": EatSalad,
    "fallBack": FallBack,
    "skip": Skip,
}
_ACTION: Final = re.compile(r"(?P<name>\w+)(\((?P<arguments>[^)]*)\))?(@(?P<order>-?\d+))?")


def read_lines(path: Path) -> Iterator[Line]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def parse_action(text: str, place: int = 0) -> Action:
    match = _ACTION.fullmatch(text)
    assert match is not None, text
    order = int(match["order"] or place)
    arguments = (match["arguments"] or "").split(",")
    if match["name"] == "advance":
        return Advance(int(arguments[0]), order)
    if match["name"] == "card":
        return Card(CardType[arguments[0]], int(arguments[1]), order)
    if match["name"] == "exchangeCarrots":
        return ExchangeCarrots(int(arguments[0]), order)
    return _PLAIN_ACTIONS[match["name"]](order)


def parse_move(text: str) -> HaseUndIgelMove:
    if text == "null":
        return HaseUndIgelMove(None)
    return HaseUndIgelMove(tuple(parse_action(part, place) for place, part in enumerate(text.split("+")) if part))


def parse_player(line: Line) -> Player:
    return Player(
        index=line["index"],
        carrots=line["carrots"],
        salads=line["salads"],
        cards=tuple(CardType[name] for name in line["cards"]),
        last_action=parse_action(line["last"]) if line["last"] else None,
    )


def parse_state(line: Line, board: Board | None = None) -> HaseUndIgelState:
    """The position of a line; `board` for lines without one. `last_move` is not in the data and stays None."""
    return HaseUndIgelState(
        board or Board.from_letters(line["board"]),
        (parse_player(line["red"]), parse_player(line["blue"])),
        line["turn"],
    )


def verdict(state: HaseUndIgelState, move: HaseUndIgelMove) -> str:
    """``OK``, or the release's text about the mistake."""
    mistake = state.check(move)
    return "OK" if mistake is None else TEXTS[mistake].format(move=move)
