"""Random sequences of connects, requests and departures: the lobby keeps no state of closed rooms."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from spielleiter.protocol.messages import (
    CancelRequest,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Message,
    ObserveRequest,
    PauseRequest,
    PrepareRequest,
    RoomMessage,
    Slot,
    StepRequest,
)
from spielleiter.server.core.room import Phase
from tests.example_counts import examples
from tests.server.room_harness import GAME_TYPE, FakePeer, RoomHarness, first_move


class LobbyMachine(RuleBasedStateMachine):
    """Each rule is an event in the life of a peer or a room; the invariants hold after every rule."""

    def __init__(self) -> None:
        super().__init__()
        self.harness = RoomHarness(rooms_waiting=6, observers_per_room=2)
        self.fake_peers: list[FakePeer] = []
        self.codes: list[str] = []
        self.room_ids: list[str] = ["no room"]
        self.random = random.Random(0)

    def pick(self, index: int) -> FakePeer:
        for fake_peer in self.fake_peers:
            if fake_peer.is_ended:
                fake_peer.leave()  # as a session does after the end of its stream
        self.fake_peers = [fake_peer for fake_peer in self.fake_peers if not fake_peer.is_ended]
        if not self.fake_peers:
            self.fake_peers.append(self.harness.fake_peer("g"))
        return self.fake_peers[index % len(self.fake_peers)]

    def send(self, index: int, request: Message) -> None:
        fake_peer = self.pick(index)
        fake_peer.send(request)
        self.room_ids += [room_id for room_id in self.harness.lobby.rooms if room_id not in self.room_ids]
        self.codes += [code for code in self.harness.lobby.reservations if code not in self.codes]

    def room_id(self, index: int) -> str:
        return self.room_ids[-1 - index % len(self.room_ids)]

    indices = st.integers(0, 7)

    @rule(is_admin=st.booleans())
    def connect(self, is_admin: bool) -> None:
        if len(self.fake_peers) < 12:
            self.fake_peers.append(self.harness.fake_peer("g", is_admin=is_admin))

    @rule(index=indices)
    def leave(self, index: int) -> None:
        fake_peer = self.pick(index)
        fake_peer.end_nowait()
        fake_peer.leave()

    @rule(index=indices)
    def join(self, index: int) -> None:
        self.send(index, JoinRequest(GAME_TYPE))

    @rule(index=indices, slots=st.integers(0, 3), is_reserved=st.booleans(), is_paused=st.booleans())
    def prepare(self, index: int, slots: int, is_reserved: bool, is_paused: bool) -> None:
        self.send(index, PrepareRequest(GAME_TYPE, (Slot("x", is_reserved=is_reserved),) * slots, is_paused))

    @rule(index=indices, code=indices)
    def join_prepared(self, index: int, code: int) -> None:
        self.send(index, JoinPreparedRequest(self.codes[-1 - code % len(self.codes)] if self.codes else None))

    @rule(index=indices, room=indices)
    def join_room(self, index: int, room: int) -> None:
        self.send(index, JoinRoomRequest(self.room_id(room)))

    @rule(index=indices, room=indices)
    def observe(self, index: int, room: int) -> None:
        self.send(index, ObserveRequest(self.room_id(room)))

    @rule(index=indices, room=indices, is_paused=st.booleans())
    def pause(self, index: int, room: int, is_paused: bool) -> None:
        self.send(index, PauseRequest(self.room_id(room), is_paused))

    @rule(index=indices, room=indices, is_forced=st.booleans())
    def step(self, index: int, room: int, is_forced: bool) -> None:
        self.send(index, StepRequest(self.room_id(room), is_forced))

    @rule(index=indices, room=indices)
    def cancel(self, index: int, room: int) -> None:
        self.send(index, CancelRequest(self.room_id(room)))

    @rule(index=indices, room=indices)
    def send_malformed_data(self, index: int, room: int) -> None:
        self.send(index, RoomMessage(self.room_id(room), None))

    @rule(seconds=st.sampled_from([0.5, 3.0, 11.0, 700.0]))
    def time_passes(self, seconds: float) -> None:
        self.harness.advance(seconds)

    @rule(which=indices)
    def side_to_move_plays(self, which: int) -> None:
        running = [room for room in self.harness.lobby.rooms.values() if room.phase is Phase.RUNNING]
        if running:
            room = running[which % len(running)]
            peer = room.player_slots[room.state.seat_on_turn].peer
            fake_peer = next(fake_peer for fake_peer in self.fake_peers if fake_peer.peer is peer)
            fake_peer.moves(room, first_move(room))

    @invariant()
    def nothing_is_left_of_closed_rooms(self) -> None:
        lobby = self.harness.lobby
        assert all(room.phase is not Phase.OVER for room in lobby.rooms.values())
        assert {room_id for room_id, room in lobby.rooms.items() if room.phase is Phase.OPEN} == set(lobby.waiting)
        for code, (room, player_slot) in lobby.reservations.items():
            assert lobby.rooms[room.id] is room
            assert player_slot.reservation == code
            assert player_slot.peer is None
        for room in lobby.rooms.values():
            assert room.phase is Phase.RUNNING or len(room.players) < 2
            assert room.is_prepared or len(room.players) > 0
            for player_slot in room.player_slots:
                assert player_slot.peer is None or player_slot.peer.rooms[room.id] is room
        for fake_peer in self.fake_peers:
            for room in fake_peer.peer.rooms.values():
                assert lobby.rooms[room.id].slot_of(fake_peer.peer) is not None
            for room in fake_peer.peer.observed.values():
                assert fake_peer.peer in lobby.rooms[room.id].observers
        assert all(not admin.sink.is_ended for admin in lobby.admins)  # type: ignore[attr-defined]

    @invariant()
    def one_clock_runs_for_each_pending_request(self) -> None:
        running = [room for room in self.harness.lobby.rooms.values() if room.phase is Phase.RUNNING]
        clocks = sum(room.pending is not None and room.pending.started_at is not None for room in running)
        prepared = sum(self.harness.lobby.rooms[room_id].is_prepared for room_id in self.harness.lobby.waiting)
        assert self.harness.pending_timers == clocks + prepared

    def teardown(self) -> None:
        for fake_peer in self.fake_peers:
            fake_peer.leave()
        self.harness.advance(700.0)
        lobby = self.harness.lobby
        assert (lobby.rooms, lobby.waiting, lobby.reservations, lobby.admins) == ({}, {}, {}, {})
        assert self.harness.pending_timers == 0


TestLobbyMachine = pytest.mark.slow(LobbyMachine.TestCase)
TestLobbyMachine.settings = settings(max_examples=examples(60), stateful_step_count=50)
