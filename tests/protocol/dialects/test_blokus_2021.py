"""The dialects of Blokus 2021 against the recordings."""

from __future__ import annotations

import dataclasses
import random
import re
from pathlib import Path
from typing import Final

import pytest

from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.pieces import SIZE, Color, Rotation, Shape
from spielleiter.game.blokus.state import BLOKUS_2021, RULES_2021, BlokusState
from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, Role, StreamEnd
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import (
    BLOKUS_2021_R1,
    BLOKUS_2021_R2,
    BLOKUS_2021_R3,
    BLOKUS_2021_RELEASE,
    CountedState,
    describe_move_r1,
    explain_mistake,
)
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.limits import AFTER_JOIN, FROM_SERVER
from spielleiter.protocol.messages import (
    Cause,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    Joined,
    JoinedGameRoom,
    JoinRequest,
    Memento,
    MoveData,
    MoveRequest,
    Paused,
    PrepareRequest,
    Result,
    RoomMessage,
    Slot,
    UnreadableData,
    WelcomeMessage,
)
from tests.protocol.streams import (
    CUTS,
    LATEST,
    ONE_LINE_MOVE,
    Cut,
    all_events,
    decode,
    packets,
    read_streams,
    samples,
    stream_of,
    transcripts,
    whole,
)
from tests.shared import SHARED, needs_shared

EDITIONS = [BLOKUS_2021_R3, BLOKUS_2021_RELEASE]


def by_name(dialect: Dialect) -> str:
    return dialect.name


def server_stream(events: list[Event], dialect: Dialect) -> bytes:
    """The bytes of a server that has sent `events`."""
    connection = Connection(Role.SERVER, dialect)
    stream = b""
    for event in events:
        if isinstance(event, StreamEnd):
            stream += connection.close()
        elif not isinstance(event, ConnectionClosed):
            stream += connection.send(event)
    return stream


# -- every recorded packet --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", EDITIONS, ids=by_name)
@pytest.mark.parametrize("name", LATEST)
def test_a_recorded_packet_is_written_as_it_was_read(name: str, dialect: Dialect) -> None:
    stream = stream_of(LATEST[name])
    connection = Connection(Role.CLIENT, dialect)
    events = all_events(connection, whole(stream))
    assert len(events) == 3
    assert server_stream(events, dialect) == stream
    assert not connection.ignored


@pytest.mark.parametrize("cut", CUTS)
def test_recorded_packets_in_one_stream(cut: Cut) -> None:
    stream = stream_of(*(packet for packet in LATEST.values() if len(packet) < 1200))
    events = all_events(Connection(Role.CLIENT, BLOKUS_2021_R3), cut(stream))
    assert server_stream(events, BLOKUS_2021_R3) == stream


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS)
def test_all_recorded_packets_in_one_stream(cut: Cut) -> None:
    stream = stream_of(*LATEST.values())
    events = all_events(Connection(Role.CLIENT, BLOKUS_2021_R3), cut(stream))
    assert server_stream(events, BLOKUS_2021_R3) == stream


@pytest.mark.parametrize("name", LATEST)
def test_a_server_reads_packets_that_only_servers_send(name: str) -> None:
    events = all_events(Connection(Role.SERVER, BLOKUS_2021_R3, AFTER_JOIN), whole(stream_of(LATEST[name])))
    assert server_stream(events, BLOKUS_2021_R3) == stream_of(LATEST[name])


# -- what the editions do differently ---------------------------------------------------------------------------------


def first_event(dialect: Dialect, packet: str) -> Event | Refusal | None:
    connection = Connection(Role.SERVER, dialect)
    connection.receive_data(b"<protocol>" + packet.encode())
    try:
        return connection.next_event()
    except RemoteProtocolError as error:
        return error.refusal


@pytest.mark.parametrize(
    ("packet", "latest", "release"),
    [
        (
            '<prepare gameType="g"><slot displayName="x"/></prepare>',
            PrepareRequest("g", (Slot("x", can_timeout=True, is_reserved=True),)),
            PrepareRequest("g", (Slot("x", can_timeout=False, is_reserved=False),)),
        ),
        ('<join gameType="g" foo="bar"/>', JoinRequest("g"), JoinRequest("g")),
        ('<join gameType="g"><bar/></join>', JoinRequest("g"), Refusal.UNREADABLE_PACKET),
        ("<foo/>", Refusal.UNKNOWN_PACKET, Refusal.UNKNOWN_PACKET),
        ("<state/>", Refusal.UNKNOWN_PACKET, Refusal.UNKNOWN_PACKET),
        ("<join></room>", Refusal.MALFORMED, Refusal.MALFORMED),
        ('<room roomId="r"/>', RoomMessage("r", None), RoomMessage("r", None)),
        ('<room roomId="r"><foo/></room>', RoomMessage("r", None), Refusal.UNREADABLE_PACKET),
    ],
)
def test_packets_that_the_release_read_differently(
    packet: str, latest: Event | Refusal, release: Event | Refusal
) -> None:
    assert first_event(BLOKUS_2021_R3, packet) == latest
    assert first_event(BLOKUS_2021_RELEASE, packet) == release


def rules_read_by(dialect: Dialect) -> object:
    event = all_events(Connection(Role.CLIENT, dialect), whole(stream_of(LATEST["memento_mid"])))[0]
    assert isinstance(event, RoomMessage)
    assert isinstance(event.data, Memento)
    assert isinstance(event.data.state, BlokusState)
    return event.data.state.rules


def test_positions_are_read_with_the_editions_rules() -> None:
    assert rules_read_by(BLOKUS_2021_R3) == RULES_2021
    rules = rules_read_by(BLOKUS_2021_RELEASE)
    assert rules != RULES_2021
    assert not rules.ends_with_finished_color  # type: ignore[attr-defined]


def test_the_editions_have_different_names() -> None:
    assert [dialect.name for dialect in EDITIONS] == ["blokus-2021-r3", "blokus-2021-21.4.0"]
    assert [dialect.is_strict for dialect in EDITIONS] == [False, True]


def test_a_move_on_one_line_is_read() -> None:
    assert first_event(BLOKUS_2021_RELEASE, ONE_LINE_MOVE.decode()) == first_event(
        BLOKUS_2021_R3, ONE_LINE_MOVE.decode()
    )


# -- whole conversations with the official server ---------------------------------------------------------------------


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("dialect", EDITIONS, ids=by_name)
@pytest.mark.parametrize("name", ["whole_game_join", "whole_game_admin"])
def test_whole_games_are_written_as_they_were_read(name: str, dialect: Dialect) -> None:
    assert SHARED is not None
    streams = read_streams(SHARED / f"transcripts/blokus-2021/{name}.txt.gz")
    assert len(streams) >= 4
    for stream in streams:
        role, limits = (Role.SERVER, AFTER_JOIN) if stream.is_to_server else (Role.CLIENT, FROM_SERVER)
        connection = Connection(role, dialect, limits)
        events = all_events(connection, whole(stream.data))
        assert len(events) > 5
        assert server_stream(events, dialect) == stream.data
        assert not connection.ignored


@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("dialect", EDITIONS, ids=by_name)
def test_special_cases_of_the_official_server_are_written_as_they_were_read(dialect: Dialect) -> None:
    assert SHARED is not None
    packets = 0
    for path in sorted((SHARED / "transcripts/blokus-2021/cases").glob("*.txt")):
        for stream in read_streams(path):
            if not stream.is_to_server and stream.data != b"<protocol/>":
                events = all_events(Connection(Role.CLIENT, dialect), whole(stream.data))
                assert server_stream(events, dialect) == stream.data, (path.name, stream.connection)
                packets += len(events)
    assert packets > 500


REFUSED_BY_THE_RELEASE = {
    "c06_unknown_tag": {"u00", "u01", "u03", "u07", "u08", "u09", "u11", "u12", "u13"},
    "c10e_malformed_mid_game": {"p1"},
    "c10f_unknown_data_class": {"p1"},
    "c10j_piece_defaults_missing": {"p1"},
    "c10k_extra_child_in_move": {"p1"},
}
"""The recorded clients that the official server disconnected without an answer because it could not read a packet."""


@needs_shared
@pytest.mark.slow
def test_clients_that_the_official_server_disconnected_are_refused() -> None:
    assert SHARED is not None
    refused: dict[str, set[str]] = {}
    for path in sorted((SHARED / "transcripts/blokus-2021/cases").glob("*.txt")):
        for stream in read_streams(path):
            if stream.is_to_server:
                connection = Connection(Role.SERVER, BLOKUS_2021_RELEASE, AFTER_JOIN)
                try:
                    all_events(connection, whole(stream.data))
                except RemoteProtocolError:
                    refused.setdefault(path.stem, set()).add(stream.connection)
    assert refused == REFUSED_BY_THE_RELEASE


MONO_AT_9_9: Final = "BLUE Piece MONO:0 [9,9]"
START: Final = BlokusState(RULES_2021, Shape.PENTO_V)


def set_move(color: Color, shape: Shape, x: int, y: int, rotation: Rotation = Rotation.NONE) -> SetMove:
    return SetMove(color, shape, rotation, False, x, y)


def second_round() -> BlokusState:
    """Every colour has its first piece in a corner; that of BLUE covers (0, 0), (0, 1), (0, 2), (1, 2) and (2, 2)."""
    state = START
    for color, (x, y) in zip(Color, [(0, 0), (17, 17), (0, 17), (17, 0)], strict=True):
        rotation = Rotation.MIRROR if color is Color.GREEN else Rotation.NONE
        state = state.play(set_move(color, Shape.PENTO_V, x, y, rotation))
    return state


@pytest.mark.parametrize(
    ("move", "text"),
    [
        (SetMove(Color.YELLOW, Shape.PENTO_S, Rotation.NONE, False, 16, 0), "YELLOW Piece PENTO_S:0 [16,0]"),
        (SetMove(Color.BLUE, Shape.MONO, Rotation.LEFT, True, -1, 20), "BLUE Piece MONO:3 (flipped) [-1,20]"),
        (SkipMove(Color.GREEN), "GREEN skipped"),
        (SkipMove(), "null skipped"),
        (None, "null"),
    ],
)
def test_a_move_is_described(move: SetMove | SkipMove | None, text: str) -> None:
    assert describe_move_r1(move) == text


@pytest.mark.parametrize(
    ("state", "move", "text"),
    [
        (START, set_move(Color.BLUE, Shape.PENTO_I, 0, 0), "PENTO_I is not the requested first shape, PENTO_V"),
        (START, SkipMove(Color.BLUE), "Can't Skip on first round; move was BLUE skipped"),
        (START, SkipMove(), "Can't Skip on first round; move was BLUE skipped"),
        (START, SkipMove(Color.RED), "Expected move from BLUE; move was RED skipped"),
        (
            START,
            set_move(Color.GREEN, Shape.PENTO_V, 0, 0),
            "Expected move from BLUE; move was GREEN Piece PENTO_V:0 [0,0]",
        ),
        (
            START,
            set_move(Color.BLUE, Shape.PENTO_V, 5, 5),
            "The Piece isn't located in a corner; move was BLUE Piece PENTO_V:0 [5,5]",
        ),
        (
            START,
            set_move(Color.BLUE, Shape.PENTO_V, 18, 17),
            "Field [20, 19] is out of bounds; move was BLUE Piece PENTO_V:0 [18,17]",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.PENTO_V, 9, 9),
            "Piece PENTO_V has already been placed before",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.MONO, 1, 2),
            "Field [1, 2] already belongs to BLUE; move was BLUE Piece MONO:0 [1,2]",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.MONO, 19, 19),
            "Field [19, 19] already belongs to YELLOW; move was BLUE Piece MONO:0 [19,19]",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.MONO, 1, 1),
            "Field [1, 1] already borders on BLUE; move was BLUE Piece MONO:0 [1,1]",
        ),
        (
            second_round(),
            set_move(Color.BLUE, Shape.MONO, 9, 9),
            f"{MONO_AT_9_9} shares no corner with another piece of same color; move was {MONO_AT_9_9}",
        ),
    ],
)
def test_a_mistake_is_explained(state: BlokusState, move: SetMove | SkipMove, text: str) -> None:
    mistake = state.check(move)
    assert mistake is not None
    assert explain_mistake(mistake, move, state) == text
    refusal = BLOKUS_2021_R1.texts.illegal("Eins", mistake, move, state)
    assert (refusal.reason, refusal.observer_error) == (text, text)
    assert refusal.error == f"Ungueltiger Zug von 'Eins'.\n{text}"
    assert (refusal.packet, refusal.shown) == (None, None)


_FIELD: Final = re.compile(
    r"Field \[(-?\d+), (-?\d+)\] (is out of bounds|already belongs to|already borders on) ?(\w*);"
)


@pytest.mark.parametrize("seed", range(4))
def test_the_named_cell_has_the_fault(seed: int) -> None:
    rng = random.Random(seed)
    state = START
    named = 0
    for _ in range(30):
        for _ in range(40):
            move = SetMove(
                state.color_on_turn,
                rng.choice(list(Shape)),
                rng.choice(list(Rotation)),
                rng.random() < 0.5,
                rng.randint(-2, 20),
                rng.randint(-2, 20),
            )
            mistake = state.check(move)
            found = _FIELD.match(explain_mistake(mistake, move, state)) if mistake else None
            if found is None:
                continue
            named += 1
            x, y = int(found[1]), int(found[2])
            if found[3] == "is out of bounds":
                assert not (0 <= x < SIZE and 0 <= y < SIZE)
                continue
            owner = state.color_at(x, y)
            if found[3] == "already belongs to":
                assert owner is not None
                assert owner.name == found[4]
            else:
                near = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
                owners = {state.color_at(*cell) for cell in near if 0 <= cell[0] < SIZE and 0 <= cell[1] < SIZE}
                assert owner is None
                assert state.color_on_turn in owners
        state = state.play(rng.choice(list(state.generate_legal_moves())))
    assert named > 300


def test_a_move_out_of_turn_names_both() -> None:
    sent = MoveData(SetMove(Color.YELLOW, Shape.PENTO_S, Rotation.NONE, False, 16, 0))
    refusal = BLOKUS_2021_R1.texts.out_of_turn(0, 0, 1, ("Eins", "Zwei"), sent)
    assert refusal.error == (
        "It's not your turn yet; expected: Player One(Eins), got: Player Two(Zwei)"
        " (msg was YELLOW Piece PENTO_S:0 [16,0])."
    )
    assert (refusal.reason, refusal.shown) == ("Der Spieler hat das Spiel verlassen", sent)
    unreadable = BLOKUS_2021_R1.texts.out_of_turn(None, 1, 0, ("Eins", "Zwei"), UnreadableData("x", "y"))
    assert unreadable.error.endswith("got: Player One(Eins) (msg was x).")


def test_a_move_that_was_not_requested_is_refused() -> None:
    refusal = BLOKUS_2021_R1.texts.out_of_turn(None, 0, 0, ("Eins", "Zwei"), MoveData(SkipMove()))
    assert refusal.error == "We didn't request a data from you yet."


def test_unreadable_moves_are_explained_in_german() -> None:
    refusal = BLOKUS_2021_R1.texts.unreadable("Eins", UnreadableData("x", "data fehlt"))
    assert refusal.reason == refusal.observer_error == "Der Zug konnte nicht erkannt werden: data fehlt"
    assert refusal.error == "Ungueltiger Zug von 'Eins'.\nDer Zug konnte nicht erkannt werden: data fehlt"
    assert refusal.shown is None


FIRST_REVISION: Final = samples("blokus-2021-r1")
_COLORS: Final = re.compile(
    rb' currentColorIndex="\d"'
    rb"|\n        <orderedColors/>|\n        <orderedColors>.*</orderedColors>"
    rb"|\n        <startColor>BLUE</startColor>",
    re.DOTALL,
)


def test_the_document_shows_this_position() -> None:
    """The example of the seed document as far as it is shown; its lists of pieces are those of the first revision."""
    state = BlokusState(BLOKUS_2021.rules, Shape.PENTO_V)
    after = state.play(SetMove(Color.BLUE, Shape.PENTO_V, Rotation.RIGHT, False, 17, 0))
    text = BLOKUS_2021_R2.encode(RoomMessage("r", Memento(after, ("One", "Two")))).decode()
    head, _, rest = text.partition("<blueShapes")
    _, _, tail = rest.rpartition("</greenShapes>")
    assert head == (
        '\n  <room roomId="r">\n    <data class="memento">\n'
        '      <state class="state" turn="1" round="1" startPiece="PENTO_V">\n'
        '        <startTeam class="team">ONE</startTeam>\n'
        "        <board>\n"
        '          <field x="17" y="0" content="BLUE"/>\n'
        '          <field x="18" y="0" content="BLUE"/>\n'
        '          <field x="19" y="0" content="BLUE"/>\n'
        '          <field x="17" y="1" content="BLUE"/>\n'
        '          <field x="17" y="2" content="BLUE"/>\n'
        "        </board>\n        "
    )
    assert tail == (
        '\n        <lastMoveMono class="linked-hash-map"/>\n'
        '        <first displayName="One">\n'
        '          <color class="team">ONE</color>\n'
        "        </first>\n"
        '        <second displayName="Two">\n'
        '          <color class="team">TWO</color>\n'
        "        </second>\n"
        '        <lastMove class="sc.plugin2021.SetMove">\n'
        '          <piece color="BLUE" kind="PENTO_V" rotation="RIGHT" isFlipped="false">\n'
        '            <position x="17" y="0"/>\n'
        "          </piece>\n"
        "        </lastMove>\n"
        "      </state>\n    </data>\n  </room>"
    )


MEMENTOS: Final = [name for name in FIRST_REVISION if name.startswith("memento")]


@pytest.mark.parametrize("name", [each for each in MEMENTOS if each != "memento_last"])
def test_a_position_is_that_of_the_first_revision_without_colors(name: str) -> None:
    packet = _COLORS.sub(b"", FIRST_REVISION[name])
    assert b"olors" not in packet
    assert BLOKUS_2021_R2.encode(decode(BLOKUS_2021_R2, packet)) == packet


@pytest.mark.parametrize("name", [each for each in FIRST_REVISION if each not in MEMENTOS])
def test_everything_else_is_as_in_the_first_revision(name: str) -> None:
    packet = FIRST_REVISION[name]
    assert BLOKUS_2021_R2.encode(decode(BLOKUS_2021_R2, packet)) == packet


def test_every_position_is_read_as_it_was_except_for_the_valid_colors() -> None:
    rng = random.Random(5)
    state = BLOKUS_2021.new_state(rng)
    for _ in range(40):
        message = decode(BLOKUS_2021_R2, BLOKUS_2021_R2.encode(RoomMessage("r", Memento(state, ("a", "b")))))
        assert isinstance(message, RoomMessage)
        assert message.data == Memento(state, ("a", "b"))
        assert not isinstance(state, CountedState)
        state = state.play(rng.choice(list(state.generate_legal_moves())))


@pytest.mark.parametrize("message", [ErrorPacket("no"), RoomMessage("r", Paused(True))])
def test_some_messages_have_no_packet(message: ErrorPacket | RoomMessage) -> None:
    assert not BLOKUS_2021_R2.has_packet(type(message.data) if isinstance(message, RoomMessage) else ErrorPacket)
    with pytest.raises(LocalProtocolError, match="blokus-2021-r2 has no way to write"):
        BLOKUS_2021_R2.encode(message)


@pytest.mark.parametrize("kind", [Joined, CloseConnection, Memento, MoveRequest, ErrorMessage, WelcomeMessage])
def test_all_other_messages_have_a_packet(kind: type) -> None:
    assert BLOKUS_2021_R2.has_packet(kind)


@pytest.mark.parametrize("tag", ["close", "sc.protocol.CloseConnection", "sc.protocol.responses.CloseConnection"])
def test_every_close_packet_is_read(tag: str) -> None:
    assert decode(BLOKUS_2021_R2, f"<{tag}/>") == CloseConnection()
    assert BLOKUS_2021_R2.encode(CloseConnection()) == FIRST_REVISION["close"]


@pytest.mark.parametrize("tag", ["errorpacket", "sc.protocol.requests.JoinGameRequest"])
def test_packets_of_later_revisions_are_unknown(tag: str) -> None:
    with pytest.raises(RemoteProtocolError) as error:
        decode(BLOKUS_2021_R2, f"<{tag}/>")
    assert error.value.refusal is Refusal.UNKNOWN_PACKET


def test_joined_game_room_is_written_as_documented() -> None:
    notice = JoinedGameRoom("r", 1, is_existing=False)
    assert BLOKUS_2021_R2.encode(notice) == b'\n  <joinedGameRoom roomId="r" existing="false"/>'
    assert BLOKUS_2021_R2.encode(JoinedGameRoom("r", 2)) == b'\n  <joinedGameRoom roomId="r"/>'


def test_a_player_without_a_name_gets_a_default_name() -> None:
    assert BLOKUS_2021_R2.unnamed == "Unknown"


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
