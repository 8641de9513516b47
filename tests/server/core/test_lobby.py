"""The lobby matches players, refuses other requests with a reason, and keeps nothing of finished games."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from spielleiter.protocol.messages import (
    AuthenticateRequest,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Message,
    Slot,
)
from spielleiter.server import events
from spielleiter.server.core.lobby import id_source, start_source
from spielleiter.server.errors import Fault, RequestError
from tests.server.room_harness import GAME_TYPE, FakePeer, RoomHarness


@pytest.fixture
def harness() -> RoomHarness:
    return RoomHarness()


def fault_of(error: RequestError | None) -> Fault | None:
    return None if error is None else error.fault


# -- joining ----------------------------------------------------------------------------------------------------------


def test_two_players_that_join_play_each_other_and_a_third_waits(harness: RoomHarness) -> None:
    fake_peers = [harness.fake_peer(name) for name in ("one", "two", "three")]
    for fake_peer in fake_peers:
        assert fake_peer.send(JoinRequest(GAME_TYPE)) is None
    assert fake_peers[2].send(JoinRequest(GAME_TYPE)) is None  # it never plays against itself
    assert len(harness.lobby.rooms) == 3
    assert list(harness.lobby.waiting) == ["id-2", "id-3"]
    assert fake_peers[0].peer.rooms == fake_peers[1].peer.rooms != fake_peers[2].peer.rooms


def test_administrators_are_told_of_every_join_after_the_packets_of_the_start(harness: RoomHarness) -> None:
    admin = harness.fake_peer("admin", is_admin=True)
    one = harness.fake_peer("one", is_admin=True)
    one.send(JoinRequest(GAME_TYPE))
    two = harness.fake_peer("two")
    two.send(JoinRequest(GAME_TYPE))
    assert admin.receive() == ["joinedGameRoom 1 False", "joinedGameRoom 2 True"]
    assert one.receive() == [
        "joined",
        "joinedGameRoom 1 False",
        "welcome 0",
        "state 0",
        "request",
        "joinedGameRoom 2 True",
    ]
    assert two.receive() == ["joined", "welcome 1", "state 0"]


@pytest.mark.parametrize("is_paused", [False, True])
def test_joined_games_start_paused_if_the_operator_wants_that(is_paused: bool) -> None:
    room, *_ = RoomHarness(is_paused=is_paused).joined_game()
    assert room.is_paused is is_paused


def test_a_player_in_several_games_stays_until_the_last_is_over(harness: RoomHarness) -> None:
    one, two, three = (harness.fake_peer(name) for name in ("one", "two", "three"))
    one.send(JoinRequest(GAME_TYPE))
    two.send(JoinRequest(GAME_TYPE))
    one.send(JoinRequest(GAME_TYPE))
    three.send(JoinRequest(GAME_TYPE))
    two.leave()
    assert not one.is_ended
    three.leave()
    assert one.is_ended


def test_a_room_can_be_joined_by_its_id_until_it_is_full(harness: RoomHarness) -> None:
    admin, one, two, three = harness.fake_peer("admin", is_admin=True), *(harness.fake_peer(name) for name in "123")
    room_id, codes = harness.prepare(admin, Slot("Eins", is_reserved=False), Slot("Zwei", is_reserved=False))
    assert codes == []
    assert one.send(JoinRoomRequest(room_id)) is None
    assert two.send(JoinRoomRequest(room_id)) is None
    assert two.receive() == ["joined", "welcome 1", "state 0"]
    error = three.send(JoinRoomRequest(room_id))
    assert str(error) == f"sc.api.plugins.exceptions.GameRoomException: Room {room_id} is already full!"


def test_reserved_seats_are_not_given_to_plain_joins(harness: RoomHarness) -> None:
    admin, one, two = harness.peers()
    room_id, _ = harness.prepare(admin)
    assert fault_of(one.send(JoinRoomRequest(room_id))) is Fault.ROOM_FULL
    two.send(JoinRequest(GAME_TYPE))
    assert room_id not in two.peer.rooms


def test_a_reservation_can_be_used_once_and_a_peer_cannot_take_both_seats(harness: RoomHarness) -> None:
    admin, one, two = harness.peers()
    _, codes = harness.prepare(admin)
    assert one.send(JoinPreparedRequest(codes[0])) is None
    assert fault_of(two.send(JoinPreparedRequest(codes[0]))) is Fault.UNKNOWN_RESERVATION
    assert list(harness.lobby.reservations) == [codes[1]]
    assert fault_of(one.send(JoinPreparedRequest(codes[1]))) is Fault.UNKNOWN_RESERVATION


# -- administrators ---------------------------------------------------------------------------------------------------


def test_the_right_password_makes_an_administrator_without_a_reply(harness: RoomHarness) -> None:
    fake_peer = harness.fake_peer("admin")
    assert fake_peer.send(AuthenticateRequest("secret")) is None
    assert fake_peer.send(AuthenticateRequest("secret")) is None
    assert fake_peer.peer.is_admin
    assert fake_peer.receive() == []
    assert len(harness.happened(events.AdminAuthenticated)) == 1


@pytest.mark.parametrize("password", [None, "", "Secret", "geheim", "\ud800"])
def test_a_wrong_password_is_refused(harness: RoomHarness, password: str | None) -> None:
    fake_peer = harness.fake_peer("admin")
    assert fault_of(fake_peer.send(AuthenticateRequest(password))) is Fault.WRONG_PASSWORD
    assert not fake_peer.peer.is_admin


@pytest.mark.parametrize("password", ["", "examplepassword"])
def test_a_server_without_its_own_password_refuses_administrators_with_the_reason(password: str) -> None:
    fake_peer = RoomHarness(password="examplepassword", host="0.0.0.0").fake_peer("admin")
    error = fake_peer.send(AuthenticateRequest(password))
    assert fault_of(error) is Fault.WRONG_PASSWORD
    assert str(error).endswith("has the well-known password: choose another one (--password)")
    assert not fake_peer.peer.is_admin


@pytest.mark.parametrize("settings", [{}, {"password": "examplepassword", "host": "0.0.0.0"}])
def test_the_secret_of_the_viewer_makes_an_administrator_too(settings: dict[str, Any]) -> None:
    harness = RoomHarness(**settings)
    assert fault_of(harness.fake_peer("early").send(AuthenticateRequest("geheim"))) is Fault.WRONG_PASSWORD
    harness.lobby.viewer_secret = "geheim"
    viewer = harness.fake_peer("viewer")
    assert viewer.send(AuthenticateRequest("geheim")) is None
    assert viewer.peer.is_admin
    assert harness.happened(events.AdminAuthenticated) == []  # nobody whom an operator would look for
    assert fault_of(harness.fake_peer("late").send(AuthenticateRequest("geheim1"))) is Fault.WRONG_PASSWORD


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [JoinRequest, JoinRoomRequest, JoinPreparedRequest])
def test_the_seats_of_a_connection_are_limited_except_for_administrators(kind: type[Message]) -> None:
    harness = RoomHarness(seats_per_connection=2)
    admin, greedy = harness.fake_peer("admin", is_admin=True), harness.fake_peer("greedy")
    for _ in range(5):
        assert admin.send(JoinRequest(GAME_TYPE)) is None  # it may prepare any number of rooms anyway
    assert len(admin.peer.rooms) == 5
    for _ in range(2):
        assert greedy.send(JoinRequest(GAME_TYPE)) is None
    room_id, (code,) = harness.prepare(admin, Slot("Eins"), Slot("Zwei", is_reserved=False))
    requests: dict[type[Message], Message] = {
        JoinRequest: JoinRequest(GAME_TYPE),
        JoinRoomRequest: JoinRoomRequest(room_id),
        JoinPreparedRequest: JoinPreparedRequest(code),
    }
    rooms = set(harness.lobby.rooms) - set(greedy.peer.rooms)
    assert fault_of(greedy.send(requests[kind])) is Fault.SEATS_PER_CONNECTION
    assert set(harness.lobby.rooms) == rooms
    assert set(harness.lobby.reservations) == {code}


# -- leaving ----------------------------------------------------------------------------------------------------------


IDLE = JoinRequest("swc_2027_blokus")


@pytest.mark.parametrize(
    ("act", "is_ended"),
    [
        (lambda _one: None, True),
        (lambda one: setattr(one.peer, "packets_received", 1), False),  # as a session counts them
        (lambda one: one.send(IDLE), False),
    ],
    ids=["silent", "sends", "plays again"],
)
def test_an_idle_timeout_ends_a_player_that_neither_sends_a_packet_nor_plays_again(
    act: Callable[[FakePeer], object], is_ended: bool
) -> None:
    harness = RoomHarness("blokus-2027", idle_timeout=60.0)
    one, two = harness.fake_peer("one"), harness.fake_peer("two")
    for fake_peer in (one, two):
        fake_peer.send(IDLE)
    two.leave()
    harness.advance(59.9)
    assert not one.is_ended
    act(one)
    harness.advance(0.2)
    assert one.is_ended is is_ended


def test_each_game_starts_the_idle_timeout_again_and_leaving_cancels_it() -> None:
    harness = RoomHarness("blokus-2027", idle_timeout=60.0)
    one = harness.fake_peer("one")
    for _ in range(2):
        two = harness.fake_peer("two")
        for fake_peer in (one, two):
            fake_peer.send(IDLE)
        two.leave()
        assert harness.pending_timers == 1
        harness.advance(59.0)
    assert not one.is_ended
    one.leave()
    assert harness.pending_timers == 0


# -- ids and starts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "seeds_ids"), [(None, True), (5, False), (5, True)])
def test_ids_are_secret_unless_the_operator_seeds_them(seed: int | None, seeds_ids: bool) -> None:
    new_id, same_id = id_source(seed, seeds_ids=seeds_ids), id_source(seed, seeds_ids=seeds_ids)
    ids, others = [new_id(), new_id()], [same_id(), same_id()]
    assert len(set(ids)) == 2
    assert {uuid.UUID(each).version for each in ids} == {4}
    assert (ids == others) is (seed is not None and seeds_ids)


def test_starting_positions_follow_from_the_seed() -> None:
    new_rng, same_rng = start_source(5), start_source(5)
    draws = [new_rng().random() for _ in range(3)]
    assert draws == [same_rng().random() for _ in range(3)]
    assert len(set(draws)) == 3
    assert start_source(None)().random() != start_source(None)().random()
