"""A request for a move: when its clock starts, when the player's input is looked at, and when it is given up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from spielleiter.server.core.clock import UNLIMITED, Arrival, MoveClock, TimeLimits
from spielleiter.server.core.peer import Peer, SentCallback
from spielleiter.server.core.pending_request import LAST_LOOK, LOOK_DELAY, SECOND_LOOK, PendingMove
from spielleiter.server.core.player_slot import PlayerSlot
from spielleiter.server.editions import EDITIONS
from tests.server.room_harness import RoomHarness


class Sink:
    """A player's connection: notes when it was looked at."""

    def __init__(self, harness: RoomHarness) -> None:
        self.harness = harness
        self.has_unread = False
        self.looks: list[float] = []

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        raise AssertionError(packet)

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        raise AssertionError

    def has_unread_input(self) -> bool:
        self.looks.append(self.harness.now)
        return self.has_unread


@dataclass
class Case:
    limits: TimeLimits
    harness: RoomHarness = field(default_factory=RoomHarness)
    expired: list[tuple[float, float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.sink = Sink(self.harness)
        peer = Peer("player", self.sink, EDITIONS["blokus-2021-r3"])
        self.clock = MoveClock(self.limits)
        self.player_slot = PlayerSlot(0, "Eins", None, self.clock, peer)
        self.pending = PendingMove(self.harness.lobby, self.player_slot, lambda *told: self.expired.append(told))


def test_input_is_looked_at_when_the_clock_starts_and_at_each_limit() -> None:
    case = Case(TimeLimits(2.0, 10.0))
    case.pending.start_clock(0.0)
    case.harness.advance(20.0)
    assert case.sink.looks == [0.0, 2.0 + LOOK_DELAY, 10.0]
    assert case.expired == [(10.0, 10.0, 0.0)]
    assert not case.clock.is_running


@pytest.mark.parametrize(
    ("limits", "looks"),
    [(TimeLimits(3.0, 3.0), [0.0, 3.0]), (TimeLimits(2.97, 3.0), [0.0, 3.0]), (TimeLimits(None, 3.0), [0.0, 3.0])],
)
def test_one_look_is_enough_where_the_soft_limit_is_none_of_its_own(limits: TimeLimits, looks: list[float]) -> None:
    case = Case(limits)
    case.pending.start_clock(0.0)
    case.harness.advance(20.0)
    assert case.sink.looks == looks
    assert case.expired == [(3.0, 3.0, 0.0)]


def test_without_a_hard_limit_nothing_happens_at_the_soft_one_but_a_look() -> None:
    case = Case(TimeLimits(2.0, None))
    case.pending.start_clock(0.0)
    case.harness.advance(20.0)
    assert case.sink.looks == [0.0, 2.0 + LOOK_DELAY]
    assert case.expired == []
    assert case.clock.is_running


def test_without_limits_there_is_no_alarm() -> None:
    case = Case(UNLIMITED)
    case.pending.start_clock(0.0)
    assert case.harness.pending_alarms == 0
    assert case.pending.stop_clock(Arrival(3600.0)) == 3600.0


def test_a_verdict_waits_for_unread_input_but_not_for_ever() -> None:
    case = Case(TimeLimits(2.0, 10.0))
    case.pending.start_clock(0.0)
    case.sink.has_unread = True
    case.harness.advance(10.0 + LAST_LOOK - SECOND_LOOK)
    assert case.expired == []
    case.harness.advance(2 * SECOND_LOOK)
    ((think_time, now, lateness),) = case.expired
    assert think_time == now == pytest.approx(10.0 + LAST_LOOK, abs=2 * SECOND_LOOK)
    assert lateness == pytest.approx(0.0), "the server was on time; the player's bytes were not read"


def test_looks_that_come_late_are_lateness_of_the_server() -> None:
    case = Case(TimeLimits(None, 10.0))
    case.sink.has_unread = True
    due: list[Callable[[float], None]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PendingMove, "_call_at", lambda _pending, _deadline, callback: due.append(callback))
        case.pending.start_clock(0.0)
        due.pop()(10.25)
        due.pop()(10.25 + SECOND_LOOK + 0.5)
        case.sink.has_unread = False
        due.pop()(10.25 + 2 * SECOND_LOOK + 0.5)
    ((_, _, lateness),) = case.expired
    assert lateness == pytest.approx(0.75)


def test_the_clock_starts_at_the_delivery_and_at_the_latest_when_that_is_overdue() -> None:
    case = Case(TimeLimits(2.0, 10.0))
    case.pending.await_delivery()
    case.harness.advance(0.5)
    case.pending.start_clock(0.5)
    case.pending.start_clock(0.7)  # only the first counts
    case.harness.advance(1.0)
    assert case.pending.stop_clock(Arrival(1.75)) == 1.25
    case = Case(TimeLimits(2.0, 10.0))
    case.pending.await_delivery()
    case.harness.advance(1.5)
    assert case.clock.is_running
    assert case.pending.stop_clock(Arrival(1.75)) == 0.75


def test_a_request_that_went_out_at_once_needs_no_alarm_for_its_delivery() -> None:
    case = Case(UNLIMITED)
    case.pending.start_clock(0.0)
    case.pending.await_delivery()
    assert case.harness.pending_alarms == 0


@pytest.mark.parametrize("is_sent", [False, True])
def test_what_is_forgotten_does_nothing(is_sent: bool) -> None:
    case = Case(TimeLimits(2.0, 10.0))
    if is_sent:
        case.pending.start_clock(0.0)
    case.pending.await_delivery()
    case.pending.forget()
    case.clock.abandon()
    case.pending.await_delivery()
    case.pending.start_clock(1.0)
    case.harness.advance(20.0)
    assert case.expired == []
    assert not case.clock.is_running
    assert case.harness.pending_alarms == 0
