"""The dialect of Penguins 2023 against the rule code of release 23.0.3, and packets of its server."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import pytest

from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.game.penguins import PENGUINS_2023, Cell, PenguinsMistake, PenguinsMove
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialects.penguins_2023 import PENGUINS_2023 as DIALECT
from spielleiter.protocol.dialects.penguins_2023 import describe_move
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.server.editions import EDITIONS
from tests.protocol.oracle import Comparison, read_lines
from tests.protocol.streams import data_of, samples
from tests.shared import SHARED, needs_shared

EXCERPT: Final = Path(__file__).parent / "penguins" / "23.0.3.jsonl.gz"
"""A few games, which are enough to reach everything: `python -m tools.season oracle RELEASE OUT --games 2`."""
WHOLE: Final = (SHARED or Path()) / "oracle" / "penguins-2023.jsonl.gz"
"""200 games."""
RECORDINGS: Final = Path(__file__).parents[2] / "server" / "recordings" / "penguins-2023"
"""Conversations that `python -m tools.season record` has written; tests/server/test_transcripts.py replays them."""

RECORDED: Final = samples("penguins-2023")
START: Final = PENGUINS_2023.new_state(random.Random(1))


def recorded(name: str) -> Any:
    return data_of(DIALECT, RECORDED[name], is_from_server=True)


@pytest.mark.parametrize(
    "path", [EXCERPT, pytest.param(WHOLE, marks=[pytest.mark.extended, needs_shared])], ids=["excerpt", "whole"]
)
def test_games_are_those_of_the_official_rules(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path.name} is missing; tools/season makes it")
    comparison = Comparison(EDITIONS["penguins-2023"])
    comparison.games(read_lines(path))
    assert comparison.seen["OK"] > 0


def test_there_are_recordings_of_the_release() -> None:
    assert list(RECORDINGS.glob("*.txt*")), f"record some into {RECORDINGS.name} with `python -m tools.season record`"


@pytest.mark.parametrize("mistake", PenguinsMistake)
def test_each_mistake_has_its_text(mistake: PenguinsMistake) -> None:
    assert DIALECT.texts.mistake_texts[mistake]


def test_moves_are_described_as_in_the_release() -> None:
    assert describe_move(None) == "null"
    assert describe_move(PenguinsMove(None, None)) == "Setze Pinguin auf null"
    assert describe_move(PenguinsMove(Cell(0, 2), None)) == "Schlittern [0|2] zu null"


def test_refused_moves_have_the_recorded_texts() -> None:
    slide = PenguinsMove(Cell(6, 6), Cell(9, 5))
    illegal = DIALECT.texts.illegal("Alice", PenguinsMistake.INVALID_MOVE, slide, START)
    assert m.ErrorMessage(illegal.error, illegal.shown) == recorded("error")
    assert illegal.reason == "Dieser Zug ist nicht möglich bei Zug 'Schlittern [6|6] zu [9|5]'"
    assert illegal.packet is None


def test_results_have_causes_and_reasons_in_the_scores() -> None:
    results = [recorded(name) for name in RECORDED if name.startswith("result")]
    winners = {tuple((score.cause, score.parts[0]) for score in each.scores): each.winners for each in results}
    regular = m.Cause.REGULAR
    assert winners[(regular, 2), (regular, 0)] == (0,)
    assert winners[(regular, 1), (regular, 1)] == (0, 1)
    assert winners[(m.Cause.RULE_VIOLATION, 0), (regular, 2)] == (1,)
    assert winners[(m.Cause.SOFT_TIMEOUT, 0), (regular, 2)] == ()  # this release names nobody
    assert winners[(regular, 0), (regular, 0)] == ()  # cancelled
    assert DIALECT.texts.departure_reason(m.Departure.UNKNOWN) == "Der Spieler hat das Spiel verlassen: UNKNOWN"
    assert DIALECT.texts.hard_timeout_reason(10) == (
        "Der Spieler hat innerhalb von 10 Sekunden nach Aufforderung keinen Zug gesendet"
    )


def test_a_result_with_an_unknown_winner_is_unreadable() -> None:
    packet = next(text for text in RECORDED.values() if b'<winner team="ONE"' in text)
    read = data_of(DIALECT, packet.replace(b'<winner team="ONE"', b'<winner team="RED"'), is_from_server=True)
    assert read.problem == 'winner team="RED" gibt es nicht; erlaubt: ONE, TWO'


def read(packet: str, *, is_from_server: bool = False) -> Any:
    return data_of(DIALECT, packet, is_from_server=is_from_server)


SLIDE: Final = '<room roomId="r"><data class="move"><from x="0" y="2"/><to x="4" y="2"/></data></room>'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('class="move"', 'class="sc.plugin2023.Move"'),
        ('x="0" y="2"/>', "><x>0</x><y>2</y></from>"),
        ('x="4"', 'x="0x4"'),
        ("<from", '<from class="coordinates"'),
        ('x="0" ', ""),
    ],
)
def test_a_move_may_be_written_in_other_ways(old: str, new: str) -> None:
    assert read(SLIDE.replace(old, new)) == m.MoveData(PenguinsMove(Cell(0, 2), Cell(4, 2)))


@pytest.mark.parametrize(
    ("old", "new", "move", "problem"),
    [
        ('<to x="4" y="2"/>', "", PenguinsMove(Cell(0, 2), None), "im Element data fehlt das Element to"),
        ('x="4"', 'x="5"', PenguinsMove(Cell(0, 2), Cell(5, 2)), "das Feld (5, 2) liegt nicht auf dem Spielfeld"),
        ('x="0"', 'x="-2"', PenguinsMove(Cell(-2, 2), Cell(4, 2)), "das Feld (-2, 2) liegt nicht auf dem Spielfeld"),
        ('<from x="0" y="2"/>', "", PenguinsMove(None, Cell(4, 2)), None),
    ],
)
def test_a_move_says_what_is_wrong_with_its_cells(old: str, new: str, move: PenguinsMove, problem: str | None) -> None:
    data = read(SLIDE.replace(old, new))
    assert (data.move, data.problem) == (move, problem)
    assert read(DIALECT.encode(m.RoomMessage("r", data)).decode()).move == move


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("state", "place", "im Element data fehlt das Element state"),
        ("board>", "field>", "im Element state fehlt das Element board"),
        ("fishes>", "fish>", "im Element state fehlt das Element fishes"),
        ("<field>1</field>", "", "im Element board stehen nicht 8 Zeilen mit 8 Feldern"),
        (
            "<field>1</field>",
            "<field>5</field>",
            '"5" im Element field gibt es nicht; erlaubt: 0, 1, 2, 3, 4, ONE, TWO',
        ),
        ("<field>1</field>", "<field>TWO</field>", "im Element board hat ein Team mehr als 4 Pinguine"),
        ("<int>0</int>", "", "im Element fishes steht nicht für jedes Team, wie viele Fische es hat"),
        ("<int>0</int>", "<int>-1</int>", "im Element fishes steht nicht für jedes Team, wie viele Fische es hat"),
        ('turn="0"', 'turn="-1"', 'state turn="-1" ist kleiner als 0'),
    ],
)
def test_an_unreadable_position_says_why(old: str, new: str, problem: str) -> None:
    packet = DIALECT.encode(m.RoomMessage("r", m.Memento(START))).decode()
    assert read(packet.replace(old, new), is_from_server=True).problem == problem


def test_values_of_other_games_are_not_written() -> None:
    other = HASE_UND_IGEL_2018.new_state(random.Random(1))
    for data in (m.Memento(other), m.MoveData(next(iter(other.generate_legal_moves())))):
        with pytest.raises(LocalProtocolError, match="not a Penguins"):
            DIALECT.encode(m.RoomMessage("r", data))
