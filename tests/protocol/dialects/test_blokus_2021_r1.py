"""Every packet of release 21.1.0 is read, and written again with the same bytes."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Final

import pytest

from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.pieces import Color
from spielleiter.game.blokus.state import BLOKUS_2021, BlokusState
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R1, CountedState
from spielleiter.protocol.messages import (
    Cause,
    ErrorMessage,
    Memento,
    MoveData,
    Result,
    RoomMessage,
    UnreadableData,
    WelcomeMessage,
)
from tests.protocol.seasons import decode, packets, samples, transcripts
from tests.shared import needs_shared

RECORDED: Final = samples("blokus-2021-r1")
MEMENTO: Final = b'class="memento"'
GAMES: Final = transcripts("blokus-2021-r1", "*.gz")


def data_of(packet: bytes | str) -> object:
    message = decode(BLOKUS_2021_R1, packet)
    assert isinstance(message, RoomMessage)
    return message.data


def state_of(packet: bytes | str) -> BlokusState:
    data = data_of(packet)
    assert isinstance(data, Memento), data
    assert isinstance(data.state, BlokusState)
    return data.state


def encode(state: BlokusState) -> bytes:
    return BLOKUS_2021_R1.encode(RoomMessage("r", Memento(state, ("Eins", "Zwei"))))


def as_counted_here(state: BlokusState) -> BlokusState:
    """The position without the numbers of turn and round that its sender counted."""
    return BlokusState(**{each.name: getattr(state, each.name) for each in dataclasses.fields(BlokusState)})


@pytest.mark.parametrize("name", RECORDED)
def test_every_packet_is_written_as_it_was_read(name: str) -> None:
    notes: list[str] = []
    assert BLOKUS_2021_R1.encode(decode(BLOKUS_2021_R1, RECORDED[name], notes)) == RECORDED[name]
    assert notes == []


def test_the_welcome_names_the_seat() -> None:
    assert [data_of(RECORDED[name]) for name in ("welcome_one", "welcome_two")] == [
        WelcomeMessage(0),
        WelcomeMessage(1),
    ]


def test_a_position_says_whose_turn_it_is() -> None:
    assert state_of(RECORDED["memento_turn1"]).color_on_turn is Color.YELLOW
    three = state_of(RECORDED["memento_orderedColors_three"])
    assert (three.color_on_turn, three.turn, three.round) == (Color.BLUE, 52, 14)
    assert three.valid_colors == (Color.BLUE, Color.YELLOW, Color.RED)
    assert isinstance(three, CountedState)
    assert (three.counted_turn, three.counted_round) == (51, 13)


def test_a_final_position_has_no_colors() -> None:
    last = state_of(RECORDED["memento_last"])
    assert last.valid_mask == 0
    assert last.outcome() is not None


def test_positions_are_counted_as_the_rules_do() -> None:
    three = as_counted_here(state_of(RECORDED["memento_orderedColors_three"]))
    packet = encode(three)
    assert b'<state class="state" currentColorIndex="0" turn="52" round="14" ' in packet
    assert state_of(packet) == three
    assert b' currentColorIndex="1" turn="53" ' in encode(three.play(SkipMove(Color.BLUE)))


@pytest.mark.parametrize("seed", range(6))
def test_every_written_position_of_a_game_is_read_as_it_was(seed: int) -> None:
    rng = random.Random(seed)
    state = BLOKUS_2021.new_state(rng)
    while state.outcome() is None:
        assert state_of(encode(state)) == state
        state = state.play(rng.choice(list(state.generate_legal_moves())))
    assert state_of(encode(state)) == state


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("<orderedColors>", "<colors>", "im Element state fehlt das Element orderedColors"),
        ('currentColorIndex="1"', "", "im Element state fehlt das Attribut currentColorIndex (eine ganze Zahl)"),
        ('currentColorIndex="1"', 'currentColorIndex="4"', 'state currentColorIndex="4" ist keine Stelle in'),
        ('currentColorIndex="1"', 'currentColorIndex="-1"', 'state currentColorIndex="-1" ist keine Stelle in'),
        ('round="1"', 'round="x"', 'state round="x" ist keine ganze Zahl'),
        ("<color>BLUE</color>", "<color>PINK</color>", '"PINK" im Element color gibt es nicht'),
    ],
)
def test_an_unreadable_position_says_why(old: str, new: str, problem: str) -> None:
    text = RECORDED["memento_turn1"].decode().replace(old, new).replace(old.replace("<", "</"), new.replace("<", "</"))
    data = data_of(text)
    assert isinstance(data, UnreadableData)
    assert data.problem.startswith(problem)


def test_unknown_children_of_the_colors_are_noted() -> None:
    notes: list[str] = []
    text = RECORDED["memento_turn1"].decode().replace("<orderedColors>", "<orderedColors><hue/>")
    message = decode(BLOKUS_2021_R1, text, notes)
    assert BLOKUS_2021_R1.encode(message) == RECORDED["memento_turn1"]
    assert notes == ["<hue> in <orderedColors>"]


def test_errors_repeat_the_request() -> None:
    error = data_of(RECORDED["error_not_your_turn"])
    assert isinstance(error, ErrorMessage)
    assert isinstance(error.original, MoveData)
    assert data_of(RECORDED["error_illegal_move_observer"]) == ErrorMessage(
        "PENTO_I is not the requested first shape, PENTO_V"
    )


def test_a_result_names_the_causes() -> None:
    result = data_of(RECORDED["result_hard_timeout"])
    assert isinstance(result, Result)
    assert [score.cause for score in result.scores] == [Cause.HARD_TIMEOUT, Cause.REGULAR]
    assert result.names == ("Unknown", "Unknown")


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda path: path.name)
@pytest.mark.parametrize("is_to_server", [False, True])
def test_whole_conversations_are_written_as_they_were_read(game: Path, is_to_server: bool) -> None:
    recorded = list(packets(game, is_to_server=is_to_server))
    assert recorded
    for _, packet in recorded:
        assert BLOKUS_2021_R1.encode(decode(BLOKUS_2021_R1, packet)) == packet


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=lambda path: path.name)
def test_the_rules_lead_from_position_to_position(game: Path) -> None:
    """Playing the recorded moves gives the recorded positions, except for the numbers of turns."""
    positions = [
        state_of(packet) for who, packet in packets(game, is_to_server=False) if who == "p1" and MEMENTO in packet
    ]
    assert len(positions) > 40
    state = as_counted_here(positions[0])
    for recorded in positions[1:]:
        assert recorded.last_move is not None
        state = state.play(recorded.last_move)
        assert dataclasses.replace(as_counted_here(recorded), turn=state.turn) == state
        assert recorded.color_on_turn == state.color_on_turn or not state.valid_mask
    assert state.valid_mask == 0
