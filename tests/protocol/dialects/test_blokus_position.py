"""Writing and reading positions of Blokus, and the cost of writing."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import ALL_SHAPES_MASK, Color, Rotation, Shape, bit
from spielleiter.game.blokus.state import RULES_2021, RULES_2027, BlokusState
from spielleiter.protocol.dialect import RoomWriter
from spielleiter.protocol.dialects import blokus
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import ErrorPacket, Memento, Message, RoomMessage, UnreadableData
from spielleiter.protocol.reading import Element
from tests.protocol import strategies
from tests.protocol.strategies import random_game
from tests.protocol.streams import LATEST

COLORS = "BLUE, YELLOW, RED, GREEN"


def parse(text: str) -> Element:
    return cast("Element", etree.fromstring(text.strip()))


def memento_of(packet: bytes) -> Memento:
    message = BLOKUS_2021_R3.decode(parse(packet.decode()))
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, Memento)
    return message.data


def state_of(packet: bytes) -> BlokusState:
    state = memento_of(packet).state
    assert isinstance(state, BlokusState)
    return state


def test_the_first_position() -> None:
    memento = memento_of(LATEST["memento_displayNames"])
    assert memento == Memento(BlokusState(RULES_2021, Shape.PENTO_Z), ("Häschen & Co", "Zwei"))


def test_a_position_after_one_move() -> None:
    move = SetMove(Color.BLUE, Shape.PENTO_L, Rotation.MIRROR, False, 18, 0)
    start = BlokusState(RULES_2021, Shape.PENTO_L)
    assert state_of(LATEST["memento_turn1"]) == start.play(move)


@pytest.mark.parametrize(
    ("name", "mono_last"),
    [
        ("memento_lastMoveMono_true", (True, None, None, None)),
        ("memento_lastMoveMono_false", (False, None, None, None)),
        ("memento_mid", (None, None, None, None)),
    ],
)
def test_whether_mono_was_the_last_piece(name: str, mono_last: tuple[bool | None, ...]) -> None:
    assert state_of(LATEST[name]).mono_last == mono_last


def test_colours_out_of_the_game() -> None:
    assert state_of(LATEST["memento_turn_jump"]).valid_colors == (Color.BLUE, Color.YELLOW)
    assert state_of(LATEST["memento_last_validColors_empty"]).valid_colors == ()
    assert state_of(LATEST["memento_blueShapes_empty_colour_removed"]).remaining_masks[0] == 0


def test_the_last_move_may_be_a_skip() -> None:
    assert isinstance(state_of(LATEST["memento_lastmove_skip"]).last_move, SkipMove)


@settings(max_examples=12)
@given(strategies.mementos)
def test_a_written_position_is_read_as_it_was(memento: Memento) -> None:
    assert memento_of(BLOKUS_2021_R3.encode(RoomMessage("r", memento))) == memento


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_every_written_position_of_a_game_is_read_as_it_was(seed: int) -> None:
    for state in random_game(seed):
        assert memento_of(BLOKUS_2021_R3.encode(RoomMessage("r", Memento(state)))) == Memento(state)


@settings(max_examples=25)
@given(strategies.states, strategies.names, st.sampled_from(["\n  ", "\n"]))
def test_cached_texts_give_the_same_bytes_as_new_ones(state: BlokusState, names: tuple[str, str], indent: str) -> None:
    packet = RoomMessage("r", Memento(state, names))
    cached = BLOKUS_2021_R3.encode(packet, indent)
    blokus._fields.cache_clear()
    blokus._shape_list.cache_clear()
    assert BLOKUS_2021_R3.encode(packet, indent) == cached


def test_only_the_changes_of_a_position_are_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    class Texts(tuple[str, ...]):
        __slots__ = ()

        def __getitem__(self, index: object) -> str:  # type: ignore[override]
            written.append(cast("int", index))
            return super().__getitem__(cast("int", index))

    texts = tuple(Texts(each) for each in blokus._fields("\n        "))
    monkeypatch.setattr(blokus, "_fields", lambda _indent: texts)
    remembering = RoomWriter(BLOKUS_2021_R3, "r")
    for state in random_game(0):
        written.clear()
        remembering.encode(Memento(state))
        assert len(written) <= 5, "a piece covers at most five cells"


def test_hints_are_written_with_the_last_move() -> None:
    state = random_game(0)[1]
    packet = BLOKUS_2021_R3.encode(RoomMessage("r", Memento(state, hints=("so", "<oder> so"))))
    assert (
        b'\n          <hint content="so"/>\n          <hint content="&lt;oder&gt; so"/>\n        </lastMove>' in packet
    )
    assert memento_of(packet).hints == ("so", "<oder> so")


def test_a_position_sent_by_a_client_is_repeated_in_the_error() -> None:
    memento = RoomMessage("r", memento_of(LATEST["memento_turn1"]))
    packet = BLOKUS_2021_R3.encode(ErrorPacket("m", memento)).decode()
    lines = BLOKUS_2021_R3.encode(memento).decode().split("\n")
    assert packet.split("\n")[3:-2] == [f"  {line}" for line in lines[2:-1]]


def test_a_position_of_another_game_cannot_be_written() -> None:
    with pytest.raises(LocalProtocolError, match="not a position of Blokus: str"):
        BLOKUS_2021_R3.encode(RoomMessage("r", Memento("chess")))  # type: ignore[arg-type]


STATE = LATEST["memento_turn1"].decode()
MONO = (
    "<lastMoveMono><entry><color>BLUE</color><boolean>true</boolean></entry>"
    "<entry><boolean>false</boolean><color>GREEN</color></entry></lastMoveMono>"
)


def changed(old: str, new: str) -> Message:
    assert old in STATE
    return BLOKUS_2021_R3.decode(parse(STATE.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("<state ", "<stat ", None),
        ('startPiece="PENTO_L"', 'startPiece="X"', 'state startPiece="X" gibt es nicht; erlaubt: MONO, DOMINO'),
        ('turn="1"', "", "im Element state fehlt das Attribut turn (eine ganze Zahl)"),
        ('turn="1"', 'turn="-1"', 'state turn="-1" ist kleiner als 0'),
        ("<shape>MONO</shape>", "<shape>STEREO</shape>", '"STEREO" im Element shape gibt es nicht; erlaubt: MONO'),
        ("<color>BLUE</color>", "<color>PINK</color>", '"PINK" im Element color gibt es nicht; erlaubt: BLUE'),
        ('x="18" y="0" content="BLUE"', 'x="20" y="0" content="BLUE"', "field (20, 0) liegt nicht auf dem Spielfeld"),
        ('x="18" y="0" content="BLUE"', 'x="+1" y="0" content="BLUE"', "field (1, 0) liegt nicht auf dem Spielfeld"),
        ('x="18" y="0" content="BLUE"', 'x="a" y="0" content="BLUE"', 'field x="a" ist keine ganze Zahl'),
        ('content="BLUE"', 'content="EMPTY"', f'field content="EMPTY" gibt es nicht; erlaubt: {COLORS}'),
        ('content="BLUE"', "", f"im Element field fehlt das Attribut content; erlaubt: {COLORS}"),
        ('kind="PENTO_L"', 'kind="L"', 'piece kind="L" gibt es nicht; erlaubt: MONO'),
        (
            'class="sc.plugin2021.SetMove"',
            'class="paused"',
            "lastMove ist kein Zug; erlaubt: sc.plugin2021.SetMove, sc.plugin2021.SkipMove",
        ),
        ("<lastMoveMono/>", "<lastMoveMono><entry/></lastMoveMono>", "im Element entry fehlt color oder boolean"),
    ],
)
def test_a_position_that_cannot_be_read_says_why(old: str, new: str, problem: str | None) -> None:
    if problem is None:
        message = BLOKUS_2021_R3.decode(parse(STATE.replace("<state ", "<stat ").replace("</state>", "</stat>")))
        problem = "im Element data fehlt das Element state"
    else:
        message = changed(old, new)
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, UnreadableData)
    assert message.data.class_name == "memento"
    assert message.data.problem.startswith(problem)


@pytest.mark.parametrize("tag", ["board", "blueShapes", "greenShapes"])
def test_required_children_of_a_position(tag: str) -> None:
    text = STATE.replace(f"<{tag}>", "<x>").replace(f"</{tag}>", "</x>")
    message = BLOKUS_2021_R3.decode(parse(text))
    assert isinstance(message, RoomMessage)
    assert message.data == UnreadableData("memento", f"im Element state fehlt das Element {tag}")


def test_optional_children_may_be_missing() -> None:
    root = etree.fromstring(STATE.strip())
    state = root[0][0]
    for tag in ("startTeam", "validColors", "first", "second", "lastMove", "lastMoveMono"):
        child = state.find(tag)
        assert child is not None
        state.remove(child)
    message = BLOKUS_2021_R3.decode(cast("Element", root))
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, Memento)
    read_state = message.data.state
    assert isinstance(read_state, BlokusState)
    assert (read_state.valid_mask, read_state.last_move, read_state.mono_last) == (15, None, (None,) * 4)
    assert message.data.names == ("", "")


def test_the_order_of_children_does_not_matter() -> None:
    root = etree.fromstring(LATEST["memento_mid"].strip())
    state = root[0][0]
    state[:] = list(reversed(state))
    message = BLOKUS_2021_R3.decode(cast("Element", root))
    assert message == BLOKUS_2021_R3.decode(parse(LATEST["memento_mid"].decode()))


def test_entries_in_any_order() -> None:
    message = changed("<lastMoveMono/>", MONO)
    assert isinstance(message, RoomMessage)
    assert isinstance(message.data, Memento)
    assert isinstance(message.data.state, BlokusState)
    assert message.data.state.mono_last == (True, None, None, False)


@pytest.mark.parametrize("tag", ["state", "board", "blueShapes", "validColors", "lastMove"])
def test_unknown_children_of_a_position_are_skipped(tag: str) -> None:
    notes: list[str] = []
    text = STATE.replace(f"</{tag}>", f"<x/></{tag}>")
    assert BLOKUS_2021_R3.decode(parse(text), notes.append) == BLOKUS_2021_R3.decode(parse(STATE))
    assert notes == [f"<x> in <{tag}>"]


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), unique=True, max_size=40), st.sampled_from(Color))
@settings(max_examples=25)
def test_any_cells_are_written_row_by_row(cells: list[tuple[int, int]], color: Color) -> None:
    covered = [0, 0, 0, 0]
    for x, y in cells:
        covered[color] |= bit(x, y)
    blue, yellow, red, green = covered
    state = BlokusState(RULES_2021, Shape.PENTO_L, cells=(blue, yellow, red, green))
    root = etree.fromstring(BLOKUS_2021_R3.encode(RoomMessage("r", Memento(state))).strip())
    board = root.find("data/state/board")
    assert board is not None
    assert [(int(field.get("y", "")), int(field.get("x", ""))) for field in board] == sorted((y, x) for x, y in cells)
    assert {field.get("content") for field in board} <= {color.name}


def test_another_edition_is_put_together_from_the_same_parts() -> None:
    """As in release 21.1.0: another order, classes on the lists, and a child that repeats what others say."""
    set_class = ' class="linked-hash-set"'
    older = BLOKUS_2021_R3.evolve(
        data_readers={"memento": blokus.memento_reader(RULES_2027, "startColor")},
        data_writers={
            Memento: blokus.MementoWriter(
                blokus.turn_round_start_piece,
                blokus.board,
                blokus.shape_lists(set_class),
                blokus.last_move_mono(' class="linked-hash-map"'),
                blokus.part(lambda _memento, _state, _dialect, indent: f"{indent}<startColor/>"),
            )
        },
    )
    memento = Memento(BlokusState(RULES_2027, Shape.PENTO_X, remaining_masks=(1, 0, 0, ALL_SHAPES_MASK)))
    packet = older.encode(RoomMessage("r", memento))
    assert packet.startswith(
        b'\n  <room roomId="r">\n    <data class="memento">'
        b'\n      <state class="state" turn="0" round="1" startPiece="PENTO_X">\n        <board/>'
        b'\n        <blueShapes class="linked-hash-set">\n          <shape>MONO</shape>\n        </blueShapes>'
        b'\n        <yellowShapes class="linked-hash-set"/>'
    )
    assert packet.endswith(
        b'\n        <lastMoveMono class="linked-hash-map"/>\n        <startColor/>\n      </state>'
        b"\n    </data>\n  </room>"
    )
    notes: list[str] = []
    assert older.decode(parse(packet.decode()), notes.append) == RoomMessage("r", memento)
    assert notes == []
