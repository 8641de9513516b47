"""Each request has one handler, in the table of those who may send it; a refused one has no effect."""

from __future__ import annotations

from typing import get_args

import pytest

from spielleiter.protocol.messages import (
    CancelRequest,
    CloseConnection,
    Event,
    Joined,
    JoinPreparedRequest,
    JoinRequest,
    Left,
    Message,
    ObserveRequest,
    PauseRequest,
    PlayerScore,
    PrepareRequest,
    Request,
    Result,
    RoomMessage,
    ScoreForPlayerRequest,
    Slot,
    StepRequest,
    TestModeRequest,
)
from spielleiter.server.core.clock import UNLIMITED, Arrival
from spielleiter.server.core.dispatch import FOR_ADMINS, FOR_ANYONE, complete_request, dispatch
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import Fault, RequestError
from tests.server.room_harness import GAME_TYPE, LIMITS, RoomHarness

SERVER_PACKETS: list[Message] = [Joined("x"), Left("x")]
NAMED = Slot("Eins", given=frozenset({"displayName"}))


@pytest.fixture
def harness() -> RoomHarness:
    return RoomHarness()


def fault_of(error: RequestError | None) -> Fault | None:
    return None if error is None else error.fault


# -- who may send what ------------------------------------------------------------------------------------------------


def test_every_request_of_an_edition_has_exactly_one_handler() -> None:
    known = {kind for edition in EDITIONS.values() for kind in edition.dialect.writers} & set(get_args(Request))
    assert set(FOR_ANYONE) | set(FOR_ADMINS) == known
    assert set(FOR_ANYONE) & set(FOR_ADMINS) == set()


def test_packets_that_only_a_server_sends_have_no_handler() -> None:
    assert (set(FOR_ANYONE) | set(FOR_ADMINS)) & (set(get_args(Event)) | {CloseConnection, RoomMessage}) == set()


@pytest.mark.parametrize("message", SERVER_PACKETS, ids=lambda message: type(message).__name__)
def test_packets_that_only_a_server_sends_are_refused_even_from_administrators(message: Message) -> None:
    harness = RoomHarness()
    for fake_peer in (harness.fake_peer("one"), harness.fake_peer("admin", is_admin=True)):
        with pytest.raises(RequestError, match="Unhandled Packet of type") as caught:
            dispatch(harness.lobby, fake_peer.member, message, Arrival(0.0), 0.0)
        assert caught.value.fault is Fault.SERVER_PACKET


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
def test_commands_are_for_administrators_only(harness: RoomHarness, request_: Message) -> None:
    assert fault_of(harness.fake_peer("one").send(request_)) is Fault.UNAUTHENTICATED
    assert harness.lobby.rooms == {}


@pytest.mark.parametrize(
    "request_", [ObserveRequest("x"), PauseRequest("x", True), StepRequest(None), CancelRequest("x")]
)
def test_commands_for_an_unknown_room_are_refused(harness: RoomHarness, request_: Message) -> None:
    assert fault_of(harness.fake_peer("admin", is_admin=True).send(request_)) is Fault.UNKNOWN_ROOM


def test_cancelling_no_room_is_a_fault_of_its_own(harness: RoomHarness) -> None:
    refused = harness.fake_peer("admin", is_admin=True).send(CancelRequest(None))
    assert fault_of(refused) is Fault.NO_ROOM_ID
    assert "Couldn't find a room with id null" in str(refused)


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ((), "2 slots, this request has 0"),
        ((Slot("a"),), "2 slots, this request has 1"),
        ((Slot("a"), Slot("b"), Slot("c")), "2 slots, this request has 3"),
        ((Slot("x", given=frozenset({"unknown", "reserved"})),) * 1000, "this request has 1000"),
        ((Slot("a"), Slot(None)), "Slot 2 of this request has no displayName"),
    ],
)
def test_a_game_that_cannot_be_prepared_leaves_no_room(
    harness: RoomHarness, slots: tuple[Slot, ...], message: str
) -> None:
    error = harness.fake_peer("admin", is_admin=True).send(PrepareRequest(GAME_TYPE, slots))
    assert fault_of(error) is Fault.BAD_SLOTS
    assert message in str(error)
    assert (harness.lobby.rooms, harness.lobby.reservations, harness.pending_timers) == ({}, {}, 0)


def test_the_release_opens_the_second_seat_of_a_single_slot_game_to_anyone() -> None:
    harness = RoomHarness("blokus-2021-21.4.0")
    admin, one, two = harness.peers()
    room_id, codes = harness.prepare(admin, Slot("Eins"))
    one.send(JoinPreparedRequest(codes[0]))
    two.send(JoinRequest(GAME_TYPE))
    assert two.member.rooms.keys() == {room_id}


def test_the_number_of_observers_is_limited() -> None:
    harness = RoomHarness(observers_per_room=1)
    room, admin, *_ = harness.game()
    assert admin.send(ObserveRequest(room.id)) is None
    assert fault_of(harness.fake_peer("late", is_admin=True).send(ObserveRequest(room.id))) is Fault.OBSERVERS_PER_ROOM


def test_scores_are_kept_in_test_mode(harness: RoomHarness) -> None:
    admin = harness.fake_peer("admin", is_admin=True)
    assert admin.send(TestModeRequest(True)) is None
    assert admin.receive() == ["testing"]
    room, _, _, two = harness.game()
    two.leave()
    result = room.record[-1]
    assert isinstance(result, Result)
    harness.lobby.scores.add(result)
    assert admin.send(ScoreForPlayerRequest("Eins")) is None
    score = admin.last_message
    assert isinstance(score, PlayerScore)
    assert (score.display_name, score.number_of_tests) == ("Eins", 1)


def test_a_prepared_slot_has_the_name_the_limits_and_the_code_of_the_request(harness: RoomHarness) -> None:
    admin, _, _ = harness.peers()
    room_id, codes = harness.prepare(admin, Slot("Eins", can_timeout=False), Slot("Zwei", is_reserved=False))
    one, two = harness.lobby.rooms[room_id].player_slots
    assert (one.name, two.name, one.reservation, two.reservation) == ("Eins", "Zwei", codes[0], None)
    assert (one.clock.limits, two.clock.limits) == (UNLIMITED, LIMITS)
    assert one.clock is not two.clock


# -- the edition's defaults -------------------------------------------------------------------------------------------


def test_missing_values_are_the_edition_s_defaults() -> None:
    request = complete_request(PrepareRequest("swc_2021_blokus", (NAMED, NAMED)), EDITIONS["blokus-2021-r3"])
    defaults = EDITIONS["blokus-2021-r3"].dialect.slot_defaults
    assert [slot.can_timeout for slot in request.slots] == [defaults.can_timeout] * 2


@pytest.mark.parametrize("edition", ["blokus-2027", "blokus-2021-21.4.0"])
def test_one_slot_is_enough_if_the_release_accepts_it(edition: str) -> None:
    request = complete_request(PrepareRequest("g", (NAMED,)), EDITIONS[edition])
    assert [(slot.display_name, slot.is_reserved) for slot in request.slots][1] == ("", False)


def test_an_attribute_of_another_season_is_refused() -> None:
    reserved = Slot("Eins", given=frozenset({"displayName", "reserved"}))
    with pytest.raises(RequestError, match="reserved") as refused:
        complete_request(PrepareRequest("swc_2018_hase_und_igel", (reserved, reserved)), EDITIONS["hase-und-igel-2018"])
    assert refused.value.fault is Fault.BAD_SLOTS


@pytest.mark.parametrize("edition", ["blokus-2027", "blokus-2021-21.4.0"])
def test_an_attribute_of_another_season_is_ignored_if_the_release_ignores_it(edition: str) -> None:
    paused = Slot("Eins", should_be_paused=True, given=frozenset({"displayName", "reserved", "shouldBePaused"}))
    request = complete_request(PrepareRequest("g", (paused, NAMED)), EDITIONS[edition])
    assert request.slots == (
        Slot("Eins", can_timeout=False, is_reserved=True),
        Slot("Eins", can_timeout=False, is_reserved=False),
    )
