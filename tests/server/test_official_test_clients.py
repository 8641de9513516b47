"""The official TestClients of 2018, 2021 and 2027 work with the default settings, one after another on one server.

Their packets are those of the releases: an administrator that switches test mode on (not in 2027), prepares a game,
observes it, and asks for the scores after it (not in 2027).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server.core.room import Room
from tests.server.harness import PASSWORD, open_all_games
from tests.server.room_harness import first_move

UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def any_move(room: Room) -> bytes:
    return room.edition.dialect.encode(RoomMessage(room.id, MoveData(first_move(room))))


@dataclass(frozen=True)
class Client:
    """What the TestClient of one release sends, and the answers that it waits for."""

    edition: str
    first: str
    """Its first packets, together with the root element."""
    testing: bytes
    """The answer to its first packets."""
    prepare: str
    slot: str
    score: str
    goodbye: str
    parts: int
    """The number of parts of a score that it reads."""

    def prepare_packet(self) -> str:
        return self.prepare.format(self.slot.format("player1") + self.slot.format("player2"))


TESTING = b'<protocol>\n  <testing testMode="true"/>'
CLIENTS = {
    "2018": Client(
        "hase-und-igel-2018",
        f'<protocol>\n  <authenticate passphrase="{PASSWORD}"/>\n  <testMode testMode="true"/>',
        TESTING,
        '\n  <prepare gameType="swc_2018_hase_und_igel">{}\n  </prepare>',
        '\n    <slot displayName="{}" canTimeout="true" shouldBePaused="false"/>',
        '\n  <scoreForPlayer displayName="{}"/>',
        "\n  <sc.protocol.responses.CloseConnection/>",
        3,
    ),
    "2021": Client(
        "blokus-2021-r3",
        f'<protocol>\n  <authenticate password="{PASSWORD}"/>\n  <testMode testMode="true"/>',
        TESTING,
        '\n  <prepare gameType="swc_2021_blokus" pause="false">{}\n  </prepare>',
        '\n    <slot displayName="{}" canTimeout="true" reserved="true"/>',
        '\n  <scoreForPlayer displayName="{}"/>',
        "\n  <sc.protocol.CloseConnection/>",
        2,
    ),
    "2027": Client(
        "blokus-2027",
        f'<protocol>\n  <authenticate password="{PASSWORD}"/>',
        b"",
        '\n  <prepare gameType="swc_2027_blokus" pause="false">{}\n  </prepare>',
        '\n    <slot displayName="{}" canTimeout="true" reserved="true"/>',
        "",
        "\n  <close/>",
        2,
    ),
}


async def test_the_conversations_of_all_test_clients_on_one_server(autojump_clock: object) -> None:
    async with open_all_games() as harness:
        for client in CLIENTS.values():
            caller = await harness.call()
            await caller.send(client.first)
            assert await caller.receive() == client.testing
            await caller.send(client.prepare_packet())
            prepared = (await caller.receive()).decode()
            assert "<prepared roomId=" in prepared
            room_id, *codes = re.findall(UUID, prepared)
            await caller.send(f'\n  <observe roomId="{room_id}"/>')
            players = [await harness.take_seat(code) for code in codes]
            room = harness.server.lobby.rooms[room_id]
            assert room.edition.name == client.edition
            for _ in range(2):
                await players[room.state.seat_on_turn].send(any_move(room))
            await players[1].close()
            assert b'<data class="result">' in await caller.receive()
            if client.score:
                scores = []
                for name in room.names:
                    await caller.send(client.score.format(name))
                    answer = (await caller.receive()).decode()
                    assert f'displayName="{name}"' in answer
                    scores.append(re.findall("<value>(.*)</value>", answer))
                assert [len(parts) for parts in scores] == [client.parts] * 2
                assert [int(parts[0]) for parts in scores] == [2, 0]
            await caller.send(client.goodbye)
            assert caller.is_ended


async def test_a_test_client_with_a_wrong_password_does_not_wait_for_ever(autojump_clock: object) -> None:
    async with open_all_games() as harness:
        caller = await harness.call()
        await caller.send(CLIENTS["2021"].first.replace(PASSWORD, "falsch"))
        received = await caller.receive()
        assert received.count(b"<errorpacket message=") == 2
        assert received.endswith(b"\n  </errorpacket>\n  <sc.protocol.CloseConnection/>\n</protocol>")
        assert caller.is_ended
