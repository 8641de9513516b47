"""Delays of an answer for which the machine is responsible."""

from __future__ import annotations

import math
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trio

from spielleiter.programs.machine_delay import AnswerMeter

if sys.platform != "linux":
    pytest.skip("only Linux reports waiting times", allow_module_level=True)

from spielleiter.programs.linux_processes import KnownThreads, ThreadUsage, Usage
from spielleiter.programs.machine_delay import FIRST_LOOK, SEARCH_INTERVAL, SchedulingDelayMeter

LIMIT = 1.0
MAIN, WORKER, OTHER = 70, 71, 80


class Program:
    """A program whose threads are set by the test; times are seconds since the beginning of the test."""

    cpu_seconds_so_far = 0.0
    root = None
    known_threads: KnownThreads | None = None

    def __init__(self, *pids: int) -> None:
        self.pids = pids
        self.looks = 0
        self.searches = 0
        self._threads: dict[int, tuple[float, float, float]] = dict.fromkeys(pids, (0.0, 0.0, 0.0))
        self._asleep: dict[int, Callable[[float], bool]] = {}
        self._times: dict[int, tuple[float, ...]] = {}

    def wait(self, thread: int, begin: float, end: float, share: float = 0.5) -> None:
        """`thread` waits for a processor from `begin` to `end` for `share` of the time, and runs otherwise."""
        self._threads[thread] = begin, end, share

    def sleep(self, thread: int, is_asleep: Callable[[float], bool]) -> None:
        self._asleep[thread] = is_asleep

    def sleep_once(self, thread: int, begin: float, end: float) -> None:
        """`thread` waits for the request until `begin`, sleeps until `end`, and then waits for the next request."""
        self.sleep(thread, lambda now: begin < now < end)
        self._times[thread] = begin, end

    def block(self, thread: int, *times: float) -> None:
        """`thread` begins to wait for something at each of these times."""
        self._times[thread] += times

    def usage(self) -> Usage:
        """The usage now. A thread without processor time after its waiting has ended, unless it is a main thread."""
        self.looks += 1
        now, threads = trio.current_time(), {}
        for thread, (begin, end, share) in self._threads.items():
            if thread in self.pids or begin < now <= end:
                waited = max(0.0, min(now, end) - begin)
                times = self._times.get(thread)
                is_asleep = thread in self._asleep and self._asleep[thread](now)
                switches = None if times is None else sum(now > time for time in times)
                threads[thread] = ThreadUsage(
                    waited * (1 - share),
                    waited * share,
                    switches=switches,
                    runs=switches,
                    is_asleep=is_asleep,
                    is_listening=times is not None and not is_asleep,
                )
        return Usage(threads)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[Program | None]:
    both = Program(MAIN), Program(OTHER)
    of_pids = {each.pids: each for each in both}

    def search(pids: Iterable[int], _processor: float) -> Usage:
        program = of_pids[tuple(pids)]
        program.searches += 1
        return program.usage()

    class Known:
        def __init__(self, found: Usage, _root: int | None) -> None:
            self._found = found.threads.keys()

        def confirm(self) -> None: ...

        def look(self, *, is_brief: bool) -> Callable[[], Usage] | None:
            program = next(each for each in both if each.pids[0] in self._found)
            threads = program.usage().threads
            if is_brief:
                threads = {thread: replace(each, switches=None) for thread, each in threads.items()}
            usage = Usage({thread: each for thread, each in threads.items() if thread in self._found})
            return (lambda: usage) if usage.threads.keys() == self._found else None

        def close(self) -> None: ...

    monkeypatch.setattr(Usage, "of", search)
    monkeypatch.setattr("spielleiter.programs.machine_delay.KnownThreads", Known)
    return list(both)


@asynccontextmanager
async def running(programs: list[Program | None]) -> AsyncIterator[SchedulingDelayMeter]:
    meter = SchedulingDelayMeter(programs, (LIMIT, LIMIT), cores=8)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(meter.run)
        yield meter
        nursery.cancel_scope.cancel()


def of(programs: list[Program | None], index: int = 0) -> Program:
    program = programs[index]
    assert program is not None
    return program


async def test_only_waiting_since_the_request_counts(programs: list[Program | None], autojump_clock: object) -> None:
    of(programs).wait(MAIN, 0.0, 9.0)
    of(programs, 1).wait(OTHER, 0.0, 9.0)
    async with running(programs) as meter:
        assert meter.seconds_waiting(0, 1.0) == 0.0
        await trio.sleep(5)
        meter.start_request(0)
        assert meter.seconds_waiting(0, 1.0) == 0.0
        await trio.sleep(1.5)
        assert meter.seconds_waiting(0, 1.5) == pytest.approx(0.75)
        assert meter.seconds_waiting(1, 1.5) == 0.0  # it was not asked
        meter.start_request(1)
        assert meter.seconds_waiting(1, 1.0) == 0.0


@pytest.mark.parametrize(
    "threads",
    [
        [
            (WORKER, 0.0, 0.6),
            (WORKER + 1, 0.6, 1.2),
        ],  # one after the other: together they delayed the answer
        [(thread, 0.0, 1.2) for thread in range(WORKER, WORKER + 4)],  # beside each other they count once
    ],
)
async def test_the_threads_of_a_program_count(
    programs: list[Program | None], autojump_clock: object, threads: list[tuple[int, float, float]]
) -> None:
    for thread, begin, end in threads:
        of(programs).wait(thread, begin, end)
    async with running(programs) as meter:
        meter.start_request(0)
        await trio.sleep(1.25)
        assert meter.seconds_waiting(0, 1.25) == pytest.approx(0.6, abs=0.06)


@pytest.mark.parametrize(
    ("is_asleep", "waited"),
    [
        (lambda now: 0.01 < now < LIMIT + 0.06, 0.0),
        (lambda now: 0.01 < now < LIMIT / 2, 0.525),  # it may have waited for the worker after that
        (lambda now: 0.02 < now < LIMIT - 0.05, 0.15),  # but not longer than from then on
        (lambda now: now < LIMIT + 0.05, 0.525),  # it slept when the request came, so it is not the one that answers
    ],
)
async def test_nobody_waits_for_the_workers_of_a_thread_that_sleeps_beyond_its_limit(
    programs: list[Program | None], autojump_clock: object, is_asleep: Callable[[float], bool], waited: float
) -> None:
    program = of(programs)
    program.wait(WORKER, 0.0, 9.0)
    program.sleep(MAIN, is_asleep)
    async with running(programs) as meter:
        meter.start_request(0)
        await trio.sleep(LIMIT + 0.05)
        assert meter.seconds_waiting(0, LIMIT + 0.05) == pytest.approx(waited, abs=0.03)


@pytest.mark.parametrize(
    ("asleep", "blocks", "looks", "think_time", "waited"),
    [
        ((0.0, LIMIT + 0.05), (), (0.3, 0.7), LIMIT + 0.05, 0.0),
        ((0.0, LIMIT + 0.05), (), (0.9, LIMIT + 0.5), LIMIT + 0.05, 0.0),
        # it starts and ends processes around its sleep; each of that is a short wait, which no look has seen
        (
            (0.01, LIMIT + 0.05),
            (0.002, 0.006, LIMIT + 0.06, LIMIT + 0.07),
            (0.25, 0.5, 0.8, LIMIT + 0.5),
            LIMIT + 0.05,
            0.0,
        ),
        # it sleeps and then waits for its worker, so it has not slept until the answer
        ((0.0, 0.4), (0.4, 0.8, 1.1), (0.2, 1.5), 1.1, 0.75),
    ],
)
async def test_where_a_sleep_began_and_ended_is_known_although_the_looks_are_late(
    programs: list[Program | None],
    autojump_clock: object,
    asleep: tuple[float, float],
    blocks: tuple[float, ...],
    looks: tuple[float, ...],
    think_time: float,
    waited: float,
) -> None:
    """The match itself waited for a processor, so it looked late."""
    program = of(programs)
    program.wait(WORKER, 0.0, 9.0)
    program.sleep_once(MAIN, *asleep)
    program.block(MAIN, *blocks)
    meter = SchedulingDelayMeter(programs, (LIMIT, LIMIT), cores=8)
    meter.start_request(0)
    for look in looks:
        await trio.sleep_until(look)
        meter.look()
    assert meter.seconds_waiting(0, think_time) == pytest.approx(waited, abs=0.01)


async def test_a_thread_that_has_ended_before_a_late_look_has_waited_until_then(
    programs: list[Program | None], autojump_clock: object
) -> None:
    of(programs).wait(WORKER, 0.0, 1.2)
    meter = SchedulingDelayMeter(programs, (LIMIT, LIMIT), cores=8)
    meter.start_request(0)
    for look in (0.2, 0.4):
        await trio.sleep_until(look)
        meter.look()
    await trio.sleep_until(1.5)
    assert meter.seconds_waiting(0, 1.2) == pytest.approx(0.6)


async def test_a_sleep_in_an_earlier_request_says_nothing_about_the_next_one(
    programs: list[Program | None], autojump_clock: object
) -> None:
    program = of(programs)
    program.wait(WORKER, 0.0, 9.0)
    program.sleep(MAIN, lambda now: 0.01 < now < LIMIT + 0.2)
    async with running(programs) as meter:
        meter.start_request(0)
        await trio.sleep(LIMIT + 0.1)
        assert meter.seconds_waiting(0, LIMIT + 0.1) < 0.02
        await trio.sleep(0.2)
        meter.start_request(0)
        await trio.sleep(LIMIT + 0.1)
        assert meter.seconds_waiting(0, LIMIT + 0.1) == pytest.approx(0.55)


async def test_a_thread_that_looks_for_its_worker_now_and_then_waits_for_it(
    programs: list[Program | None], autojump_clock: object
) -> None:
    program = of(programs)
    program.wait(WORKER, 0.0, 9.0)
    program.wait(MAIN, 0.0, 9.0, 0.0)  # runs a little between its naps
    program.sleep(MAIN, lambda now: now > 0)
    async with running(programs) as meter:
        meter.start_request(0)
        await trio.sleep(LIMIT + 0.05)
        assert meter.seconds_waiting(0, LIMIT + 0.05) == pytest.approx(0.5, abs=0.03)


async def test_a_quick_answer_costs_one_look(programs: list[Program | None], autojump_clock: object) -> None:
    async with running(programs) as meter:
        for _ in range(50):
            meter.start_request(0)
            await trio.sleep(FIRST_LOOK / 2)
            meter.start_request(1)
            await trio.sleep(FIRST_LOOK / 4)
        assert of(programs).looks == 50
        assert of(programs).searches == math.ceil(50 * 0.75 * FIRST_LOOK / SEARCH_INTERVAL)
        meter.start_request(0)
        await trio.sleep(100)
        assert of(programs).looks < 300


async def test_the_threads_of_a_program_are_searched_for_after_a_slow_answer(
    programs: list[Program | None], autojump_clock: object
) -> None:
    program = of(programs)
    async with running(programs) as meter:
        meter.start_request(0)
        program.wait(WORKER, 0.0, 9.0)
        await trio.sleep(2.5 * FIRST_LOOK)
        meter.start_request(0)  # the worker has waited before
        await trio.sleep(1.0)
        assert meter.seconds_waiting(0, 1.0) == pytest.approx(0.5)


class Answering:
    pids = ()
    root = None
    known_threads: KnownThreads | None = None
    cpu_seconds_so_far = 0.25


@pytest.mark.parametrize(
    ("processor", "waited", "noted"),
    [
        (0.5, 0.25, 0.25),
        (0.5, 2.0, 1.5),  # it had one core for itself: the rest of the time
        (3.0, 2.0, 0.0),  # its own threads competed with each other
    ],
)
def test_a_program_waits_for_others_only_in_the_time_that_its_one_core_leaves(
    processor: float, waited: float, noted: float
) -> None:
    meter, program = AnswerMeter(), Answering()
    meter.start_request(program)
    program.cpu_seconds_so_far += processor
    meter.end_request(program, 2.0, waited)
    [answer] = meter.answers
    assert (answer.seconds, answer.processor, answer.waited) == pytest.approx((2.0, processor, noted))
    assert answer.others >= 0.0


def test_an_answer_without_a_request_is_not_measured() -> None:
    meter = AnswerMeter()
    meter.end_request(Answering(), 1.0, 0.0)
    meter.start_request(None)
    meter.end_request(Answering(), 1.0, 0.0)
    assert meter.answers == []
