"""Commands of administrators are granted to them only, and a refused one has no effect."""

from __future__ import annotations

import pytest

from spielleiter.protocol.messages import (
    CancelRequest,
    JoinPreparedRequest,
    JoinRequest,
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
from spielleiter.server.errors import Fault, RequestError
from tests.server.room_harness import GAME_TYPE, RoomHarness


@pytest.fixture
def harness() -> RoomHarness:
    return RoomHarness()


def fault_of(error: RequestError | None) -> Fault | None:
    return None if error is None else error.fault


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
    admin, one, two = harness.fake_peer("admin", is_admin=True), harness.fake_peer("one"), harness.fake_peer("two")
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
    harness.lobby.scores.add(_result(harness))
    assert admin.send(ScoreForPlayerRequest("Eins")) is None
    score = admin.last_message
    assert isinstance(score, PlayerScore)
    assert (score.display_name, score.number_of_tests) == ("Eins", 1)


def _result(harness: RoomHarness) -> Result:
    room, _, _, two = harness.game()
    two.leave()
    result = room.record[-1]
    assert isinstance(result, Result)
    return result


def test_the_score_of_an_unknown_player_is_refused(harness: RoomHarness) -> None:
    error = harness.fake_peer("admin", is_admin=True).send(ScoreForPlayerRequest("Niemand"))
    assert fault_of(error) is Fault.UNKNOWN_PLAYER
