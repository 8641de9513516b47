"""Callers of all seasons send random packets: no internal error occurs, and no room, member or timer remains."""

from __future__ import annotations

import random

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server import events
from spielleiter.server.core.room import Phase
from spielleiter.server.editions import EDITIONS
from tests.example_counts import examples
from tests.server.harness import NOWHERE, PASSWORD, Caller, ServerHarness

GAME_TYPES = sorted({edition.game_type for edition in EDITIONS.values()})
TAGS = sorted({tag for edition in EDITIONS.values() for tag in edition.dialect.readers})
CLASSES = sorted({name for edition in EDITIONS.values() for name in edition.dialect.data_readers})

REQUESTS = [
    "<join/>",
    *(f'<join gameType="{game_type}"/>' for game_type in [*GAME_TYPES, "chess"]),
    f'<joinRoom roomId="{NOWHERE}"/>',
    "<joinRoom/>",
    f'<joinPrepared reservationCode="{NOWHERE}"/>',
    "<joinPrepared/>",
    f'<authenticate password="{PASSWORD}"/>',
    f'<authenticate passphrase="{PASSWORD}"/>',
    '<authenticate password="wrong"/>',
    "<authenticate/>",
    *(
        f'<prepare gameType="{game_type}" pause="{pause}">{slots}</prepare>'
        for game_type in [*GAME_TYPES, "chess"]
        for pause in ("true", "false")
        for slots in (
            '<slot displayName="a"/><slot displayName="b"/>',
            '<slot displayName="a" canTimeout="false" reserved="false"/><slot displayName="b" shouldBePaused="true"/>',
            '<slot displayName="&lt;ä&#10;"/>',
            '<slot displayName="a"/><slot/>',
            "",
        )
    ),
    "<prepare/>",
    *(f'<{tag} roomId="ROOM"/>' for tag in TAGS),
    *(f'<room roomId="ROOM"><data class="{name}"/></room>' for name in CLASSES),
    '<pause roomId="ROOM" pause="true"/>',
    '<pause roomId="ROOM" pause="false"/>',
    '<step roomId="ROOM" forced="true"/>',
    '<timeout roomId="ROOM" slot="1" activate="false"/>',
    '<timeout roomId="ROOM" slot="7" activate="true"/>',
    '<joinPrepared reservationCode="CODE"/>',
    '<testMode testMode="true"/>',
    '<scoreForPlayer displayName="a"/>',
    "<scoreForPlayer/>",
    '<room roomId="ROOM"/>',
    '<room roomId="ROOM"><data/></room>',
    '<room roomId="ROOM"><data class="move"/></room>',
    '<room roomId="ROOM"><data class="sc.plugin2021.SkipMove"/></room>',
    '<room roomId="ROOM"><data class="sc.plugin2027.SkipMove"><color>PINK</color></data></room>',
    '<room roomId="ROOM"><data class="sc.plugin2021.SetMove"><piece/></data></room>',
    '<room roomId="ROOM"><data class="welcomeMessage" color="ONE"/></room>',
    '<room roomId="ROOM"><data class="memento"><state/></data></room>',
    "<errorpacket message='x'/>",
    "<testing testMode='true'/>",
    "<playerScore/>",
    "<room",
    "<!-- hello -->",
    "\n\n   ",
    "</room>",
    "<jion/>",
    "&",
    "<!DOCTYPE x>",
    "<sc.protocol.CloseConnection/>",
    "<sc.protocol.responses.CloseConnection/>",
    "<close/>",
    "</protocol>",
]

COMMANDS = [
    '<observe roomId="ROOM"/>',
    '<pause roomId="ROOM" pause="true"/>',
    '<pause roomId="ROOM" pause="false"/>',
    '<step roomId="ROOM"/>',
    '<cancel roomId="ROOM"/>',
    *(f'<prepare gameType="{each}"><slot displayName="a"/><slot displayName="b"/></prepare>' for each in GAME_TYPES),
]


class RandomCallers:
    """Callers that act at random."""

    def __init__(self, harness: ServerHarness, chance: random.Random) -> None:
        self._harness = harness
        self._chance = chance
        self._callers: list[Caller] = []

    async def act(self) -> None:
        chance = self._chance
        kind = chance.random()
        if kind < 0.12 or not self._callers:
            caller = await self._harness.call()
            await caller.send("<protocol>")
            self._callers.append(caller)
            if chance.random() < 0.4:
                await caller.send(f'<authenticate password="{PASSWORD}"/>')
        elif kind < 0.16:
            caller = chance.choice(self._callers)
            await (caller.end_input() if chance.random() < 0.5 else self._hang_up(caller))
        elif kind < 0.22:
            await trio.sleep(chance.choice([0.5, 3.0, 11.0, 61.0, 700.0]))
        elif kind < 0.55:
            await self._play_on()
        elif kind < 0.7:
            await self._administer()
        else:
            await self._send(chance.choice(self._callers), chance.choice(REQUESTS))

    async def _send(self, caller: Caller, text: str) -> None:
        lobby = self._harness.server.lobby
        for word, known in (("ROOM", list(lobby.rooms)), ("CODE", list(lobby.reservations))):
            text = text.replace(word, self._chance.choice(known) if known else NOWHERE)
        try:
            await caller.send(text)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._callers.remove(caller)

    async def _play_on(self) -> None:
        """Let a caller join a game, or the side to move of a game make a legal move."""
        lobby, chance = self._harness.server.lobby, self._chance
        running = [room for room in lobby.rooms.values() if room.phase is Phase.RUNNING]
        if not running or chance.random() < 0.3:
            wanted = ['<joinPrepared reservationCode="CODE"/>' if lobby.reservations else "<join/>"]
            await self._send(chance.choice(self._callers), chance.choice(wanted))
            return
        room = chance.choice(running)
        peer = room.player_slots[room.state.seat_on_turn].peer
        move = chance.choice(list(room.state.generate_legal_moves()))
        data = room.edition.dialect.encode(RoomMessage(room.id, MoveData(move)))
        for caller in self._callers:
            if peer is not None and caller.label == peer.label:
                await self._send(caller, data.decode())
                return

    async def _administer(self) -> None:
        """Let an administrator send a command for a game."""
        admins = {peer.label for peer in self._harness.server.lobby.admins}
        for caller in self._callers:
            if caller.label in admins:
                await self._send(caller, self._chance.choice(COMMANDS))
                return

    async def _hang_up(self, caller: Caller) -> None:
        self._callers.remove(caller)
        await caller.close()

    async def all_hang_up(self) -> None:
        for caller in list(self._callers):
            await self._hang_up(caller)


def check_lobby(harness: ServerHarness) -> None:
    """Check that the lobby keeps nothing of closed rooms, and that a room waits for a move while it has to."""
    lobby = harness.server.lobby
    assert {room_id for room_id, room in lobby.rooms.items() if room.phase is Phase.OPEN} == set(lobby.waiting)
    for code, (room, player_slot) in lobby.reservations.items():
        assert lobby.rooms[room.id] is room
        assert (player_slot.reservation, player_slot.peer) == (code, None)
    for room in lobby.rooms.values():
        is_running = room.phase is Phase.RUNNING
        assert len(room.players) == 2 if is_running else len(room.players) in (int(not room.is_prepared), 1)
        assert is_running or room.pending is None
        assert room.pending is not None or room.is_paused or not is_running
        assert all(peer.rooms[room.id] is room for peer in room.players)
        assert all(peer.observed[room.id] is room for peer in room.observers)
    for session in harness.server.sessions:
        assert all(lobby.rooms[room_id].slot_of(session.peer) for room_id in session.peer.rooms)
        assert all(session.peer in lobby.rooms[room_id].observers for room_id in session.peer.observed)


async def run_callers(edition: str, seed: int, steps: int) -> None:
    chosen = EDITIONS[edition]
    async with trio.open_nursery() as nursery:
        settings = {"default_game": chosen.game_type, "rooms_waiting": 6, "observers_per_room": 2, "connections": 20}
        settings |= {"start_piece": None, "seed": seed, "editions": {chosen.game_type: edition}}
        harness = ServerHarness(nursery, None, settings)
        nursery.start_soon(harness.server.timers.run)
        callers = RandomCallers(harness, random.Random(seed))
        for _ in range(steps):
            await callers.act()
            check_lobby(harness)
        await callers.all_hang_up()
        await trio.sleep(1000.0)  # unused reservations expire
        await wait_all_tasks_blocked()
        assert [bug.error for bug in harness.happened(events.InternalError)] == []
        lobby = harness.server.lobby
        assert (lobby.rooms, lobby.waiting, lobby.reservations, lobby.admins) == ({}, {}, {}, {})
        opened, closed = harness.happened(events.ConnectionOpened), harness.happened(events.ConnectionClosed)
        assert len(opened) == len(closed)
        assert harness.server.sessions == {}
        assert len(nursery.child_tasks) == 1  # the task of the timers
        nursery.cancel_scope.cancel()


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("seed", range(examples(2)))
async def test_callers_that_act_at_random(edition: str, seed: int, autojump_clock: object) -> None:
    await run_callers(edition, seed, 400)


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("is_admin", [False, True])
async def test_every_packet_of_every_season_as_the_first_one(
    edition: str, is_admin: bool, autojump_clock: object
) -> None:
    async with trio.open_nursery() as nursery:
        game_type = EDITIONS[edition].game_type
        settings = {"default_game": game_type, "start_piece": None, "editions": {game_type: edition}}
        harness = ServerHarness(nursery, None, settings)
        for request in REQUESTS:
            caller = await harness.call()
            await caller.send("<protocol>")
            if is_admin:
                await caller.send(f'<authenticate password="{PASSWORD}"/>')
            await caller.send(request)
            assert [bug.error for bug in harness.happened(events.InternalError)] == [], request
            await caller.close()
        nursery.cancel_scope.cancel()
