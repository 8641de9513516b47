"""Nim on the wire: the data `take` and `giveUp`, and positions; the rest is that of all seasons."""

from __future__ import annotations

from typing import Final

from spielleiter.game.nim import STICKS, NimMistake, NimMove, NimState
from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.dialects import packets
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import Aggregation, Fragment, Memento, MoveData
from spielleiter.protocol.texts import release_texts
from spielleiter.protocol.values import Element, UnreadableError, read_integer
from spielleiter.protocol.writer import Body, element, typed_element


def _write_move(data: MoveData, _dialect: Dialect, _indent: str) -> Body:
    if not isinstance(data.move, NimMove):
        raise LocalProtocolError(f"not a move of Nim: {data.move!r}")
    return Body("giveUp") if data.move.count is None else Body("take", f' count="{data.move.count}"')


def _read_take(data: Element, reading: Reading) -> MoveData:
    reading.skip_children(data)
    return MoveData(NimMove(read_integer(data, "count")))


def _write_memento(memento: Memento, dialect: Dialect, indent: str) -> Body:
    """Writes ``<state turn="1" sticks="13"><lastMove class="take" count="2"/></state>``."""
    state = memento.state
    if not isinstance(state, NimState):
        raise LocalProtocolError(f"not a position of Nim: {state!r}")
    last_move = ""
    if state.last_move is not None:
        body = _write_move(MoveData(state.last_move), dialect, indent)
        last_move = typed_element(indent + "  ", "lastMove", body)
    return Body("memento", "", element(indent, "state", f' turn="{state.turn}" sticks="{state.sticks}"', last_move))


def _read_memento(data: Element, reading: Reading) -> Memento:
    state = reading.children(data, "state").get("state")
    if state is None or not 0 <= (sticks := read_integer(state, "sticks")) <= STICKS:
        raise UnreadableError("state sticks fehlt oder liegt nicht zwischen 0 und 15")
    last = reading.children(state, "lastMove").get("lastMove")
    read = None if last is None else reading.dialect.read_data(last, reading)
    move = read.move if isinstance(read, MoveData) else read
    if not isinstance(move, NimMove | None):
        raise UnreadableError("lastMove ist kein Zug")
    return Memento(NimState(sticks, read_integer(state, "turn"), move))


NIM: Final = Dialect(
    name="nim",
    texts=release_texts(
        mistake_texts={NimMistake.COUNT: "So viele Hölzer dürfen nicht genommen werden"},
        mistakes_without_move=frozenset(),
        describe_move=str,
        team_names=("ONE", "TWO"),
    ),
    score_definition=(Fragment("Gewinner", Aggregation.SUM), Fragment("∅ Punkte", Aggregation.AVERAGE)),
    readers=packets.READERS,
    data_readers={
        **packets.DATA_READERS,
        "take": _read_take,
        "giveUp": packets.attribute_reader(lambda: MoveData(NimMove(None))),
        "memento": _read_memento,
    },
    writers=packets.WRITERS,
    data_writers={**packets.DATA_WRITERS, MoveData: _write_move, Memento: _write_memento},
    move_classes=("take", "giveUp"),
)
