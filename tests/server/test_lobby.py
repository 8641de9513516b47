"""The lobby brings together who belongs together, refuses the rest by name, and keeps nothing of what is over."""

from __future__ import annotations

import pytest

from protocol.messages import (
    AuthenticateRequest,
    CancelRequest,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Left,
    Message,
    ObserveRequest,
    PauseRequest,
    PlayerScore,
    PrepareRequest,
    Result,
    ScoreForPlayerRequest,
    Slot,
    StepRequest,
    TestModeRequest,
)
from server import events
from server.errors import Fault, RequestError
from tests.server.playbook import GAME_TYPE, Table


@pytest.fixture
def table() -> Table:
    return Table()


def fault_of(error: RequestError | None) -> Fault | None:
    return None if error is None else error.fault


# -- joining ----------------------------------------------------------------------------------------------------------


def test_two_who_join_play_each_other_and_a_third_waits(table: Table) -> None:
    guests = [table.guest(name) for name in ("one", "two", "three")]
    for guest in guests:
        assert guest.says(JoinRequest(GAME_TYPE)) is None
    assert len(table.lobby.rooms) == 2
    assert list(table.lobby.waiting) == ["id-2"]
    assert guests[0].peer.rooms == guests[1].peer.rooms != guests[2].peer.rooms


def test_a_join_without_game_type_means_the_default_game(table: Table) -> None:
    guest = table.guest("one")
    assert guest.says(JoinRequest(None)) is None
    assert next(iter(guest.peer.rooms.values())).edition.game_type == GAME_TYPE


def test_administrators_hear_of_every_join_after_the_packets_of_the_start(table: Table) -> None:
    admin = table.guest("admin", is_admin=True)
    one = table.guest("one", is_admin=True)
    one.says(JoinRequest(GAME_TYPE))
    two = table.guest("two")
    two.says(JoinRequest(GAME_TYPE))
    assert admin.hears() == ["joinedGameRoom 1 False", "joinedGameRoom 2 True"]
    assert one.hears() == [
        "joined",
        "joinedGameRoom 1 False",
        "welcome 0",
        "state 0",
        "request",
        "joinedGameRoom 2 True",
    ]
    assert two.hears() == ["joined", "welcome 1", "state 0"]


def test_nobody_plays_against_himself(table: Table) -> None:
    guest = table.guest("one")
    guest.says(JoinRequest(GAME_TYPE))
    guest.says(JoinRequest(GAME_TYPE))
    assert len(guest.peer.rooms) == 2


def test_who_plays_several_games_stays_until_the_last_is_over(table: Table) -> None:
    one, two, three = (table.guest(name) for name in ("one", "two", "three"))
    one.says(JoinRequest(GAME_TYPE))
    two.says(JoinRequest(GAME_TYPE))
    one.says(JoinRequest(GAME_TYPE))
    three.says(JoinRequest(GAME_TYPE))
    two.leaves()
    assert not one.is_ended
    three.leaves()
    assert one.is_ended


def test_a_room_is_joined_by_its_id_until_it_is_full(table: Table) -> None:
    admin, one, two, three = table.guest("admin", is_admin=True), *(table.guest(name) for name in "123")
    room_id, codes = table.prepare(admin, Slot("Eins", is_reserved=False), Slot("Zwei", is_reserved=False))
    assert codes == []
    assert one.says(JoinRoomRequest(room_id)) is None
    assert two.says(JoinRoomRequest(room_id)) is None
    assert two.hears() == ["joined", "welcome 1", "state 0"]
    error = three.says(JoinRoomRequest(room_id))
    assert str(error) == f"sc.api.plugins.exceptions.GameRoomException: Room {room_id} is already full!"


def test_reserved_seats_are_not_for_those_who_come_by(table: Table) -> None:
    admin, one, two = table.guest("admin", is_admin=True), table.guest("one"), table.guest("two")
    room_id, _ = table.prepare(admin)
    assert fault_of(one.says(JoinRoomRequest(room_id))) is Fault.ROOM_FULL
    two.says(JoinRequest(GAME_TYPE))
    assert room_id not in two.peer.rooms


def test_a_reservation_is_redeemed_once(table: Table) -> None:
    admin, one, two = table.guest("admin", is_admin=True), table.guest("one"), table.guest("two")
    _, codes = table.prepare(admin)
    assert one.says(JoinPreparedRequest(codes[0])) is None
    assert fault_of(two.says(JoinPreparedRequest(codes[0]))) is Fault.UNKNOWN_RESERVATION
    assert codes[1] in table.lobby.reservations


@pytest.mark.parametrize("code", [None, "", "no such code"])
def test_an_unknown_reservation_is_refused(table: Table, code: str | None) -> None:
    assert fault_of(table.guest("one").says(JoinPreparedRequest(code))) is Fault.UNKNOWN_RESERVATION


def test_nobody_takes_both_reserved_seats(table: Table) -> None:
    admin, one = table.guest("admin", is_admin=True), table.guest("one")
    _, codes = table.prepare(admin)
    one.says(JoinPreparedRequest(codes[0]))
    assert fault_of(one.says(JoinPreparedRequest(codes[1]))) is Fault.UNKNOWN_RESERVATION


def test_an_unknown_game_is_refused_and_the_known_ones_named(table: Table) -> None:
    error = table.guest("one").says(JoinRequest("swc_2020_hive"))
    assert str(error) == (
        "sc.server.plugins.UnknownGameTypeException: Unknown GameType UUID: swc_2020_hive (available: swc_2021_blokus)"
    )


# -- administrators ---------------------------------------------------------------------------------------------------


def test_the_right_password_makes_an_administrator_and_is_not_answered(table: Table) -> None:
    guest = table.guest("admin")
    assert guest.says(AuthenticateRequest("secret")) is None
    assert guest.says(AuthenticateRequest("secret")) is None
    assert guest.peer.is_admin
    assert guest.hears() == []
    assert len(table.happened(events.AdminAuthenticated)) == 1


@pytest.mark.parametrize("password", [None, "", "Secret", "geheim", "\ud800"])
def test_a_wrong_password_is_refused(table: Table, password: str | None) -> None:
    guest = table.guest("admin")
    assert fault_of(guest.says(AuthenticateRequest(password))) is Fault.WRONG_PASSWORD
    assert not guest.peer.is_admin


@pytest.mark.parametrize("password", ["", "examplepassword"])
def test_without_a_password_of_its_own_nobody_becomes_an_administrator_and_is_told_why(password: str) -> None:
    guest = Table(password=None).guest("admin")
    error = guest.says(AuthenticateRequest(password))
    assert fault_of(error) is Fault.WRONG_PASSWORD
    assert str(error).endswith("has the well-known password: choose another one (--password)")
    assert not guest.peer.is_admin


@pytest.mark.parametrize(
    "request_",
    [
        PrepareRequest(GAME_TYPE, (Slot("a"), Slot("b"))),
        ObserveRequest("x"),
        PauseRequest("x", True),
        StepRequest("x"),
        CancelRequest("x"),
        TestModeRequest(True),
        ScoreForPlayerRequest("a"),
    ],
    ids=lambda request: type(request).__name__,
)
def test_commands_are_for_administrators(table: Table, request_: Message) -> None:
    assert fault_of(table.guest("one").says(request_)) is Fault.UNAUTHENTICATED
    assert table.lobby.rooms == {}


@pytest.mark.parametrize(
    "request_", [ObserveRequest("x"), PauseRequest("x", True), StepRequest(None), CancelRequest(None)]
)
def test_commands_for_an_unknown_room_are_refused(table: Table, request_: Message) -> None:
    assert fault_of(table.guest("admin", is_admin=True).says(request_)) is Fault.UNKNOWN_ROOM


def test_packets_only_a_server_sends_are_refused_by_name(table: Table) -> None:
    error = table.guest("one").says(Left("x"))
    assert str(error).endswith("Unhandled Packet of type: class sc.protocol.RemovedFromGame")


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        ((), "2 slots, this request has 0"),
        ((Slot("a"),), "2 slots, this request has 1"),
        ((Slot("a"), Slot("b"), Slot("c")), "2 slots, this request has 3"),
        ((Slot("a"), Slot(None)), "Slot 2 of this request has no displayName"),
    ],
)
def test_a_game_that_cannot_be_prepared_leaves_no_room(table: Table, slots: tuple[Slot, ...], said: str) -> None:
    error = table.guest("admin", is_admin=True).says(PrepareRequest(GAME_TYPE, slots))
    assert fault_of(error) is Fault.BAD_SLOTS
    assert said in str(error)
    assert (table.lobby.rooms, table.lobby.reservations, table.pending_alarms) == ({}, {}, 0)


def test_the_release_opens_the_second_seat_of_a_single_slot_to_anyone() -> None:
    table = Table("blokus-2021-21.4.0")
    admin, one, two = table.guest("admin", is_admin=True), table.guest("one"), table.guest("two")
    room_id, codes = table.prepare(admin, Slot("Eins"))
    one.says(JoinPreparedRequest(codes[0]))
    two.says(JoinRequest(GAME_TYPE))
    assert two.peer.rooms.keys() == {room_id}


def test_a_prepared_game_nobody_comes_to_is_given_up(table: Table) -> None:
    admin, one = table.guest("admin", is_admin=True), table.guest("one")
    _, codes = table.prepare(admin)
    one.says(JoinPreparedRequest(codes[0]))
    table.advance(599.0)
    assert len(table.lobby.rooms) == 1
    table.advance(1.0)
    assert (table.lobby.rooms, table.lobby.reservations) == ({}, {})
    assert one.hears() == ["joined", "left", "end of stream"]
    assert sum(isinstance(each, events.ReservationExpired) for each in table.happenings) == 1


def test_a_game_that_has_begun_is_not_given_up(table: Table) -> None:
    room, *_ = table.game()
    for chair in room.chairs:
        chair.clock.abandon()
    assert table.pending_alarms == 1  # the hard limit's; that of the reservation is gone


# -- limits -----------------------------------------------------------------------------------------------------------


def test_no_more_rooms_wait_than_allowed() -> None:
    table = Table(rooms_waiting=1)
    admin = table.guest("admin", is_admin=True)
    table.prepare(admin)
    error = table.guest("one").says(JoinRequest(GAME_TYPE))
    assert fault_of(error) is Fault.ROOMS_WAITING
    assert len(table.lobby.rooms) == 1


@pytest.mark.parametrize("kind", [JoinRequest, JoinRoomRequest, JoinPreparedRequest])
def test_no_connection_has_more_seats_than_allowed_but_an_administrator_s(kind: type[Message]) -> None:
    table = Table(seats_per_connection=2)
    admin, greedy = table.guest("admin", is_admin=True), table.guest("greedy")
    for _ in range(5):
        assert admin.says(JoinRequest(GAME_TYPE)) is None  # it may prepare as many rooms as it likes, anyway
    assert len(admin.peer.rooms) == 5
    for _ in range(2):
        assert greedy.says(JoinRequest(GAME_TYPE)) is None
    room_id, (code,) = table.prepare(admin, Slot("Eins"), Slot("Zwei", is_reserved=False))
    requests: dict[type[Message], Message] = {
        JoinRequest: JoinRequest(GAME_TYPE),
        JoinRoomRequest: JoinRoomRequest(room_id),
        JoinPreparedRequest: JoinPreparedRequest(code),
    }
    rooms = set(table.lobby.rooms) - set(greedy.peer.rooms)
    assert fault_of(greedy.says(requests[kind])) is Fault.SEATS_PER_CONNECTION
    assert set(table.lobby.rooms) == rooms
    assert set(table.lobby.reservations) == {code}


def test_no_more_observers_than_allowed() -> None:
    table = Table(observers_per_room=1)
    room, admin, *_ = table.game()
    assert admin.says(ObserveRequest(room.id)) is None
    assert fault_of(table.guest("late", is_admin=True).says(ObserveRequest(room.id))) is Fault.OBSERVERS_PER_ROOM


# -- test mode --------------------------------------------------------------------------------------------------------


def test_scores_are_kept_in_test_mode(table: Table) -> None:
    admin = table.guest("admin", is_admin=True)
    assert admin.says(TestModeRequest(True)) is None
    assert admin.hears() == ["testing"]
    table.lobby.scores.add(_result(table))
    assert admin.says(ScoreForPlayerRequest("Eins")) is None
    score = admin.last_message
    assert isinstance(score, PlayerScore)
    assert (score.display_name, score.number_of_tests) == ("Eins", 1)


def _result(table: Table) -> Result:
    room, _, _, two = table.game()
    two.leaves()
    result = room.record[-1]
    assert isinstance(result, Result)
    return result


def test_a_score_nobody_has_is_refused(table: Table) -> None:
    error = table.guest("admin", is_admin=True).says(ScoreForPlayerRequest("Niemand"))
    assert fault_of(error) is Fault.UNKNOWN_PLAYER
