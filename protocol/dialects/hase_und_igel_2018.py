"""The dialect of Hase und Igel 2018: the packets around a game as they were in that season, and its result.

Invariants: the packets that all seasons share are taken from `lobby` and `room`; only those that differ are defined
here. A refused request is answered with an `error` packet (release 18.2.6 did not answer), and pauses are not
announced. Sources: the seed document, and packets of release 18.2.6.
"""

from __future__ import annotations

from typing import Final

from spielleiter.game.api import State
from spielleiter.game.hase_und_igel.board import Player, PlayerColor
from spielleiter.game.hase_und_igel.state import HaseUndIgelState
from spielleiter.protocol.dialect import Dialect, Reading
from spielleiter.protocol.dialects import hase_und_igel, lobby, player_score, room
from spielleiter.protocol.dialects.attribute_packets import empty_writer
from spielleiter.protocol.dialects.fragment import fragment
from spielleiter.protocol.dialects.hase_und_igel_texts import TEXTS
from spielleiter.protocol.errors import LocalProtocolError
from spielleiter.protocol.messages import (
    Aggregation,
    AuthenticateRequest,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    Fragment,
    JoinedGameRoom,
    JoinRoomRequest,
    Memento,
    MoveData,
    Paused,
    PlayerScore,
    PrepareRequest,
    Result,
    Score,
    TimeoutRequest,
)
from spielleiter.protocol.reading import Element, read_boolean, read_integer
from spielleiter.protocol.writer import Body, attribute, boolean, element, leaf

# -- requests ---------------------------------------------------------------------------------------------------------


def _write_authenticate(message: AuthenticateRequest, _dialect: Dialect, _indent: str) -> Body:
    """Write the password in the only attribute that release 18.2.6 understands."""
    return Body("authenticate", attribute("passphrase", message.password))


def _write_prepare(message: PrepareRequest, _dialect: Dialect, indent: str) -> Body:
    """Write a pause as an attribute of the slots, since a game has none in this season. All slots are reserved."""
    slots = "".join(
        element(
            indent,
            "slot",
            attribute("displayName", slot.display_name)
            + f' canTimeout="{boolean(value=slot.can_timeout)}"'
            + f' shouldBePaused="{boolean(value=slot.should_be_paused or message.is_paused)}"',
        )
        for slot in message.slots
    )
    return Body("prepare", attribute("gameType", message.game_type), slots)


def _read_timeout(packet: Element, reading: Reading) -> TimeoutRequest:
    reading.skip_children(packet)
    is_active = read_boolean(packet, "activate", default=False)
    return TimeoutRequest(packet.get("roomId"), read_integer(packet, "slot"), is_active)


def _write_timeout(message: TimeoutRequest, _dialect: Dialect, _indent: str) -> Body:
    attributes = attribute("roomId", message.room_id)
    return Body("timeout", f'{attributes} activate="{boolean(value=message.is_active)}" slot="{message.slot}"')


# -- events -----------------------------------------------------------------------------------------------------------


def _write_error_packet(message: ErrorPacket, dialect: Dialect, indent: str) -> Body:
    return lobby.write_error_packet(message, dialect, indent)._replace(name="error", has_end_tag=False)


def _read_player_score(packet: Element, reading: Reading) -> PlayerScore:
    """Read the scores of a player. An empty packet means that no player of that name has played."""
    return player_score.read_player_score(packet, reading) if len(packet) else PlayerScore("", 0, ())


def _write_player_score(message: PlayerScore, dialect: Dialect, indent: str) -> Body:
    return player_score.write_player_score(message, dialect, indent) if message.number_of_tests else Body("playerScore")


# -- the result -------------------------------------------------------------------------------------------------------


def _player_details(state: State) -> tuple[object, object]:
    assert isinstance(state, HaseUndIgelState)
    return state.players


def _write_result(message: Result, _dialect: Dialect, indent: str) -> Body:
    """Write a result. Raises LocalProtocolError for a winner without details."""
    inner = indent + "  "
    parts = "".join(fragment(part, inner) for part in message.definition)
    lines = [element(indent, "definition", "", parts), *(_score(score, indent) for score in message.scores)]
    for seat in message.winners:
        player = message.details[seat]
        if not isinstance(player, Player):
            raise LocalProtocolError(f"the result shows nothing of its winner: {player!r}")
        winner = hase_und_igel.NamedPlayer(PlayerColor(seat), message.names[seat], player)
        lines.append(hase_und_igel.write_player(indent, "winner", winner, attribute("class", "player")))
    return Body("result", "", "".join(lines))


def _score(score: Score, indent: str) -> str:
    """Write a score; the attribute `reason` is left out if the reason is empty."""
    attributes = attribute("cause", score.cause.value) + attribute("reason", score.reason or None)
    return element(indent, "score", attributes, "".join(leaf(indent + "  ", "part", str(n)) for n in score.parts))


def _read_result(data: Element, reading: Reading) -> Result:
    """Read a result. It contains neither the name nor the details of the loser."""
    definition: tuple[Fragment, ...] = ()
    scores = []
    winners: dict[int, hase_und_igel.NamedPlayer] = {}
    for child in data:
        if child.tag == "definition":
            definition = room.read_definition(child, reading)
        elif child.tag == "score":
            scores.append(room.read_score(child, reading))
        elif child.tag == "winner":
            winner = hase_und_igel.read_player(child, reading)
            winners[int(winner.color)] = winner
        else:
            reading.skip(child, data)
    first, second = (winners.get(color) for color in PlayerColor)
    return Result(
        definition,
        tuple(scores),
        tuple(winners),
        ("" if first is None else first.name, "" if second is None else second.name),
        (None if first is None else first.player, None if second is None else second.player),
    )


# -- the dialect ------------------------------------------------------------------------------------------------------

HASE_UND_IGEL_2018: Final = Dialect(
    name="hase-und-igel-2018",
    texts=TEXTS,
    score_definition=(
        Fragment("Gewinner", Aggregation.SUM),
        Fragment("∅ Feldnummer", Aggregation.AVERAGE),
        Fragment("∅ Karotten", Aggregation.AVERAGE),
    ),
    readers={
        **{
            tag: reader
            for tag, reader in lobby.READERS.items()
            if "." not in tag and tag not in {"errorpacket", "joinRoom"}
        },
        **dict.fromkeys((lobby.CLOSE, lobby.CLOSE_RESPONSE), lobby.read_close),
        "error": lobby.read_error_packet,
        "playerScore": _read_player_score,
        "timeout": _read_timeout,
    },
    data_readers={
        hase_und_igel.MOVE_CLASS: hase_und_igel.read_move,
        "memento": hase_und_igel.read_memento,
        "result": _read_result,
        "error": room.error_reader("originalRequest"),
        "welcomeMessage": room.read_welcome,
        room.MOVE_REQUEST: room.read_move_request,
    },
    writers={
        **{kind: writer for kind, writer in lobby.WRITERS.items() if kind is not JoinRoomRequest},
        AuthenticateRequest: _write_authenticate,
        CloseConnection: empty_writer(lobby.CLOSE_RESPONSE),
        ErrorPacket: _write_error_packet,
        JoinedGameRoom: lobby.write_joined_game_room_existing,
        PlayerScore: _write_player_score,
        PrepareRequest: _write_prepare,
        TimeoutRequest: _write_timeout,
    },
    data_writers={
        **{kind: writer for kind, writer in room.DATA_WRITERS.items() if kind is not Paused},
        ErrorMessage: room.error_writer("originalRequest"),
        Memento: hase_und_igel.write_memento,
        MoveData: hase_und_igel.write_move,
        Result: _write_result,
    },
    move_classes=(hase_und_igel.MOVE_CLASS,),
    team_names=("RED", "BLUE"),
    welcome_names=("red", "blue"),
    slot_attributes=("displayName", "canTimeout", "shouldBePaused"),
    prepare_attributes=("gameType",),
    unnamed="Unknown",
    player_details=_player_details,
)
