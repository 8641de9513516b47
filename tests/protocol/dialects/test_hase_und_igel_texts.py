"""The texts are those of release 18.2.6: recorded packets, and the verdicts of its rules."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from spielleiter.game.api import Outcome
from spielleiter.game.hase_und_igel import (
    GOAL,
    ROUND_LIMIT_REACHED,
    Advance,
    Card,
    CardType,
    HaseUndIgelMistake,
    HaseUndIgelMove,
    HaseUndIgelState,
    Skip,
)
from spielleiter.protocol.dialects.hase_und_igel_2018 import (
    HASE_UND_IGEL_2018,
    MISTAKE_TEXTS,
    OUTCOME_TEXTS,
    TEXTS,
    describe_mistake,
)
from spielleiter.protocol.messages import Departure, ErrorMessage, JoinRequest, MoveData, RoomMessage, UnreadableData
from tests.game.hase_und_igel.oracle import DATA, REASONS, parse_move, parse_state, read_lines
from tests.protocol.seasons import decode, samples
from tests.shared import SHARED, needs_shared

RECORDED: Final = samples("hase-und-igel-2018")
NAMES: Final = ("Alice", "Bob")
STATE: Final = parse_state(next(iter(read_lines(DATA / "games.jsonl.gz"))))
ORACLE: Final = (SHARED or Path()) / "oracle"


def test_every_mistake_has_a_text() -> None:
    assert list(MISTAKE_TEXTS) == list(HaseUndIgelMistake)
    assert OUTCOME_TEXTS == REASONS


def check_verdicts(path: Path) -> int:
    checked = 0
    for line in read_lines(path):
        probes = line.get("probes", [])
        if not probes:
            continue
        state = parse_state(line)
        for text, verdict, *_ in probes:
            move = parse_move(text)
            mistake = state.check(move)
            assert verdict == ("OK" if mistake is None else describe_mistake(mistake, move)), (line, text)
            checked += mistake is not None
    return checked


@pytest.mark.parametrize("name", ["games.jsonl.gz", "special.jsonl.gz"])
def test_verdicts_have_the_texts_of_the_release(name: str) -> None:
    assert check_verdicts(DATA / name) > 50


@needs_shared
@pytest.mark.slow
def test_all_verdicts_have_the_texts_of_the_release() -> None:
    assert check_verdicts(ORACLE / "hui2018_games.jsonl.gz") > 1000


def error_of(name: str) -> ErrorMessage:
    message = decode(HASE_UND_IGEL_2018, RECORDED[name])
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, ErrorMessage)
    return message.data


def test_an_illegal_move_is_refused_as_recorded() -> None:
    refusal = TEXTS.illegal("Alice", HaseUndIgelMistake.ADVANCE, HaseUndIgelMove((Advance(60),)), STATE)
    assert ErrorMessage(refusal.error, refusal.shown) == error_of("error_illegal_move")
    assert ErrorMessage(refusal.observer_error, refusal.shown) == error_of("error_illegal_move_observer")
    assert refusal.reason == "Vorwärtszug um 60 Felder ist nicht möglich"
    assert refusal.packet is None


def test_a_refused_move_is_shown_as_it_was_carried_out() -> None:
    card, advance = Card(CardType.EAT_SALAD, 0, 1), Advance(3, 0)
    refusal = TEXTS.illegal("Alice", HaseUndIgelMistake.ADVANCE, HaseUndIgelMove((card, advance)), STATE)
    assert refusal.shown == MoveData(HaseUndIgelMove((advance, card)))


def test_a_move_without_actions_is_shown_without_actions() -> None:
    refusal = TEXTS.illegal("Alice", HaseUndIgelMistake.NO_ACTION_LIST, HaseUndIgelMove(None), STATE)
    assert refusal.shown == MoveData(HaseUndIgelMove(None))
    assert refusal.error == "Ungueltiger Zug von 'Alice'.\nAktionen sind null"


def test_a_move_out_of_turn_is_refused_as_recorded() -> None:
    refusal = TEXTS.out_of_turn(0, 0, 1, NAMES, MoveData(HaseUndIgelMove((Skip(),))))
    assert ErrorMessage(refusal.error, refusal.shown) == error_of("error_not_your_turn")
    assert refusal.reason == "Der Spieler hat das Spiel verlassen"


def test_a_move_that_was_not_requested_is_refused() -> None:
    refusal = TEXTS.out_of_turn(None, 1, 1, NAMES, MoveData(HaseUndIgelMove((Skip(),))))
    assert refusal.error == "We didn't request a data from you yet."


def test_an_unreadable_move_is_refused_in_the_same_style() -> None:
    data = UnreadableData("move", "advance fehlt")
    refusal = TEXTS.unreadable("Alice", data)
    assert refusal.error == "Ungueltiger Zug von 'Alice'.\nDer Zug konnte nicht erkannt werden: advance fehlt"
    assert refusal.observer_error == refusal.reason == "Der Zug konnte nicht erkannt werden: advance fehlt"
    assert refusal.shown == data


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (GOAL, "Das Spiel ist beendet.\nEin Spieler ist im Ziel"),
        (ROUND_LIMIT_REACHED, "Das Rundenlimit wurde erreicht."),
    ],
)
def test_the_reason_of_the_end_is_as_recorded(reason: str, text: str) -> None:
    assert TEXTS.regular_reason(Outcome(0, reason)) == text


def test_other_texts_are_those_of_later_seasons() -> None:
    assert TEXTS.departure_reason(Departure.LOST_CONNECTION) == "Der Spieler hat das Spiel verlassen"
    assert TEXTS.soft_timeout_reason(2).startswith("Der Spieler hat innerhalb von 2 Sekunden")
    assert TEXTS.unauthenticated(JoinRequest("g")).endswith("JoinGameRequest(gameType=g) requires authentication")
    assert TEXTS.describe_move(None) == "null"
    assert TEXTS.describe_move(HaseUndIgelMove((Advance(3),))) == "advance(3)"
    assert isinstance(STATE, HaseUndIgelState)
