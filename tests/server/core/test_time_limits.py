"""Time limits: when the clock of a move request starts, when its input is checked, and when an answer is too late."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from spielleiter.protocol.messages import JoinPreparedRequest, JoinRequest, MoveData, RoomMessage, Slot
from spielleiter.server import events
from spielleiter.server.core.clock import SHORTEST, UNLIMITED, Arrival, StampSource, TimeLimits, TokenBucket
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.room import (
    LONGEST_RECHECK,
    RECHECK_INTERVAL,
    SOFT_CHECK_DELAY,
    Peer,
    PendingRequest,
    Phase,
    PlayerSlot,
    SentCallback,
)
from spielleiter.server.editions import EDITIONS
from tests.server.room_harness import LIMITS, RoomHarness, first_move


@pytest.fixture
def harness() -> RoomHarness:
    return RoomHarness()


# -- in a game --------------------------------------------------------------------------------------------------------


def test_an_answer_at_the_soft_limit_is_in_time_and_a_later_one_is_not(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    assert one.moves(room, first_move(room), after=2.0) is None
    assert two.moves(room, first_move(room), after=2.001) is None
    assert one.receive()[-3:] == ["result REGULAR SOFT_TIMEOUT 20 winners [0]", "left", "end of stream"]
    (verdict,) = harness.happened(events.TimeVerdict)
    assert (verdict.seat, verdict.limit, verdict.is_hard) == (1, LIMITS.soft_timeout, False)
    assert verdict.think_time == pytest.approx(2.001)


@pytest.mark.parametrize("arrival", [1.9, 10.0, 10.5])
def test_a_server_that_sleeps_through_the_hard_limit_judges_by_the_arrival(
    arrival: float, harness: RoomHarness
) -> None:
    room, _, one, two = harness.game()
    one.has_unread = True
    harness.advance(40.0, lag=30.0)
    assert room.phase is Phase.RUNNING
    one.has_unread = False
    move = RoomMessage(room.id, MoveData(first_move(room)))
    dispatch(harness.lobby, one.peer, move, Arrival(arrival, StampSource.KERNEL), harness.now)
    if arrival < 2.0:
        assert harness.happened(events.MovePlayed)[-1].think_time == pytest.approx(arrival)
        assert two.receive()[-1] == "request"
    else:
        (verdict,) = harness.happened(events.TimeVerdict)
        assert (verdict.is_hard, verdict.think_time, verdict.loop_lag) == (arrival > 10.0, arrival, 40.0 - arrival)


def test_the_clock_of_a_player_that_does_not_read_starts_nevertheless(harness: RoomHarness) -> None:
    room, _, one, two = harness.game()
    two.is_deaf = True
    one.moves(room, first_move(room))
    harness.advance(16.0)
    (verdict,) = harness.happened(events.TimeVerdict)
    assert (verdict.seat, verdict.is_hard, verdict.think_time) == (1, True, LIMITS.hard_timeout)
    assert one.receive()[-3:] == ["result REGULAR HARD_TIMEOUT 20 winners [0]", "left", "end of stream"]
    two.undelivered[0](harness.now)  # the game is over: no clock starts
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
    admin, one, two = harness.peers()
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


@pytest.mark.parametrize("is_hard", [False, True])
def test_the_reason_names_the_limit_that_was_exceeded(is_hard: bool) -> None:
    harness = RoomHarness("blokus-2027")
    players = [harness.fake_peer(name) for name in ("one", "two")]
    for player in players:
        player.send(JoinRequest("swc_2027_blokus"))
    (room,) = harness.lobby.rooms.values()
    if is_hard:
        harness.advance(10.0)
    else:
        players[0].moves(room, first_move(room), after=3.0)
    texts = room.edition.dialect.texts
    (ended,) = harness.happened(events.GameEnded)
    assert ended.reasons[0] == (texts.hard_timeout_reason(10.0) if is_hard else texts.soft_timeout_reason(2.0))


def test_a_think_time_is_never_0_unless_the_answer_came_before_the_request(harness: RoomHarness) -> None:
    room, _, one, _ = harness.game()
    move = RoomMessage(room.id, MoveData(first_move(room)))
    dispatch(harness.lobby, one.peer, move, Arrival(-1.0), 0.0)  # as the kernel's clock says
    assert harness.happened(events.MovePlayed)[-1].think_time == SHORTEST


# -- one request ------------------------------------------------------------------------------------------------------


class Sink:
    """A player's connection that records when its input was checked."""

    def __init__(self, harness: RoomHarness) -> None:
        self.harness = harness
        self.has_unread = False
        self.checks: list[float] = []

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        raise AssertionError(packet)

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        raise AssertionError

    def has_unread_input(self) -> bool:
        self.checks.append(self.harness.now)
        return self.has_unread


@dataclass
class RequestCase:
    limits: TimeLimits
    has_unread: bool = False
    harness: RoomHarness = field(default_factory=RoomHarness)
    expired: list[tuple[float, float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sink = Sink(self.harness)
        self.sink.has_unread = self.has_unread
        peer = Peer("player", self.sink, EDITIONS["blokus-2021-r3"])
        self.player_slot = PlayerSlot(0, "Eins", None, self.limits, peer)
        self.pending = PendingRequest(self.harness, self.player_slot, lambda *args: self.expired.append(args))


@pytest.mark.parametrize(
    ("limits", "checks", "expired"),
    [
        (TimeLimits(2.0, 10.0), [2.0 + SOFT_CHECK_DELAY, 10.0], [(10.0, 10.0, 0.0)]),
        (TimeLimits(2.97, 3.0), [3.0], [(3.0, 3.0, 0.0)]),  # so close together that one check is enough
        (TimeLimits(None, 3.0), [3.0], [(3.0, 3.0, 0.0)]),
        (TimeLimits(2.0, None), [2.0 + SOFT_CHECK_DELAY], []),
        (UNLIMITED, [], []),
    ],
)
def test_input_is_checked_before_the_request_and_at_each_limit(
    limits: TimeLimits, checks: list[float], expired: list[tuple[float, float, float]]
) -> None:
    case = RequestCase(limits)
    case.pending.start_clock(0.0)
    case.pending.note_queued(1.0)  # the request is delivered already
    assert case.harness.pending_timers == (1 if checks else 0)
    case.harness.advance(20.0)
    assert case.sink.checks == [0.0, *checks]
    assert case.expired == expired
    assert (case.pending.elapsed(20.0) is None) is bool(expired)
    assert len(case.player_slot.think_times) == len(expired)


@pytest.mark.parametrize("is_taken", [True, False])
def test_input_is_checked_again_when_the_clock_of_a_queued_request_starts(is_taken: bool) -> None:
    case = RequestCase(UNLIMITED)
    case.pending.note_queued(1.0)
    if is_taken:
        case.harness.advance(0.5)
        case.pending.start_clock(0.5)
    case.harness.advance(3.0)
    assert case.sink.checks == [0.0, 0.5 if is_taken else 1.0]


@pytest.mark.parametrize(
    ("has_unread", "arrival", "is_answer"),
    [
        (False, 4.5, True),  # nothing was there yet, so the stamp is wrong
        (True, 4.5, False),
        (True, 5.5, True),  # only the bytes before the move were there
        (True, 4.9999, True),
    ],
)
def test_a_move_was_sent_before_its_request_only_if_there_was_unread_input(
    has_unread: bool, arrival: float, is_answer: bool
) -> None:
    case = RequestCase(UNLIMITED, has_unread)
    case.pending.start_clock(5.0)
    assert case.pending.is_answered_by(Arrival(arrival)) is is_answer


def test_a_verdict_waits_for_unread_input_for_a_bounded_time() -> None:
    case = RequestCase(TimeLimits(2.0, 10.0))
    case.pending.start_clock(0.0)
    case.sink.has_unread = True
    case.harness.advance(10.0 + LONGEST_RECHECK - RECHECK_INTERVAL)
    assert case.expired == []
    case.harness.advance(2 * RECHECK_INTERVAL)
    ((think_time, now, loop_lag),) = case.expired
    assert think_time == now == pytest.approx(10.0 + LONGEST_RECHECK, abs=2 * RECHECK_INTERVAL)
    assert loop_lag == pytest.approx(0.0), "the server was on time; the player's bytes were not read"


def test_late_checks_count_as_loop_lag() -> None:
    case = RequestCase(TimeLimits(None, 10.0))
    case.pending.start_clock(0.0)
    case.sink.has_unread = True
    case.harness.advance(10.25, lag=0.25)  # the check at 10 is made at 10.25; the next one is due at 10.26
    assert case.sink.checks[-1] == 10.25
    case.sink.has_unread = False
    case.harness.advance(0.6, lag=0.5)
    ((_, now, loop_lag),) = case.expired
    assert [now, loop_lag] == pytest.approx([10.76, 0.75])


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_cancelled_request_does_nothing(is_sent: bool) -> None:
    case = RequestCase(TimeLimits(2.0, 10.0))
    if is_sent:
        case.pending.start_clock(0.0)
    case.pending.note_queued(1.0)
    case.pending.cancel()
    case.pending.note_queued(1.0)
    case.pending.start_clock(1.0)
    case.harness.advance(20.0)
    assert case.expired == []
    assert case.pending.elapsed(20.0) is None
    assert case.player_slot.think_times == []
    assert case.harness.pending_timers == 0


# -- rates ------------------------------------------------------------------------------------------------------------


def test_a_burst_is_free_and_anything_above_it_is_a_debt() -> None:
    bucket = TokenBucket(rate=2.0, burst=10.0)
    assert bucket.take(10.0, 0.0) == 0.0
    assert bucket.take(1.0, 0.0) == 0.5
    assert bucket.left(0.25) == -0.5
    assert bucket.take(0.0, 0.25) == 0.25
    assert bucket.left(1e6) == 10.0  # silence accumulates no more than a burst
    bucket.take(10.0, 1e6)
    assert bucket.take(2.0, 1e6) == pytest.approx(1.0)
