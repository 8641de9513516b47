"""Deciding which pairs are played next, on which machines, and which answers count.

Invariants: nothing here waits or reads a clock. Each pair is accepted once, whichever of its attempts is finished
first, and no pair is given up while a machine can play it. An attempt belongs to one machine, and a machine never has
more attempts under way than slots. A machine that has refused a pair gets no more pairs for a while, or for ever.
"""

from __future__ import annotations

import enum
import itertools
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

HOLD: Final = 1.0
"""Seconds for which a busy machine gets no pairs; doubled with each further refusal, up to MAX_HOLD."""
MAX_HOLD: Final = 8.0
"""Low, since a refusal costs next to nothing, and a machine that waits longer than it is busy plays nothing."""
MAX_FAILURES: Final = 3
"""A machine on which this many attempts in a row have failed gets no more pairs."""


class Standing(enum.Enum):
    """Whether a machine may play."""

    PREPARING = enum.auto()
    READY = enum.auto()
    UNABLE = enum.auto()


@dataclass(slots=True)
class Machine:
    """A worker of the cluster; `address` is that of the Dask worker."""

    address: str
    host: str = ""
    offset: int = 0
    """Its number among the workers on the same host, from 0."""
    standing: Standing = Standing.PREPARING
    name: str = ""
    slots: int = 0
    """The number of pairs that it plays at the same time."""
    speed: float = 1.0
    """The speed of its cores, as `spielleiter check` estimates it."""
    reason: str = ""
    """Why it is unable."""
    held_until: float = 0.0
    refusals: int = 0
    """How often in a row it was too busy."""
    failures: int = 0
    """How many attempts in a row have failed there."""


@dataclass(frozen=True, slots=True)
class PairAttempt:
    """An attempt to play a pair on the machine at `address`."""

    pair: int
    number: int
    address: str


class Allocation:
    """The remaining `pairs` of a match, and the machines.

    `limit` is the highest number of attempts at the same time; None: as many as the machines have slots. Machines that
    are slower than the fastest one by more than `max_slowdown` get no pairs.
    """

    def __init__(self, pairs: Iterable[int], limit: int | None = None, max_slowdown: float | None = None) -> None:
        self.pairs = deque(pairs)
        self.limit = limit
        self.max_slowdown = max_slowdown
        self.machines: dict[str, Machine] = {}
        self.running: dict[int, PairAttempt] = {}
        """By pair: the attempt that is under way."""
        self.done: set[int] = set()
        self._attempts = 0

    # -- machines ---------------------------------------------------------------------------------------------------

    def join(self, address: str, host: str = "") -> Machine:
        """Add a worker that has joined the cluster; it gets no pairs before it is ready."""
        taken = {each.offset for each in self.machines.values() if each.host == host}
        offset = next(number for number in itertools.count() if number not in taken)
        machine = self.machines[address] = Machine(address, host, offset)
        return machine

    def make_ready(self, address: str, name: str, slots: int, speed: float) -> None:
        """Let a prepared machine play."""
        machine = self.machines[address]
        machine.name, machine.slots, machine.speed, machine.standing = name, slots, speed, Standing.READY

    def make_unable(self, address: str, reason: str) -> None:
        """Give no more pairs to a machine."""
        machine = self.machines[address]
        machine.standing, machine.reason = Standing.UNABLE, reason

    def leave(self, address: str) -> list[PairAttempt]:
        """Remove a worker that has left. Returns its attempts that were under way, to be cancelled."""
        self.machines.pop(address, None)
        stranded = [each for each in self.running.values() if each.address == address]
        for each in stranded:
            self.lose(each)
        return stranded

    def too_slow(self, machine: Machine) -> bool:
        """Whether `max_slowdown` leaves this machine out."""
        if self.max_slowdown is None:
            return False
        fastest = max(each.speed for each in self.machines.values() if each.standing is Standing.READY)
        return machine.speed * self.max_slowdown < fastest

    def eligible(self, now: float) -> list[Machine]:
        """The machines that may get a pair now."""
        return [
            each
            for each in self.machines.values()
            if each.standing is Standing.READY and each.held_until <= now and not self.too_slow(each)
        ]

    @property
    def is_hopeless(self) -> bool:
        """Whether there are machines, and none of them is able, or may become able, to play."""
        return bool(self.machines) and all(each.standing is Standing.UNABLE for each in self.machines.values())

    # -- pairs ------------------------------------------------------------------------------------------------------

    @property
    def is_done(self) -> bool:
        """Whether all pairs are accepted."""
        return not self.pairs and not self.running

    def next_attempts(self, now: float) -> list[PairAttempt]:
        """Take the pairs that can be played now; the machine with the most free slots gets the next one."""
        free = {each.address: each.slots for each in self.eligible(now)}
        for each in self.running.values():
            if each.address in free:
                free[each.address] -= 1
        taken = []
        while self.pairs and free and (self.limit is None or len(self.running) < self.limit):
            address = max(free, key=free.__getitem__)
            if free[address] <= 0:
                break
            free[address] -= 1
            self._attempts += 1
            attempt = PairAttempt(self.pairs.popleft(), self._attempts, address)
            self.running[attempt.pair] = attempt
            taken.append(attempt)
        return taken

    def accept(self, attempt: PairAttempt) -> bool:
        """Note that an attempt is finished; False if the pair was accepted before, and this answer must be ignored."""
        self._end(attempt)
        if attempt.pair in self.done:
            return False
        if attempt.pair in self.pairs:  # it was taken for lost
            self.pairs.remove(attempt.pair)
        self.done.add(attempt.pair)
        if (machine := self.machines.get(attempt.address)) is not None:
            machine.refusals = machine.failures = 0
        return True

    def refuse(self, attempt: PairAttempt, reason: str, now: float, *, is_overloaded: bool) -> None:
        """Note that a machine has refused a pair, which is played elsewhere or later."""
        self.lose(attempt)
        machine = self.machines.get(attempt.address)
        if machine is None:
            return
        if is_overloaded:
            machine.held_until = now + min(MAX_HOLD, HOLD * 2**machine.refusals)
            machine.refusals += 1
            return
        machine.failures += 1
        machine.held_until = now + HOLD
        if machine.failures >= MAX_FAILURES:
            self.make_unable(attempt.address, reason)

    def lose(self, attempt: PairAttempt) -> None:
        """Note that an attempt was lost; its pair is played again, before all others."""
        if self._end(attempt) and attempt.pair not in self.done:
            self.pairs.appendleft(attempt.pair)

    def _end(self, attempt: PairAttempt) -> bool:
        """End an attempt; False if another one is under way for the same pair, or none."""
        if self.running.get(attempt.pair) is not attempt:
            return False
        del self.running[attempt.pair]
        return True
