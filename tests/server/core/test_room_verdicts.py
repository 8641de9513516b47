"""Faulty moves and time limits: the packets that are sent, the loser, and when an answer is too late."""

from __future__ import annotations

import pytest

from spielleiter.game.blokus.moves import SetMove
from spielleiter.game.blokus.pieces import Color, Rotation, Shape
from spielleiter.protocol.messages import (
    JoinPreparedRequest,
    MoveData,
    MoveRequest,
    RoomMessage,
    Slot,
    UnreadableData,
    WelcomeMessage,
)
from spielleiter.server import events
from spielleiter.server.core.clock import Arrival, StampSource
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.room import RECHECK_INTERVAL, Phase, Room
from spielleiter.server.errors import Fault
from tests.server.room_harness import LIMITS, RoomHarness, first_move


@pytest.fixture
def harness() -> RoomHarness:
    return RoomHarness()


def illegal_move(room: Room) -> SetMove:
    """Return a first piece in the middle of the board."""
    shape = next(iter(room.state.generate_legal_moves())).shape  # type: ignore[attr-defined]
    return SetMove(Color(room.state.turn % 4), shape, Rotation.NONE, False, 7, 7)


# -- faults of players ------------------------------------------------------------------------------------------------


def test_an_illegal_move_is_reported_to_player_and_observers_and_loses(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    error = one.moves(room, illegal_move(room))
    assert error is not None
    assert error.fault is Fault.ILLEGAL_MOVE
    assert "Der erste Zug muss auf eine freie Ecke gesetzt werden" in str(error)
    result = "result RULE_VIOLATION REGULAR 02 winners [1]"
    assert admin.receive() == ["error", result, "left"]
    assert one.receive() == ["error", result, "left", "end of stream"]
    assert two.receive() == [result, "left", "end of stream"]


def test_an_unreadable_move_loses_with_the_reason(harness: RoomHarness) -> None:
    room, admin, one, _ = harness.game()
    error = one.send(RoomMessage(room.id, UnreadableData("sc.plugin2021.SetMove", "x fehlt")))
    assert error is not None
    assert error.fault is Fault.UNREADABLE_MOVE
    assert "Der Zug konnte nicht erkannt werden" in str(error)
    assert "x fehlt" in str(error)
    assert admin.receive() == ["error", "result RULE_VIOLATION REGULAR 02 winners [1]", "left"]


@pytest.mark.parametrize("data", [None, MoveRequest(), WelcomeMessage(0)])
def test_a_room_packet_without_a_move_is_refused_and_counts_as_leaving(
    harness: RoomHarness, data: MoveRequest | WelcomeMessage | None
) -> None:
    room, admin, one, _ = harness.game()
    error = one.send(RoomMessage(room.id, data))
    assert error is not None
    assert error.fault is Fault.NOT_A_MOVE
    assert admin.receive() == ["result LEFT REGULAR 02 winners [1]", "left"]


def test_a_move_out_of_turn_is_refused_and_counts_as_leaving(harness: RoomHarness) -> None:
    room, admin, one, two = harness.game()
    error = two.moves(room, first_move(room))
    assert error is not None
    assert error.fault is Fault.NOT_YOUR_TURN
    assert "expected=Team 1(Eins), actual=Team 2(Zwei)" in str(error)
    assert two.receive() == ["error", "end of stream"]
    assert one.receive() == ["result REGULAR LEFT 20 winners [0]", "left", "end of stream"]
    assert admin.receive() == ["result REGULAR LEFT 20 winners [0]", "left"]


def test_a_move_that_was_not_requested_is_out_of_turn(harness: RoomHarness) -> None:
    room, _, one, _ = harness.game(is_paused=True)
    error = one.moves(room, first_move(room))
    assert error is not None
    assert error.fault is Fault.NOT_YOUR_TURN
    assert "Move from Team 1(Eins) has not been requested." in str(error)


def test_a_stranger_s_move_is_refused_without_effect_on_the_game(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    stranger = harness.fake_peer("stranger")
    error = stranger.moves(room, first_move(room))
    assert error is not None
    assert error.fault is Fault.NOT_A_MEMBER
    assert one.receive() == two.receive() == []


# -- time -------------------------------------------------------------------------------------------------------------


def test_an_answer_at_the_soft_limit_is_in_time_and_a_later_one_is_not(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    assert one.moves(room, first_move(room), after=2.0) is None
    assert two.moves(room, first_move(room), after=2.001) is None
    assert one.receive()[-3:] == ["result REGULAR SOFT_TIMEOUT 20 winners [0]", "left", "end of stream"]
    (verdict,) = harness.happened(events.TimeVerdict)
    assert (verdict.seat, verdict.limit, verdict.is_hard) == (1, LIMITS.soft_timeout, False)
    assert verdict.think_time == pytest.approx(2.001)


def test_no_answer_within_the_hard_limit_ends_the_game(harness: RoomHarness) -> None:
    _, admin, one, two = harness.game()
    harness.advance(9.999)
    assert admin.receive() == []
    harness.advance(0.001)
    result = "result HARD_TIMEOUT REGULAR 02 winners [1]"
    assert admin.receive() == [result, "left"]
    assert one.receive() == two.receive() == [result, "left", "end of stream"]


def test_the_release_calls_a_hard_timeout_soft_and_names_the_leader() -> None:
    harness = RoomHarness("blokus-2021-21.4.0")
    _, admin, *_ = harness.game()
    harness.advance(10.0)
    assert admin.receive() == ["result SOFT_TIMEOUT REGULAR 02 winners [0, 1]", "left"]


def test_bytes_that_arrived_before_the_hard_limit_are_read_before_a_verdict(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    one.has_unread = True
    harness.advance(10.0 + RECHECK_INTERVAL / 2)
    assert room.phase is Phase.RUNNING
    one.has_unread = False
    assert one.moves(room, first_move(room)) is None  # judged by its arrival: after the soft limit
    assert two.receive()[0].startswith("result HARD_TIMEOUT")


def test_a_server_that_sleeps_through_the_hard_limit_checks_the_input_first(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    one.has_unread = True
    harness.advance(40.0, lag=30.0)
    assert room.phase is Phase.RUNNING
    one.has_unread = False
    move = RoomMessage(room.id, MoveData(first_move(room)))
    dispatch(harness.lobby, one.member, move, Arrival(1.9, StampSource.KERNEL), harness.now)
    assert harness.happened(events.MovePlayed)[-1].think_time == pytest.approx(1.9)
    assert two.receive()[-1] == "request"


def test_a_player_that_keeps_sending_bytes_is_judged_nevertheless(harness: RoomHarness) -> None:
    room, _, one, _ = harness.game()
    one.has_unread = True
    harness.advance(11.1)
    assert room.phase is Phase.OVER


def test_the_clock_starts_at_the_delivery_of_the_request(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    two.is_deaf = True
    one.moves(room, first_move(room))
    harness.advance(0.9)
    (on_sent,) = two.undelivered
    on_sent(harness.now)
    assert two.moves(room, first_move(room), after=1.5) is None
    assert harness.happened(events.MovePlayed)[-1].think_time == 1.5


def test_the_clock_of_a_player_that_does_not_read_starts_nevertheless(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    two.is_deaf = True
    one.moves(room, first_move(room))
    harness.advance(16.0)
    (verdict,) = harness.happened(events.TimeVerdict)
    assert (verdict.seat, verdict.is_hard, verdict.think_time) == (1, True, LIMITS.hard_timeout)
    assert one.receive()[-3:] == ["result REGULAR HARD_TIMEOUT 20 winners [0]", "left", "end of stream"]
    for on_sent in two.undelivered:
        on_sent(harness.now)  # the game is over: no clock starts
    assert harness.pending_timers == 0


def test_the_answer_of_a_player_that_does_not_read_is_timed_from_the_due_delivery() -> None:
    harness = RoomHarness(delivery_timeout=0.25)
    room, _, one, two = harness.game()
    two.is_deaf = True
    one.moves(room, first_move(room))
    assert two.moves(room, first_move(room), after=2.2) is None
    assert harness.happened(events.MovePlayed)[-1].think_time == pytest.approx(1.95)
    two.undelivered[0](harness.now)  # the old request is delivered now: no clock starts


def test_the_clock_of_a_player_without_delivery_timeout_starts_at_the_delivery_only() -> None:
    harness = RoomHarness(delivery_timeout=0.25)
    room, _, one, two = harness.game()
    two.is_deaf, two.peer.has_delivery_timeout = True, False
    one.moves(room, first_move(room))
    harness.advance(60.0)  # far beyond the hard limit
    (on_sent,) = two.undelivered
    on_sent(harness.now)
    assert two.moves(room, first_move(room), after=1.5) is None
    assert harness.happened(events.MovePlayed)[-1].think_time == pytest.approx(1.5)


def test_a_late_delivery_timeout_is_not_charged_to_the_player(
    harness: RoomHarness,
) -> None:
    room, _, one, two = harness.game()
    two.is_deaf = True
    one.moves(room, first_move(room))
    harness.advance(4.0, lag=3.0)  # the delivery timeout of one second passes after four
    assert two.moves(room, first_move(room), after=1.9) is None
    assert harness.happened(events.MovePlayed)[-1].think_time == pytest.approx(1.9)


def test_an_answer_before_the_delivery_has_a_think_time_of_zero(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    two.is_deaf = True
    one.moves(room, first_move(room))
    assert two.moves(room, first_move(room), after=0.9) is None
    assert harness.happened(events.MovePlayed)[-1].think_time == 0.0
    (on_sent,) = two.undelivered
    on_sent(harness.now)  # the old request is delivered now: no clock starts
    assert harness.pending_timers == 1  # the timer of the next request


def test_a_slot_that_cannot_time_out_has_no_limits(harness: RoomHarness) -> None:
    admin, one, two = harness.fake_peer("admin", is_admin=True), harness.fake_peer("one"), harness.fake_peer("two")
    room_id, codes = harness.prepare(admin, Slot("Eins", can_timeout=False), Slot("Zwei"))
    one.send(JoinPreparedRequest(codes[0]))
    two.send(JoinPreparedRequest(codes[1]))
    room = harness.lobby.rooms[room_id]
    assert one.moves(room, first_move(room), after=3600.0) is None
    harness.advance(10.0)
    assert room.phase is Phase.OVER


def test_joined_games_have_time_limits_except_in_the_release() -> None:
    harness = RoomHarness()
    room, *_ = harness.joined_game()
    harness.advance(10.0)
    assert room.phase is Phase.OVER
    harness = RoomHarness("blokus-2021-21.4.0")
    room, *_ = harness.joined_game()
    harness.advance(3600.0)
    assert room.phase is Phase.RUNNING


def test_the_first_piece_must_be_the_one_that_was_drawn(harness: RoomHarness) -> None:
    room, _, one, _ = harness.game()
    other = next(shape for shape in Shape if shape is not first_move(room).shape)  # type: ignore[attr-defined]
    error = one.moves(room, SetMove(Color.BLUE, other, Rotation.NONE, False, 0, 0))
    assert error is not None
    assert "Der erste Zug muss den festgelegten Spielstein setzen" in str(error)
