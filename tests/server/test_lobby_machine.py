"""Guests come, do whatever they like in any order, and go: nothing is left of what is over."""

from __future__ import annotations

import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from protocol.messages import (
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
from server.room import Phase
from tests.effort import examples
from tests.server.playbook import GAME_TYPE, Guest, Table, first_move


class LobbyMachine(RuleBasedStateMachine):
    """Guests come, do whatever they like in any order, and go: whatever is over leaves no trace."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Table(rooms_waiting=6, observers_per_room=2)
        self.guests: list[Guest] = []
        self.codes: list[str] = []
        self.room_ids: list[str] = ["no room"]
        self.random = random.Random(0)

    def pick(self, index: int) -> Guest:
        self.guests = [guest for guest in self.guests if not guest.is_ended]
        if not self.guests:
            self.guests.append(self.table.guest("g"))
        return self.guests[index % len(self.guests)]

    def tell(self, index: int, request: Message) -> None:
        guest = self.pick(index)
        guest.says(request)
        self.room_ids += [room_id for room_id in self.table.lobby.rooms if room_id not in self.room_ids]
        self.codes += [code for code in self.table.lobby.reservations if code not in self.codes]

    def room_id(self, index: int) -> str:
        return self.room_ids[-1 - index % len(self.room_ids)]

    indices = st.integers(0, 7)

    @rule(is_admin=st.booleans())
    def come(self, is_admin: bool) -> None:
        if len(self.guests) < 12:
            self.guests.append(self.table.guest("g", is_admin=is_admin))

    @rule(index=indices)
    def go(self, index: int) -> None:
        guest = self.pick(index)
        guest.end_nowait()
        guest.leaves()

    @rule(index=indices)
    def join(self, index: int) -> None:
        self.tell(index, JoinRequest(GAME_TYPE))

    @rule(index=indices, slots=st.integers(0, 3), is_reserved=st.booleans(), is_paused=st.booleans())
    def prepare(self, index: int, slots: int, is_reserved: bool, is_paused: bool) -> None:
        self.tell(index, PrepareRequest(GAME_TYPE, (Slot("x", is_reserved=is_reserved),) * slots, is_paused))

    @rule(index=indices, code=indices)
    def redeem(self, index: int, code: int) -> None:
        self.tell(index, JoinPreparedRequest(self.codes[-1 - code % len(self.codes)] if self.codes else None))

    @rule(index=indices, room=indices)
    def join_room(self, index: int, room: int) -> None:
        self.tell(index, JoinRoomRequest(self.room_id(room)))

    @rule(index=indices, room=indices)
    def observe(self, index: int, room: int) -> None:
        self.tell(index, ObserveRequest(self.room_id(room)))

    @rule(index=indices, room=indices, is_paused=st.booleans())
    def pause(self, index: int, room: int, is_paused: bool) -> None:
        self.tell(index, PauseRequest(self.room_id(room), is_paused))

    @rule(index=indices, room=indices, is_forced=st.booleans())
    def step(self, index: int, room: int, is_forced: bool) -> None:
        self.tell(index, StepRequest(self.room_id(room), is_forced))

    @rule(index=indices, room=indices)
    def cancel(self, index: int, room: int) -> None:
        self.tell(index, CancelRequest(self.room_id(room)))

    @rule(index=indices, room=indices)
    def nonsense(self, index: int, room: int) -> None:
        self.tell(index, RoomMessage(self.room_id(room), None))

    @rule(seconds=st.sampled_from([0.5, 3.0, 11.0, 700.0]))
    def time_passes(self, seconds: float) -> None:
        self.table.advance(seconds)

    @rule(which=indices)
    def whoever_is_on_turn_moves(self, which: int) -> None:
        running = [room for room in self.table.lobby.rooms.values() if room.phase is Phase.RUNNING]
        if running:
            room = running[which % len(running)]
            peer = room.chairs[room.state.seat_on_turn].peer
            guest = next(guest for guest in self.guests if guest.peer is peer)
            guest.moves(room, first_move(room))

    @invariant()
    def nothing_is_left_of_what_is_over(self) -> None:
        lobby = self.table.lobby
        assert all(room.phase is not Phase.OVER for room in lobby.rooms.values())
        assert {room_id for room_id, room in lobby.rooms.items() if room.phase is Phase.OPEN} == set(lobby.waiting)
        for code, (room, chair) in lobby.reservations.items():
            assert lobby.rooms[room.id] is room
            assert chair.reservation == code
            assert chair.peer is None
        for room in lobby.rooms.values():
            assert room.phase is Phase.RUNNING or room.player_count < 2
            assert room.is_prepared or room.player_count > 0
            for chair in room.chairs:
                assert chair.peer is None or chair.peer.rooms[room.id] is room
        for guest in self.guests:
            for room in guest.peer.rooms.values():
                assert lobby.rooms[room.id].chair_of(guest.peer) is not None
            for room in guest.peer.observed.values():
                assert guest.peer in lobby.rooms[room.id].observers
        assert all(not admin.sink.is_ended for admin in lobby.admins)  # type: ignore[attr-defined]

    @invariant()
    def one_clock_runs_for_each_pending_request(self) -> None:
        running = [room for room in self.table.lobby.rooms.values() if room.phase is Phase.RUNNING]
        clocks = sum(chair.clock.is_running for room in running for chair in room.chairs)
        prepared = sum(self.table.lobby.rooms[room_id].is_prepared for room_id in self.table.lobby.waiting)
        assert self.table.pending_alarms == clocks + prepared

    def teardown(self) -> None:
        for guest in self.guests:
            guest.leaves()
        self.table.advance(700.0)
        lobby = self.table.lobby
        assert (lobby.rooms, lobby.waiting, lobby.reservations, lobby.admins) == ({}, {}, {}, {})
        assert self.table.pending_alarms == 0


TestLobbyMachine = pytest.mark.slow(LobbyMachine.TestCase)
TestLobbyMachine.settings = settings(max_examples=examples(60), stateful_step_count=50)
