"""The lobby matches players, refuses other requests with a reason, and keeps nothing of finished games."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from spielleiter.protocol.messages import (
    AuthenticateRequest,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Message,
    ObserveRequest,
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
    assert len(harness.lobby.rooms) == 2
    assert list(harness.lobby.waiting) == ["id-2"]
    assert fake_peers[0].member.rooms == fake_peers[1].member.rooms != fake_peers[2].member.rooms


def test_a_join_without_a_game_type_opens_the_default_game(harness: RoomHarness) -> None:
    fake_peer = harness.fake_peer("one")
    assert fake_peer.send(JoinRequest(None)) is None
    assert next(iter(fake_peer.member.rooms.values())).edition.game_type == GAME_TYPE


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


def test_a_player_never_plays_against_itself(harness: RoomHarness) -> None:
    fake_peer = harness.fake_peer("one")
    fake_peer.send(JoinRequest(GAME_TYPE))
    fake_peer.send(JoinRequest(GAME_TYPE))
    assert len(fake_peer.member.rooms) == 2


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
    assert room_id not in two.member.rooms


def test_a_reservation_can_be_used_once(harness: RoomHarness) -> None:
    admin, one, two = harness.peers()
    _, codes = harness.prepare(admin)
    assert one.send(JoinPreparedRequest(codes[0])) is None
    assert fault_of(two.send(JoinPreparedRequest(codes[0]))) is Fault.UNKNOWN_RESERVATION
    assert codes[1] in harness.lobby.reservations


@pytest.mark.parametrize("code", [None, "", "no such code"])
def test_an_unknown_reservation_is_refused(harness: RoomHarness, code: str | None) -> None:
    assert fault_of(harness.fake_peer("one").send(JoinPreparedRequest(code))) is Fault.UNKNOWN_RESERVATION


def test_one_peer_cannot_take_both_reserved_seats(harness: RoomHarness) -> None:
    admin, one = harness.fake_peer("admin", is_admin=True), harness.fake_peer("one")
    _, codes = harness.prepare(admin)
    one.send(JoinPreparedRequest(codes[0]))
    assert fault_of(one.send(JoinPreparedRequest(codes[1]))) is Fault.UNKNOWN_RESERVATION


def test_an_unknown_game_is_refused_with_the_known_ones(harness: RoomHarness) -> None:
    error = harness.fake_peer("one").send(JoinRequest("swc_2020_hive"))
    assert str(error) == (
        "sc.server.plugins.UnknownGameTypeException: Unknown GameType UUID: swc_2020_hive (available: swc_2021_blokus)"
    )


# -- administrators ---------------------------------------------------------------------------------------------------


def test_the_right_password_makes_an_administrator_without_a_reply(harness: RoomHarness) -> None:
    fake_peer = harness.fake_peer("admin")
    assert fake_peer.send(AuthenticateRequest("secret")) is None
    assert fake_peer.send(AuthenticateRequest("secret")) is None
    assert fake_peer.member.is_admin
    assert fake_peer.receive() == []
    assert len(harness.happened(events.AdminAuthenticated)) == 1


@pytest.mark.parametrize("password", [None, "", "Secret", "geheim", "\ud800"])
def test_a_wrong_password_is_refused(harness: RoomHarness, password: str | None) -> None:
    fake_peer = harness.fake_peer("admin")
    assert fault_of(fake_peer.send(AuthenticateRequest(password))) is Fault.WRONG_PASSWORD
    assert not fake_peer.member.is_admin


@pytest.mark.parametrize("password", ["", "examplepassword"])
def test_a_server_without_its_own_password_refuses_administrators_with_the_reason(password: str) -> None:
    fake_peer = RoomHarness(password="examplepassword", host="0.0.0.0").fake_peer("admin")
    error = fake_peer.send(AuthenticateRequest(password))
    assert fault_of(error) is Fault.WRONG_PASSWORD
    assert str(error).endswith("has the well-known password: choose another one (--password)")
    assert not fake_peer.member.is_admin


def test_a_prepared_game_expires_if_nobody_joins(harness: RoomHarness) -> None:
    admin, one = harness.fake_peer("admin", is_admin=True), harness.fake_peer("one")
    _, codes = harness.prepare(admin)
    one.send(JoinPreparedRequest(codes[0]))
    harness.advance(599.0)
    assert len(harness.lobby.rooms) == 1
    harness.advance(1.0)
    assert (harness.lobby.rooms, harness.lobby.reservations) == ({}, {})
    assert one.receive() == ["joined", "result REGULAR REGULAR 00 winners []", "left", "end of stream"]
    assert sum(isinstance(each, events.ReservationExpired) for each in harness.server_events) == 1


def test_a_game_that_has_started_does_not_expire(harness: RoomHarness) -> None:
    room, *_ = harness.game()
    for player_slot in room.player_slots:
        player_slot.clock.abandon()
    assert harness.pending_timers == 1  # for the hard limit; the reservation's timer was cancelled


# -- limits -----------------------------------------------------------------------------------------------------------


def test_the_number_of_waiting_rooms_is_limited() -> None:
    harness = RoomHarness(rooms_waiting=1)
    admin = harness.fake_peer("admin", is_admin=True)
    harness.prepare(admin)
    error = harness.fake_peer("one").send(JoinRequest(GAME_TYPE))
    assert fault_of(error) is Fault.ROOMS_WAITING
    assert len(harness.lobby.rooms) == 1


@pytest.mark.parametrize("kind", [JoinRequest, JoinRoomRequest, JoinPreparedRequest])
def test_the_seats_of_a_connection_are_limited_except_for_administrators(kind: type[Message]) -> None:
    harness = RoomHarness(seats_per_connection=2)
    admin, greedy = harness.fake_peer("admin", is_admin=True), harness.fake_peer("greedy")
    for _ in range(5):
        assert admin.send(JoinRequest(GAME_TYPE)) is None  # it may prepare any number of rooms anyway
    assert len(admin.member.rooms) == 5
    for _ in range(2):
        assert greedy.send(JoinRequest(GAME_TYPE)) is None
    room_id, (code,) = harness.prepare(admin, Slot("Eins"), Slot("Zwei", is_reserved=False))
    requests: dict[type[Message], Message] = {
        JoinRequest: JoinRequest(GAME_TYPE),
        JoinRoomRequest: JoinRoomRequest(room_id),
        JoinPreparedRequest: JoinPreparedRequest(code),
    }
    rooms = set(harness.lobby.rooms) - set(greedy.member.rooms)
    assert fault_of(greedy.send(requests[kind])) is Fault.SEATS_PER_CONNECTION
    assert set(harness.lobby.rooms) == rooms
    assert set(harness.lobby.reservations) == {code}


# -- leaving ----------------------------------------------------------------------------------------------------------


def test_a_member_knows_the_rooms_in_which_it_plays_and_those_that_it_observes() -> None:
    harness = RoomHarness()
    room, admin, one, _ = harness.game()
    assert (one.member.rooms, one.member.observed) == ({room.id: room}, {})
    assert (admin.member.rooms, admin.member.observed) == ({}, {room.id: room})
    room.cancel()
    assert (one.member.rooms, admin.member.observed) == ({}, {})


def test_a_dropped_member_is_forgotten() -> None:
    harness = RoomHarness()
    fake_peer = harness.fake_peer("one")
    assert fake_peer.send(AuthenticateRequest("secret")) is None
    assert fake_peer.send(JoinRequest(GAME_TYPE)) is None
    (room_id,) = fake_peer.member.rooms
    assert fake_peer.send(ObserveRequest(room_id)) is None
    for _ in range(2):
        harness.lobby.drop(fake_peer.member)
        assert (harness.lobby.members, harness.lobby.admins, harness.lobby.rooms) == ({}, {}, {})
        assert (fake_peer.member.rooms, fake_peer.member.observed) == ({}, {})


IDLE = JoinRequest("swc_2027_blokus")


@pytest.mark.parametrize(
    ("act", "is_ended"),
    [
        (lambda _one: None, True),
        (lambda one: setattr(one.member, "packets_received", 1), False),  # as a session counts them
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


@pytest.mark.parametrize(("seed", "seeds_ids"), [(None, True), (5, False)])
def test_ids_are_secret_unless_the_operator_seeds_them(seed: int | None, seeds_ids: bool) -> None:
    new_id, same_id = id_source(seed, seeds_ids=seeds_ids), id_source(seed, seeds_ids=seeds_ids)
    ids = [new_id(), new_id(), same_id(), same_id()]
    assert len(set(ids)) == 4
    assert {uuid.UUID(each).version for each in ids} == {4}


def test_ids_from_a_seed_are_the_same_in_every_run() -> None:
    new_id, same_id = id_source(5, seeds_ids=True), id_source(5, seeds_ids=True)
    assert [new_id() for _ in range(3)] == [same_id() for _ in range(3)]
    assert new_id() != new_id()


def test_starting_positions_follow_from_the_seed() -> None:
    new_rng, same_rng = start_source(5), start_source(5)
    draws = [new_rng().random() for _ in range(3)]
    assert draws == [same_rng().random() for _ in range(3)]
    assert len(set(draws)) == 3
    assert start_source(None)().random() != start_source(None)().random()
