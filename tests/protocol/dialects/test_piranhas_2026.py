"""The dialects of Piranhas 2026 against the rule code of the releases, and packets of their servers."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018
from spielleiter.game.piranhas import PIRANHAS_2026, Cell, Direction, PiranhasMistake, PiranhasMove
from spielleiter.protocol import messages as m
from spielleiter.protocol.dialects.piranhas_2026 import PIRANHAS_2026 as DIALECT
from spielleiter.protocol.dialects.piranhas_2026 import PIRANHAS_2026_FIRST as FIRST
from spielleiter.protocol.dialects.piranhas_2026 import describe_move
from spielleiter.protocol.errors import LocalProtocolError
from tests.protocol.dialects.piranhas_oracle import DATA, check_file
from tests.protocol.streams import data_of, decode
from tests.shared import SHARED, needs_shared

ORACLE: Final = (SHARED or Path()) / "oracle"
RELEASES: Final = {"26.1.0": "piranhas-2026", "26.0.7": "piranhas-2026-26.0.7"}
VERDICTS: Final = {
    "OK",
    "MoveMistake.DESTINATION_BLOCKED",
    "MoveMistake.DESTINATION_BLOCKED_BY_SELF",
    "MoveMistake.DESTINATION_OUT_OF_BOUNDS",
    "PiranhaMoveMistake.JUMP_OVER_OPPONENT",
    "PiranhaMoveMistake.WRONG_START",
    "java.lang.IllegalArgumentException",
    "java.lang.NullPointerException",
}

whole_file = partial(pytest.param, marks=[pytest.mark.extended, needs_shared])


@pytest.mark.parametrize(
    ("path", "edition"),
    [
        *[pytest.param(DATA / f"{each}.jsonl.gz", name, id=each) for each, name in RELEASES.items()],
        *[
            whole_file(ORACLE / f"piranhas-{each}.jsonl.gz", name, id=f"whole {each}")
            for each, name in RELEASES.items()
        ],
    ],
)
def test_games_are_those_of_the_official_rules(path: Path, edition: str) -> None:
    if not path.exists():
        pytest.skip(f"{path.name} is missing; tools/season makes it")
    checked = check_file(path, edition)
    assert checked.verdicts >= VERDICTS
    assert checked.endings >= {"BIGGER_SWARM", "WinReasonTie"}
    if path.parent == DATA:
        assert (checked.endings >= {"FIRST_UNION", "BLOCKED"}) is (edition == "piranhas-2026")


START: Final = PIRANHAS_2026.new_state(random.Random(1))
POSITION: Final = DIALECT.encode(m.RoomMessage("r", m.Memento(START))).decode()
MOVE: Final = '<room roomId="r"><data class="move"><from x="0" y="1"/><direction>RIGHT</direction></data></room>'


def read(packet: str, *, is_from_server: bool = False) -> Any:
    return data_of(DIALECT, packet, is_from_server=is_from_server)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('class="move"', 'class="sc.plugin2026.Move"'),
        ('x="0" y="1"/>', "><x>0</x><y>1</y></from>"),
        ('x="0" y="1"', 'y="0x1"'),
        ("<from", '<from class="coordinates"'),
        ("RIGHT", "right"),
    ],
)
def test_a_move_may_be_written_in_other_ways(old: str, new: str) -> None:
    assert read(MOVE.replace(old, new)) == m.MoveData(PiranhasMove(Cell(0, 1), Direction.RIGHT))


@pytest.mark.parametrize(
    ("old", "new", "move", "problem"),
    [
        ('<from x="0" y="1"/>', "", PiranhasMove(None, Direction.RIGHT), "im Element data fehlt das Element from"),
        ('x="0"', 'x="10"', PiranhasMove(Cell(10, 1), Direction.RIGHT), "das Feld (10, 1) liegt nicht auf dem Spiel"),
        (
            "<direction>RIGHT</direction>",
            "",
            PiranhasMove(Cell(0, 1), None),
            "im Element data fehlt das Element direction; erlaubt: UP, UP_RIGHT",
        ),
    ],
)
def test_an_incomplete_move_says_what_it_lacks(old: str, new: str, move: PiranhasMove, problem: str) -> None:
    data = read(MOVE.replace(old, new))
    assert data.move == move
    assert data.problem.startswith(problem)
    assert read(DIALECT.encode(m.RoomMessage("r", data)).decode()).move == move


def test_moves_are_described_as_in_the_release() -> None:
    assert describe_move(None) == "null"
    assert describe_move(PiranhasMove(None, None)) == "Schwimme von null in Richtung null"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("state", "place", "im Element data fehlt das Element state"),
        ("board>", "field>", "im Element state fehlt das Element board"),
        ("<row>", "<line>", "im Element board stehen nicht 10 Zeilen mit 10 Feldern"),
        ("<field>SQUID</field>", "", "im Element board stehen nicht 10 Zeilen mit 10 Feldern"),
        ("SQUID", "SHARK", '"SHARK" im Element field gibt es nicht; erlaubt: EMPTY, ONE_S'),
        ('turn="0"', 'turn="-1"', 'state turn="-1" ist kleiner als 0'),
        ('turn="0"', 'turn="0" firstUnion="RED"', 'state firstUnion="RED" gibt es nicht; erlaubt: ONE, TWO'),
    ],
)
def test_an_unreadable_position_says_why(old: str, new: str, problem: str) -> None:
    packet = POSITION.replace(old, new).replace("</row>", "</line>") if old == "<row>" else POSITION.replace(old, new)
    assert read(packet, is_from_server=True).problem.startswith(problem)


def test_the_first_release_does_not_know_of_a_first_union() -> None:
    packet = POSITION.replace('turn="0"', 'turn="1" firstUnion="TWO"')
    told = read(packet, is_from_server=True)
    assert told.state.first_union == 1
    assert DIALECT.encode(m.RoomMessage("r", told)).decode() == packet
    assert data_of(FIRST, packet, is_from_server=True).state.first_union is None


def test_values_of_other_games_are_not_written() -> None:
    other = HASE_UND_IGEL_2018.new_state(random.Random(1))
    for data in (m.Memento(other), m.MoveData(next(iter(other.generate_legal_moves())))):
        with pytest.raises(LocalProtocolError, match="not a Piranhas"):
            DIALECT.encode(m.RoomMessage("r", data))


def test_the_name_of_a_mistake_of_the_game_is_shown_instead_of_its_text() -> None:
    """As recorded from release 26.1.0."""
    move = PiranhasMove(Cell(5, 5), Direction.LEFT)
    refusal = DIALECT.texts.illegal("", PiranhasMistake.WRONG_START, move, START)
    assert refusal.error == (
        "Ungueltiger Zug von ''.\nInvalidMoveException(mistake=WRONG_START, move=Schwimme von [5|5] in Richtung LEFT)"
    )
    assert refusal.reason == (
        "Das Startfeld ist kein Piranha des eigenen Teams bei 'Schwimme von [5|5] in Richtung LEFT'"
    )
    assert refusal.packet is None


def test_a_position_is_read_as_it_was_written() -> None:
    memento = decode(DIALECT, POSITION, is_from_server=True)
    assert isinstance(memento, m.RoomMessage)
    assert memento.data == m.Memento(START)
