"""A move request: when its clock starts, when the player's input is checked, and when the request expires."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from spielleiter.server.core.clock import UNLIMITED, Arrival, MoveClock, TimeLimits
from spielleiter.server.core.room import (
    LONGEST_RECHECK,
    RECHECK_INTERVAL,
    SOFT_CHECK_DELAY,
    Peer,
    PendingRequest,
    PlayerSlot,
    SentCallback,
)
from spielleiter.server.editions import EDITIONS
from tests.server.room_harness import RoomHarness


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
        self.clock = MoveClock(self.limits)
        self.player_slot = PlayerSlot(0, "Eins", None, self.clock, peer)
        self.pending = PendingRequest(self.harness.lobby, self.player_slot, lambda *args: self.expired.append(args))


def test_input_is_checked_before_the_request_when_the_clock_starts_and_at_each_limit() -> None:
    case = RequestCase(TimeLimits(2.0, 10.0))
    case.pending.start_clock(0.0)
    case.harness.advance(20.0)
    assert case.sink.checks == [0.0, 0.0, 2.0 + SOFT_CHECK_DELAY, 10.0]
    assert case.expired == [(10.0, 10.0, 0.0)]
    assert not case.clock.is_running


@pytest.mark.parametrize(
    ("limits", "checks"),
    [
        (TimeLimits(3.0, 3.0), [0.0, 0.0, 3.0]),
        (TimeLimits(2.97, 3.0), [0.0, 0.0, 3.0]),
        (TimeLimits(None, 3.0), [0.0, 0.0, 3.0]),
    ],
)
def test_limits_that_are_close_together_need_only_one_check(limits: TimeLimits, checks: list[float]) -> None:
    case = RequestCase(limits)
    case.pending.start_clock(0.0)
    case.harness.advance(20.0)
    assert case.sink.checks == checks
    assert case.expired == [(3.0, 3.0, 0.0)]


def test_without_a_hard_limit_the_soft_limit_only_checks_the_input() -> None:
    case = RequestCase(TimeLimits(2.0, None))
    case.pending.start_clock(0.0)
    case.harness.advance(20.0)
    assert case.sink.checks == [0.0, 0.0, 2.0 + SOFT_CHECK_DELAY]
    assert case.expired == []
    assert case.clock.is_running


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


def test_without_limits_there_is_no_timer() -> None:
    case = RequestCase(UNLIMITED)
    case.pending.start_clock(0.0)
    assert case.harness.pending_timers == 0
    assert case.pending.stop_clock(Arrival(3600.0)) == 3600.0


def test_a_verdict_waits_for_unread_input_for_a_bounded_time() -> None:
    case = RequestCase(TimeLimits(2.0, 10.0))
    case.pending.start_clock(0.0)
    case.sink.has_unread = True
    case.harness.advance(10.0 + LONGEST_RECHECK - RECHECK_INTERVAL)
    assert case.expired == []
    case.harness.advance(2 * RECHECK_INTERVAL)
    ((think_time, now, lateness),) = case.expired
    assert think_time == now == pytest.approx(10.0 + LONGEST_RECHECK, abs=2 * RECHECK_INTERVAL)
    assert lateness == pytest.approx(0.0), "the server was on time; the player's bytes were not read"


def test_late_checks_count_as_lateness_of_the_server() -> None:
    case = RequestCase(TimeLimits(None, 10.0))
    case.sink.has_unread = True
    due: list[Callable[[float], None]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PendingRequest, "_call_at", lambda _pending, _deadline, callback: due.append(callback))
        case.pending.start_clock(0.0)
        due.pop()(10.25)
        due.pop()(10.25 + RECHECK_INTERVAL + 0.5)
        case.sink.has_unread = False
        due.pop()(10.25 + 2 * RECHECK_INTERVAL + 0.5)
    ((_, _, lateness),) = case.expired
    assert lateness == pytest.approx(0.75)


def test_the_clock_starts_at_the_delivery_or_after_the_delivery_timeout() -> None:
    case = RequestCase(TimeLimits(2.0, 10.0))
    case.pending.start_delivery_timeout()
    case.harness.advance(0.5)
    case.pending.start_clock(0.5)
    case.pending.start_clock(0.7)  # only the first counts
    case.harness.advance(1.0)
    assert case.pending.stop_clock(Arrival(1.75)) == 1.25
    case = RequestCase(TimeLimits(2.0, 10.0))
    case.pending.start_delivery_timeout()
    case.harness.advance(1.5)
    assert case.clock.is_running
    assert case.pending.stop_clock(Arrival(1.75)) == 0.75


def test_a_request_that_is_sent_at_once_needs_no_delivery_timer() -> None:
    case = RequestCase(UNLIMITED)
    case.pending.start_clock(0.0)
    case.pending.start_delivery_timeout()
    assert case.harness.pending_timers == 0


@pytest.mark.parametrize("is_sent", [False, True])
def test_a_cancelled_request_does_nothing(is_sent: bool) -> None:
    case = RequestCase(TimeLimits(2.0, 10.0))
    if is_sent:
        case.pending.start_clock(0.0)
    case.pending.start_delivery_timeout()
    case.pending.cancel()
    case.clock.abandon()
    case.pending.start_delivery_timeout()
    case.pending.start_clock(1.0)
    case.harness.advance(20.0)
    assert case.expired == []
    assert not case.clock.is_running
    assert case.harness.pending_timers == 0
