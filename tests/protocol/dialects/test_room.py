"""The data of room packets that all games share: welcome, requests, pauses, errors, results."""

from __future__ import annotations

from typing import cast

import pytest
from lxml import etree

from spielleiter.game.blokus.moves import SkipMove
from spielleiter.game.blokus.pieces import Color
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.packets import CAUSES, empty_writer
from spielleiter.protocol.messages import (
    Aggregation,
    Cause,
    ErrorMessage,
    Fragment,
    Memento,
    MoveData,
    MoveRequest,
    Paused,
    Result,
    RoomData,
    RoomMessage,
    Score,
    UnreadableData,
    WelcomeMessage,
)
from spielleiter.protocol.reading import Element
from tests.protocol.streams import LATEST

DEFINITION = (Fragment("Gewinner", Aggregation.SUM), Fragment("∅ Punkte", Aggregation.AVERAGE))
LEFT = "Der Spieler hat das Spiel verlassen"


def decode(text: str, notes: list[str] | None = None) -> RoomData | None:
    skipped: list[str] = [] if notes is None else notes
    message = BLOKUS_2021_R3.decode(cast("Element", etree.fromstring(text.strip())), skipped.append)
    assert isinstance(message, RoomMessage)
    assert notes is not None or not skipped
    return message.data


def sample(name: str) -> RoomData | None:
    return decode(LATEST[name].decode())


def encode(data: RoomData) -> str:
    return BLOKUS_2021_R3.encode(RoomMessage("r", data)).decode()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("welcome_one", WelcomeMessage(0)),
        ("welcome_two", WelcomeMessage(1)),
        ("move_request", MoveRequest()),
        ("paused_true", Paused(is_paused=True)),
        ("paused_false", Paused(is_paused=False)),
        (
            "result_regular",
            Result(DEFINITION, (Score(Cause.REGULAR, "", (2, 136)), Score(Cause.REGULAR, "", (0, 127))), (0,)),
        ),
        (
            "result_draw",
            Result(
                DEFINITION,
                (Score(Cause.REGULAR, "", (1, 10)), Score(Cause.REGULAR, "", (1, 10))),
                (0, 1),
                ("Eins", "Zwei"),
            ),
        ),
        (
            "result_both_left",
            Result(DEFINITION, (Score(Cause.LEFT, LEFT, (0, 0)), Score(Cause.LEFT, LEFT, (0, 0))), ()),
        ),
        (
            "result_left",
            Result(
                DEFINITION,
                (Score(Cause.REGULAR, "", (2, 15)), Score(Cause.LEFT, LEFT, (0, 10))),
                (0,),
                ("Eins", ""),
            ),
        ),
    ],
)
def test_recorded_data_are_read(name: str, data: RoomData) -> None:
    assert sample(name) == data


def test_the_score_definition_is_that_of_the_dialect() -> None:
    assert BLOKUS_2021_R3.score_definition == DEFINITION


def test_an_error_carries_the_move() -> None:
    error = sample("error_not_your_turn")
    assert isinstance(error, ErrorMessage)
    assert error.message.startswith("It's not your turn yet; expected: Team 1(Eins)")
    assert isinstance(error.original, MoveData)


@pytest.mark.parametrize(
    ("original", "written"),
    [
        (None, ""),
        (UnreadableData("foo.Bar", "p"), '\n      <originalMessage class="foo.Bar"/>\n    '),
        (UnreadableData(None, "p"), "\n      <originalMessage/>\n    "),
        (
            MoveData(SkipMove(Color.RED)),
            (
                '\n      <originalMessage class="sc.plugin2021.SkipMove">\n        <color>RED</color>'
                "\n      </originalMessage>\n    "
            ),
        ),
    ],
)
def test_an_error_repeats_what_was_understood(original: RoomData | None, written: str) -> None:
    end = f">{written}</data>" if written else "/>"
    assert encode(ErrorMessage("m", original)) == (
        f'\n  <room roomId="r">\n    <data class="error" message="m"{end}\n  </room>'
    )


def test_an_error_with_something_unreadable_is_read() -> None:
    error = decode('<room><data class="error" message="m"><originalMessage class="x"/></data></room>')
    assert isinstance(error, ErrorMessage)
    assert isinstance(error.original, UnreadableData)
    assert error.original.class_name == "x"


def test_the_names_of_seats_are_those_of_the_dialect() -> None:
    older = BLOKUS_2021_R3.evolve(
        welcome_names=("one", "two"), team_names=("RED", "BLUE"), data_writers={MoveRequest: empty_writer("ask")}
    )
    assert b'color="two"' in older.encode(RoomMessage("r", WelcomeMessage(1)))
    assert b'<color class="team">BLUE</color>' in older.encode(RoomMessage("r", Result((), (), (1,))))
    assert b'<data class="ask"/>' in older.encode(RoomMessage("r", MoveRequest()))


@pytest.mark.parametrize(
    ("class_name", "data"),
    [
        ("sc.shared.WelcomeMessage", WelcomeMessage(0)),
        ("sc.protocol.room.GamePaused", Paused(is_paused=False)),
        ("sc.protocol.room.ErrorMessage", ErrorMessage("")),
        ("sc.shared.GameResult", Result((), (), ())),
    ],
)
def test_class_names_are_further_classes(class_name: str, data: RoomData) -> None:
    assert decode(f'<room><data class="{class_name}" color="ONE"/></room>') == data


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (
            '<data class="welcomeMessage" color="THREE"/>',
            'welcomeMessage color="THREE" gibt es nicht; erlaubt: ONE, TWO',
        ),
        ('<data class="welcomeMessage"/>', 'welcomeMessage color="" gibt es nicht; erlaubt: ONE, TWO'),
        (
            '<data class="result"><score cause="BAD"/></data>',
            f'score cause="BAD" gibt es nicht; erlaubt: {", ".join(CAUSES)}',
        ),
        (
            '<data class="result"><score cause="LEFT"><part>1.5</part></score></data>',
            '"1.5" im Element part ist keine ganze Zahl',
        ),
        ('<data class="result"><winner/></data>', "im Element winner fehlt das Element color; erlaubt: ONE, TWO"),
        (
            '<data class="result"><winner><color>X</color></winner></data>',
            'winner color="X" gibt es nicht; erlaubt: ONE, TWO',
        ),
        (
            '<data class="result"><definition><fragment/></definition></data>',
            "im Element fragment fehlt das Element aggregation; erlaubt: SUM, AVERAGE",
        ),
    ],
)
def test_unreadable_data_say_why(data: str, problem: str) -> None:
    found = decode(f"<room>{data}</room>")
    assert isinstance(found, UnreadableData)
    assert found.problem == problem


@pytest.mark.parametrize(
    "data",
    [
        '<data class="welcomeMessage" color="ONE"><x/></data>',
        '<data class="paused"><x/></data>',
        '<data class="sc.framework.plugins.protocol.MoveRequest"><x/></data>',
        '<data class="error"><x/></data>',
        '<data class="result"><x/></data>',
        '<data class="result"><definition><x/></definition></data>',
        '<data class="result"><score cause="LEFT"><x/></score></data>',
        '<data class="result"><winner><x/><color>ONE</color></winner></data>',
        '<data class="result"><definition><fragment><aggregation>SUM</aggregation><x/></fragment></definition></data>',
    ],
)
def test_unknown_children_are_skipped(data: str) -> None:
    notes: list[str] = []
    assert not isinstance(decode(f"<room>{data}</room>", notes), UnreadableData | Memento)
    assert len(notes) == 1
    assert notes[0].startswith("<x> in <")
