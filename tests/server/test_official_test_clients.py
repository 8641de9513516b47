"""The official TestClients of 2018, 2021 and 2027 work with the default settings, one after another on one server.

Their packets are those of the releases: an administrator that switches test mode on (not in 2027), prepares games with
the players in alternating order, observes them, and asks for the scores after each game (not in 2027).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
import trio

from spielleiter.client.player import Player
from spielleiter.client.responders import make_responder
from spielleiter.server import events
from spielleiter.server.editions import EDITIONS
from tests.server.harness import PASSWORD, open_all_games
from tests.server.serving import Serving, serving
from tests.timeouts import HANG_TIMEOUT

NAMES = ("player1", "player2")


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

    def prepare_packet(self, game: int) -> str:
        first, second = NAMES if game % 2 == 0 else NAMES[::-1]
        return self.prepare.format(self.slot.format(first) + self.slot.format(second))


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


@pytest.mark.parametrize("season", CLIENTS)
async def test_the_first_packets_are_answered_as_by_the_release(season: str, autojump_clock: object) -> None:
    client = CLIENTS[season]
    async with open_all_games() as harness:
        caller = await harness.call()
        await caller.send(client.first)
        assert await caller.receive() == client.testing
        await caller.send(client.prepare_packet(0))
        assert b"<prepared roomId=" in await caller.receive()
        assert not caller.is_ended
        (opened,) = harness.happened(events.RoomOpened)
        assert opened.edition == client.edition


async def test_a_test_client_with_a_wrong_password_does_not_wait_for_ever(autojump_clock: object) -> None:
    async with open_all_games() as harness:
        caller = await harness.call()
        await caller.send(CLIENTS["2021"].first.replace(PASSWORD, "falsch"))
        received = await caller.receive()
        assert received.count(b"<errorpacket message=") == 2
        assert received.endswith(b"\n  </errorpacket>\n  <sc.protocol.CloseConnection/>\n</protocol>")
        assert caller.is_ended


class _Connection:
    """The administrator's connection of a TestClient; it reads as far as a packet that it waits for."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self._unread = b""

    async def send(self, packet: str) -> None:
        await self.stream.send_all(packet.encode())

    async def wait_for(self, pattern: bytes) -> bytes:
        """Return the first match of `pattern` in what has not been read yet, up to its end."""
        while (found := re.search(pattern, self._unread, re.DOTALL)) is None:
            data = bytes(await self.stream.receive_some())
            assert data, f"the stream ended before {pattern!r}: {self._unread[-500:]!r}"
            self._unread += data
        self._unread = self._unread[found.end() :]
        return found[0]


async def _play(server: Serving, client: Client, code: str, seed: int) -> None:
    dialect = EDITIONS[client.edition].dialect
    async with Player.connect(port=server.port, dialect=dialect) as player:
        await player.join_prepared(code)
        await player.play_with(make_responder("first", seed=seed))


async def _run(server: Serving, client: Client, games: int) -> list[list[list[str]]]:
    """Behave like the TestClient; return the parts of both scores after each game."""
    scores = []
    connection = _Connection(await trio.open_tcp_stream("127.0.0.1", server.port))
    async with connection.stream:
        await connection.send(client.first)
        if client.testing:
            assert await connection.wait_for(rb"<testing [^>]*/>") in client.testing
        for game in range(games):
            await connection.send(client.prepare_packet(game))
            prepared = (await connection.wait_for(rb"<prepared.*?</prepared>")).decode()
            room_id = prepared.split('"')[1]
            codes = re.findall("<reservation>(.*)</reservation>", prepared)
            await connection.send(f'\n  <observe roomId="{room_id}"/>')
            async with trio.open_nursery() as nursery:
                for seed, code in enumerate(codes):
                    nursery.start_soon(_play, server, client, code, seed)
                await connection.wait_for(rb'<data class="result">.*?</data>')
            if client.score:
                for name in NAMES:
                    await connection.send(client.score.format(name))
                answers = [await connection.wait_for(rb"<playerScore.*?</playerScore>") for _ in NAMES]
                scores.append([re.findall("<value>(.*)</value>", answer.decode()) for answer in answers])
                assert [name.encode() in answer for name, answer in zip(NAMES, answers, strict=True)] == [True, True]
        await connection.send(client.goodbye)
        await connection.wait_for(rb"</protocol>")
    return scores


@pytest.mark.slow
async def test_the_conversations_of_all_test_clients_on_one_server() -> None:
    async with serving(default_game=None, soft_timeout=HANG_TIMEOUT, hard_timeout=HANG_TIMEOUT) as server:
        for client in CLIENTS.values():
            games = 2
            scores = await _run(server, client, games)
            assert len(scores) == (games if client.score else 0)
            for number, both in enumerate(scores, 1):
                assert [len(parts) for parts in both] == [client.parts] * 2
                assert sum(int(parts[0]) for parts in both) == 2 * number  # 2 for a win, 1 each for a draw
        editions = [line["edition"] for line in server.logged("game_ended")]
    assert editions == [client.edition for client in CLIENTS.values() for _ in range(2)]
