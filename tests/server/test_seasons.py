"""All seasons are played on one port at the same time, without an effect on each other."""

from __future__ import annotations

import random
import re
from html import unescape

import pytest

from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.protocol.writer import typed_element
from spielleiter.server import events
from spielleiter.server.core.room import Phase
from spielleiter.server.editions import choose_editions
from tests.server.harness import GAME_TYPES, joined, open_all_games, playing
from tests.server.room_harness import first_move

EDITIONS = choose_editions({}, {})
USUAL = list(EDITIONS.values())


def _foreign_move(game_type: str) -> tuple[str, str]:
    """A move of another game that is unknown in this one: its class, and its packet there."""
    own = EDITIONS[game_type].dialect
    for other in USUAL:
        move = next(iter(other.game.new_state(random.Random(1)).generate_legal_moves()))
        body = other.dialect.data_body(MoveData(move), "\n")
        if body.name not in own.data_readers:
            return body.name, typed_element("", "data", body)
    raise AssertionError(f"{game_type} understands every other game's moves")


@pytest.mark.slow
async def test_games_of_all_seasons_are_played_at_once_and_end_correctly(autojump_clock: object) -> None:
    async with open_all_games(soft_timeout=1000.0, hard_timeout=1000.0) as harness:
        games = [await playing(harness, game_type) for game_type in GAME_TYPES]
        rooms = [harness.server.lobby.rooms[room_id] for room_id, *_ in games]
        while any(room.phase is Phase.RUNNING for room in rooms):
            for room, (_, *players) in zip(rooms, games, strict=True):
                if room.phase is Phase.RUNNING:
                    move = RoomMessage(room.id, MoveData(first_move(room)))
                    await players[room.state.seat_on_turn].send(room.edition.dialect.encode(move))
        ended = {each.room: each for each in harness.happened(events.GameEnded)}
    assert not harness.happened(events.RequestRefused)
    assert not harness.happened(events.ProtocolBroken)
    for room in rooms:
        outcome, game = room.state.outcome(), ended[room.id]
        assert outcome is not None
        assert game.winners == ((0, 1) if outcome.winner is None else (outcome.winner,))
        assert game.causes == ("REGULAR", "REGULAR")
        assert [parts[1:] for parts in game.parts] == [room.state.points(seat) for seat in (0, 1)]


async def test_joins_for_different_games_never_meet(autojump_clock: object) -> None:
    async with open_all_games() as harness:
        first = {game_type: await joined(harness, game_type) for game_type in GAME_TYPES}
        assert len(harness.server.lobby.rooms) == len(GAME_TYPES)
        for caller in first.values():
            assert re.fullmatch(rb'<protocol>\n  <joined roomId="[^"]+"/>', await caller.receive())
        for game_type, caller in first.items():
            await joined(harness, game_type)
            assert (await caller.receive()).count(b'class="memento"') == 1
            for other in first.values():
                assert await other.receive() == b""
        assert {room.edition.game_type for room in harness.server.lobby.rooms.values()} == set(GAME_TYPES)


async def test_a_player_of_one_season_cannot_join_another(autojump_clock: object) -> None:
    async with open_all_games() as harness:
        caller = await joined(harness, "swc_2027_blokus")
        await caller.receive()
        await caller.send('<join gameType="swc_2021_blokus"/>')
        assert await caller.receive() == (
            b'\n  <errorpacket message="This connection plays swc_2027_blokus; open another one for swc_2021_blokus">'
            b'\n    <originalRequest class="join" gameType="swc_2021_blokus"/>\n  </errorpacket>'
        )
        assert not caller.is_ended


def _error_messages(packets: bytes) -> list[str]:
    """Return the messages of all errors."""
    return [
        unescape(found.decode()) for found in re.findall(rb'(?:class="error"|<error\w*) message="([^"]*)"', packets)
    ]


@pytest.mark.parametrize("game_type", GAME_TYPES)
async def test_a_move_of_another_season_loses_with_the_expected_one_named(
    game_type: str, autojump_clock: object
) -> None:
    async with open_all_games() as harness:
        others = [await playing(harness, other) for other in GAME_TYPES if other != game_type]
        room_id, one, two = await playing(harness, game_type)
        class_name, move = _foreign_move(game_type)
        await one.send(f'<room roomId="{room_id}">{move}</room>')
        received = await one.receive()
        texts = _error_messages(received)
        assert texts
        dialect = harness.server.editions[game_type].dialect
        problem = f'data class="{class_name}" gibt es nicht; erlaubt: {", ".join(dialect.move_classes)}'
        where = "<room> cannot be read: " if dialect.is_strict else "Der Zug konnte nicht erkannt werden: "
        for text in texts:
            assert where + problem in text
        opponent_received = await two.receive()
        assert _error_messages(opponent_received) == []
        assert opponent_received.count(b'class="result"') == 1
        assert [each.seat for each in harness.happened(events.MoveRefused)] == [0] * (not dialect.is_strict)
        assert len(harness.happened(events.ProtocolBroken, one.label)) == dialect.is_strict
        for _, first, second in others:
            assert (await first.receive(), await second.receive()) == (b"", b"")
            assert not first.is_ended
            assert not second.is_ended


async def test_a_move_of_2021_in_a_room_of_2018_to_the_byte(autojump_clock: object) -> None:
    async with open_all_games() as harness:
        room_id, one, _ = await playing(harness, "swc_2018_hase_und_igel")
        await one.send(f'<room roomId="{room_id}"><data class="sc.plugin2021.SkipMove"/></room>')
        assert (
            await one.receive()
            == (
                f'\n  <room roomId="{room_id}">'
                '\n    <data class="error" message="Ungueltiger Zug von &apos;Unknown&apos;.&#xa;'
                "Der Zug konnte nicht erkannt werden: data class=&quot;sc.plugin2021.SkipMove&quot; gibt es nicht; "
                'erlaubt: move">'
                '\n      <originalRequest class="sc.plugin2021.SkipMove"/>'
                "\n    </data>\n  </room>"
                "\n  <sc.protocol.responses.CloseConnection/>\n</protocol>"
            ).encode()
        )
        assert one.is_ended


@pytest.mark.parametrize(
    ("request_", "reply"),
    [
        (
            (
                '<prepare gameType="swc_2018_hase_und_igel" pause="true"><slot displayName="a"/><slot displayName="b"/>'
                "</prepare>"
            ),
            (
                '\n  <errorpacket message="prepare: hase-und-igel-2018 has no attribute pause; it has gameType">'
                '\n    <originalRequest class="prepare" gameType="swc_2018_hase_und_igel" pause="true">'
                '\n      <slot displayName="a" canTimeout="false" reserved="false"/>'
                '\n      <slot displayName="b" canTimeout="false" reserved="false"/>'
                "\n    </originalRequest>\n  </errorpacket>\n  <close/>\n</protocol>"
            ),
        ),
        (
            (
                '<prepare gameType="swc_2018_hase_und_igel"><slot displayName="a"/>'
                '<slot displayName="b" reserved="false"/></prepare>'
            ),
            (
                '\n  <errorpacket message="slot 2: hase-und-igel-2018 has no attribute reserved; '
                'it has displayName, canTimeout, shouldBePaused">'
                '\n    <originalRequest class="prepare" gameType="swc_2018_hase_und_igel" pause="false">'
                '\n      <slot displayName="a" canTimeout="false" reserved="false"/>'
                '\n      <slot displayName="b" canTimeout="false" reserved="false"/>'
                "\n    </originalRequest>\n  </errorpacket>\n  <close/>\n</protocol>"
            ),
        ),
    ],
)
async def test_attributes_of_another_season_cannot_be_prepared(
    request_: str, reply: str, autojump_clock: object
) -> None:
    async with open_all_games() as harness:
        room_id, one, two = await playing(harness, "swc_2018_hase_und_igel")
        admin = await harness.admin()
        await admin.send(request_)
        assert await admin.receive() == f"<protocol>{reply}".encode()
        assert admin.is_ended
        assert list(harness.server.lobby.rooms) == [room_id]
        assert (await one.receive(), await two.receive()) == (b"", b"")


async def test_an_administrator_of_two_seasons_is_answered_in_the_form_of_the_first(autojump_clock: object) -> None:
    slots = '<slot displayName="a"/><slot displayName="b"/>'
    async with open_all_games() as harness:
        admin = await harness.admin()
        for game_type in ("swc_2018_hase_und_igel", "swc_2027_blokus"):
            await admin.send(f'<prepare gameType="{game_type}">{slots}</prepare>')
            assert b"<prepared " in await admin.receive()
        await admin.send('<observe roomId="nowhere"/>')
        received = await admin.receive()
        assert b"<error message=" in received
        assert received.endswith(b"\n  <sc.protocol.responses.CloseConnection/>\n</protocol>")
        assert admin.is_ended


UNKNOWN = (
    f"sc.server.plugins.UnknownGameTypeException: Unknown GameType UUID: chess (available: {','.join(GAME_TYPES)})"
)


@pytest.mark.parametrize(
    ("default", "end"),
    [
        ("swc_2027_blokus", "\n  <close/>\n</protocol>"),
        ("swc_2021_blokus", "\n  <sc.protocol.CloseConnection/>\n</protocol>"),
        ("swc_2018_hase_und_igel", "\n  <sc.protocol.responses.CloseConnection/>\n</protocol>"),
    ],
)
async def test_an_unknown_game_is_refused_in_the_default_game_s_form(
    default: str, end: str, autojump_clock: object
) -> None:
    async with open_all_games(default_game=default) as harness:
        caller = await joined(harness, "chess")
        tag = "error" if default == "swc_2018_hase_und_igel" else "errorpacket"
        assert (
            await caller.receive()
            == (
                f'<protocol>\n  <{tag} message="{UNKNOWN}">\n    <originalRequest class="join" gameType="chess"/>'
                f"\n  </{tag}>{end}"
            ).encode()
        )
        assert caller.is_ended


@pytest.mark.parametrize("default", [None, *GAME_TYPES])
async def test_a_join_without_a_game_gets_the_default_one(default: str | None, autojump_clock: object) -> None:
    async with open_all_games(default_game=default) as harness:
        await joined(harness, None)
        (room,) = harness.server.lobby.rooms.values()
        assert room.edition.game_type == (default or "swc_2027_blokus")
