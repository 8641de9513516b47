"""The middle revision: the first one without its list of colours, and the example of its seed document."""

from __future__ import annotations

import random
import re
from typing import Final

import pytest

from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.game.blokus.state import BLOKUS_2021, BlokusState
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R2, CountedState
from spielleiter.protocol.errors import LocalProtocolError, Refusal, RemoteProtocolError
from spielleiter.protocol.messages import (
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    Joined,
    JoinedGameRoom,
    Memento,
    MoveRequest,
    Paused,
    RoomMessage,
    WelcomeMessage,
)
from tests.protocol.seasons import decode, samples

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
