"""Measuring how long this machine delayed programs: they waited for a processor because of others.

For a program that thinks for too long, only what happened since its request counts, and only what others
have caused (`Usage`). The processes are looked at before the request is sent, and then again and again until the
answer, since the system forgets how long a thread has waited that has ended. The threads of a program are searched for
four times a second while it answers quickly; at the other requests, only the known ones are looked at. A search takes
a quarter of its time if it finds the same threads as the last one, in this game or in an earlier one of the process.

A thread that sleeps (`nanosleep`) waits for nobody: its sleep takes as long on an idle machine. So a delay excuses at
most the time in which no thread that was there at the request slept without interruption; and if it slept until after
the limit, what others waited for meanwhile excuses nothing. Looks come late on a busy machine, so where a sleep began
and ended is calculated from the processor time, the waiting and the switches of the thread, not from the looks alone:
a few switches beside the sleep are taken for short ones, as when processes are started or ended.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import trio

from spielleiter.programs.linux_processes import KnownThreads, ThreadUsage, Usage, cpu_seconds_of, machine_busy

FIRST_LOOK: Final = 0.02
"""The seconds from a request to the next look at the processes, and the shortest time between two looks."""
_QUICK: Final = 2 * FIRST_LOOK  # seconds; mostly, a program that answers within them is looked at once meanwhile
SEARCH_INTERVAL: Final = 0.25
"""The seconds for which the threads that a search has found are taken for all threads of a program."""
_GROWTH: Final = 20  # the time between two looks is this part of that since the request, so long requests cost little
_AFTER_LIMIT: Final = 0.005  # seconds; the clock starts a little later than the measurement
_AT_LIMIT: Final = 0.0025  # seconds; half of that
_SHORTEST: Final = 0.001  # seconds; a shorter pause than this may be none
_FEW: Final = 8  # as many short waits as it takes to start a process or two, or to end them
_GAP: Final = 0.3  # seconds between two looks in which several waits are taken for short ones


class MeasuredProcesses(Protocol):
    """A program whose processes are measured."""

    known_threads: KnownThreads | None
    """What the last search has found, once it was looked at again; the program closes it at its end."""

    @property
    def root(self) -> int | None:
        """The id of the process that all processes of the program are below, None if there is none."""
        ...

    @property
    def pids(self) -> Collection[int]: ...

    @property
    def cpu_seconds_so_far(self) -> float: ...


@dataclass
class _Sleep:
    """A sleep of a thread, seen at one look or several without running in between. Seconds since the request."""

    begin: float
    waited_before: float
    """The waiting of all threads before `begin`."""
    last: float
    """The last of these looks."""
    usage: ThreadUsage
    """What the thread had used at that look."""
    after: ThreadUsage | None = None
    """What it had used at the next look, when it was awake; None if it had ended."""
    after_at: float = math.inf
    """The time of that look; infinite if the thread has slept at all looks."""

    def end(self, answer: float) -> float:
        """Return when the thread awoke, or the last look at which it slept if that is not known.

        The program has answered at `answer`, maybe before the next look.
        """
        if self.after_at == math.inf:
            return answer
        if self.after is None:
            return self.last
        change = self.after.since(self.usage)
        has_answered = self.after_at >= answer and self.after.is_listening
        if change.switches == 0 or (has_answered and _is_short(change.switches, answer - self.last)):
            return max(self.last, min(self.after_at, answer) - change.ran - change.waited)
        return self.last


class SchedulingDelayMeter:
    """Measures the programs of a game while `run` runs; each of them may use `cores` processor cores.

    `programs` may be filled after this was created. `limits` are their soft time limits in seconds.
    """

    def __init__(self, programs: Sequence[MeasuredProcesses | None], limits: tuple[float, float], cores: int) -> None:
        self._programs = programs
        self._limits = limits
        self._cores = cores
        self._asked: int | None = None
        """The program that was asked last."""
        self._requested_at = -math.inf
        self._found: list[tuple[float, Usage]] = 2 * [(-math.inf, Usage({}))]
        """By program: when its threads were searched for last, and the result."""
        self._usage_at_request: Callable[[], Usage] | None = None
        """Set until the first look after the request."""
        self._due = math.inf
        self._pause = trio.CancelScope()
        self._pause_ends = math.inf
        """The deadline of `_pause`, which is slow to ask for."""
        self._at_request = self._last = Usage({})
        self._last_at = -math.inf
        self._waited = 0.0
        """The waiting until the last look."""
        self._shares: dict[int, float] = {}
        """The part of the time between the last two looks that each thread waited."""
        self._sleeps: list[_Sleep] = []
        """The sleeps of threads since the request."""
        self._asleep: dict[int, _Sleep] = {}
        """Those that lasted at the last look, by the thread."""

    async def run(self) -> None:
        """Look at the program that was asked while it thinks, until cancelled."""
        while True:
            self._pause_ends = self._due
            with trio.CancelScope(deadline=self._due) as self._pause:
                await trio.sleep_forever()
            if trio.current_time() < self._due:  # another request was made meanwhile
                continue
            self.look()
            thought = self._last_at - self._requested_at
            pause = max(FIRST_LOOK, thought / _GROWTH)
            after_limit = math.inf if self._asked is None else self._limits[self._asked] + _AFTER_LIMIT - thought
            self._due = self._last_at + (after_limit if _SHORTEST < after_limit < pause else pause)

    def _search(self, program: int) -> Usage:
        """Return the usage of all threads of `program`."""
        measured = self._programs[program]
        known = None if measured is None else measured.known_threads
        usage = None if known is None else known.confirm()
        if usage is None:
            if measured is not None and known is not None:
                known.close()
                measured.known_threads = None
            usage = usage_of(measured)
        self._found[program] = trio.current_time(), usage
        return usage

    def _look_at_known(self, program: int, *, is_brief: bool = False) -> Callable[[], Usage] | None:
        """Return the usage of the threads that the last search has found.

        None if it was too long ago, or if one of them has ended, as the time of its process is then unknown.
        """
        searched_at, found = self._found[program]
        measured = self._programs[program]
        if measured is None or trio.current_time() >= searched_at + SEARCH_INTERVAL:
            return None
        if measured.known_threads is None:
            measured.known_threads = KnownThreads(found, measured.root)
        return measured.known_threads.look(is_brief=is_brief)

    def start_request(self, program: int) -> None:
        """Note that `program` is asked for a move next."""
        self._asked = program
        self._requested_at = self._last_at = trio.current_time()
        self._usage_at_request = self._look_at_known(program, is_brief=True)
        if self._usage_at_request is None:
            found = self._search(program)
            self._usage_at_request = lambda: found
        self._waited = 0.0
        self._sleeps, self._asleep, self._shares = [], {}, {}
        self._due = self._requested_at + FIRST_LOOK if self._found[program][1].threads else math.inf
        if self._due < self._pause_ends:  # an earlier deadline need not be changed, which would take some time
            self._pause.deadline = self._pause_ends = self._due

    def seconds_waiting(self, program: int, think_time: float) -> float:
        """Return for how many of the last `think_time` seconds, since the request, this machine delayed `program`."""
        if program != self._asked:
            return 0.0
        self.look(think_time)
        most = self._last.most_caused_by_others(self._at_request, think_time, self._cores)
        for sleep in self._sleeps:
            end = min(think_time, sleep.end(think_time))
            most = min(most, think_time - max(0.0, end - sleep.begin))
            if end >= self._limits[program] + _AT_LIMIT:  # it would not have answered in time, whatever others did
                most = min(most, sleep.waited_before + think_time - end)
        return max(0.0, min(self._waited, most))

    def look(self, answer: float = math.inf) -> None:
        """Look at the program that was asked; `answer` are the seconds after which it has answered."""
        if self._asked is None:
            return
        look = None
        if self._usage_at_request is not None:  # the first look
            self._at_request = self._last = self._usage_at_request()
            self._usage_at_request = None
            if trio.current_time() - self._requested_at < _QUICK and answer == math.inf:
                look = self._look_at_known(self._asked)
        now, at = self._search(self._asked) if look is None else look(), trio.current_time()
        thought = at - self._requested_at
        longest = now.longest_wait(self._last, at - self._last_at, self._cores)
        # a thread that has ended since the last look may have waited until the answer as it did before that look
        unseen = max(0.0, min(thought, answer) - (self._last_at - self._requested_at))
        ended = self._shares.keys() - now.threads.keys()
        self._waited += max(longest, unseen * max((self._shares[thread] for thread in ended), default=0.0))
        self._shares = now.waiting_shares(self._last, at - self._last_at, self._cores)
        for thread, sleep in tuple(self._asleep.items()):
            usage = now.threads.get(thread)
            if usage is not None and usage.is_asleep and usage.ran == sleep.usage.ran:
                sleep.last, sleep.usage = thought, usage
            else:
                del self._asleep[thread]
                sleep.after, sleep.after_at = usage, thought
        for thread, before in self._at_request.threads.items():
            usage = now.threads.get(thread)
            is_new = usage is not None and usage.is_asleep and not before.is_asleep and thread not in self._asleep
            if usage is not None and is_new and thought < answer:
                begin, waited_before = thought, self._waited
                change = usage.since(before)
                if before.is_listening and _is_short(change.switches, thought):
                    begin, waited_before = min(thought, change.ran + change.waited), change.waited
                self._asleep[thread] = _Sleep(begin, waited_before, thought, usage)
                self._sleeps.append(self._asleep[thread])
        self._last, self._last_at = now, at


def _is_short(switches: int | None, seconds: float) -> bool:
    """Return whether a thread that has switched so often in `seconds` has made one long wait at most."""
    return switches == 1 or (switches is not None and 1 < switches <= _FEW and seconds <= _GAP)


def usage_of(program: MeasuredProcesses | None) -> Usage:
    """Return the usage of a program and of everything that it has started, so far."""
    if program is None or sys.platform != "linux":
        return Usage({})
    if program.root is None:
        return Usage.of(program.pids, program.cpu_seconds_so_far)
    pids = program.pids  # which takes long to find
    return Usage.of(pids, cpu_seconds_of(pids, program.root))


# -- the answers of a program in a check ------------------------------------------------------------------------------

_CORES = 1  # that a program has in a check, as in the contest


@dataclass(frozen=True, slots=True)
class AnswerTimes:
    """What happened during one answer, in seconds."""

    seconds: float
    """The time from the request to the answer."""
    processor: float
    """The processor time of the program and of everything that it has started."""
    waited: float = 0.0
    """How long it waited for a processor because of other programs."""
    others: float = 0.0
    """The processor time of all other programs of this machine; 0 if that is not known."""


class AnswerMeter:
    """Measures one program of a game; `answers` are those so far."""

    def __init__(self) -> None:
        self.answers: list[AnswerTimes] = []
        self._before: tuple[float, float | None] | None = None

    def start_request(self, program: MeasuredProcesses | None) -> None:
        """Note that one of the programs is asked for a move next."""
        self._before = None if program is None else (program.cpu_seconds_so_far, machine_busy())

    def end_request(self, program: MeasuredProcesses | None, seconds: float, waited: float) -> None:
        """Note that `program` has answered the last request after `seconds`, and `waited` because of others."""
        if program is None or self._before is None:
            return
        (processor_before, busy_before), busy = self._before, machine_busy()
        processor = max(0.0, program.cpu_seconds_so_far - processor_before)
        others = 0.0 if busy is None or busy_before is None else max(0.0, busy - busy_before - processor)
        waited = max(0.0, min(waited, seconds - processor / _CORES))
        self.answers.append(AnswerTimes(seconds, processor, waited, others))
