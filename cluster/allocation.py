"""The machines of a cluster, and which of them gets the next pair. Nothing here waits or reads a clock."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

HOLD: Final = 1.0
"""Seconds for which a busy machine gets no pairs; doubled with each further refusal, up to MAX_HOLD."""
MAX_HOLD: Final = 8.0
"""Low, since a refusal costs next to nothing, and a machine that waits longer than it is busy plays nothing."""
MAX_FAILURES: Final = 3
"""A machine on which this many pairs in a row have failed gets no more pairs."""


class Standing(enum.Enum):
    """Whether a machine may play."""

    ABSENT = enum.auto()
    """Its worker has left; it may join again."""
    PREPARING = enum.auto()
    READY = enum.auto()
    UNABLE = enum.auto()
    """It gets no more pairs, for `Machine.reason`."""


@dataclass(slots=True, eq=False)
class Machine:
    """A worker of the cluster; `address` is that of the Dask worker. It may leave and join again."""

    address: str
    host: str
    name: str = ""
    """Empty until it has been asked for the first time."""
    standing: Standing = Standing.ABSENT
    offset: int = 0
    """Its number among the workers on the same host, from 0."""
    site: str = ""
    """The name of its site."""
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
    """How many pairs in a row have failed there."""
    reopenings: int = 0
    """How often its site was lost since a pair was played there."""
    pairs: set[int] = field(default_factory=set)
    """The pairs that are under way there."""
    started: set[int] = field(default_factory=set)
    """The programs that have played there."""

    def join(self, others: Collection[Machine]) -> None:
        """Prepare a machine whose worker has joined; it gets no pairs before it is ready."""
        present = [each for each in others if each is not self and each.standing is not Standing.ABSENT]
        taken = {each.offset for each in present if each.host == self.host}
        self.offset = next(number for number in itertools.count() if number not in taken)
        self.standing, self.reason = Standing.PREPARING, ""
        self.held_until, self.refusals, self.failures = 0.0, 0, 0

    def exclude(self, reason: str) -> bool:
        """Give it no more pairs; False if it gets none already."""
        if self.standing is Standing.UNABLE:
            return False
        self.standing, self.reason = Standing.UNABLE, reason
        return True

    def accept(self) -> None:
        """Note that it has played a pair."""
        self.refusals = self.failures = self.reopenings = 0

    def refuse(self, reason: str, now: float, *, is_overloaded: bool) -> bool:
        """Note that it has refused a pair, which is played elsewhere or later. True if it gets no more from now on."""
        if is_overloaded:
            self.held_until = now + min(MAX_HOLD, HOLD * 2**self.refusals)
            self.refusals += 1
            return False
        self.failures += 1
        self.held_until = now + HOLD
        return self.failures >= MAX_FAILURES and self.exclude(reason)


def too_slow(machines: Collection[Machine], max_slowdown: float | None) -> set[Machine]:
    """The ready machines that are slower than the fastest one by more than `max_slowdown`; None: all are used."""
    ready = [each for each in machines if each.standing is Standing.READY]
    fastest = max((each.speed for each in ready), default=0.0)
    return {each for each in ready if max_slowdown is not None and each.speed * max_slowdown < fastest}


def choose_machine(machines: Collection[Machine], now: float, max_slowdown: float | None) -> Machine | None:
    """The machine that gets the next pair: the one with the most free slots; None if no machine can play it now."""
    slow = too_slow(machines, max_slowdown)
    free = [
        each
        for each in machines
        if each.standing is Standing.READY
        and each.held_until <= now
        and each not in slow
        and len(each.pairs) < each.slots
    ]
    return max(free, key=lambda each: each.slots - len(each.pairs), default=None)


def is_hopeless(machines: Collection[Machine]) -> bool:
    """Whether there are machines, and none of them is able, or may become able, to play."""
    standings = {each.standing for each in machines} - {Standing.ABSENT}
    return standings == {Standing.UNABLE}


def machine_name(label: str, host: str, taken: Collection[str]) -> str:
    """The name of a machine: that of its Dask worker, or its host's if the worker is only numbered or has none.

    Further workers on the same host are numbered.
    """
    if not (label.isdecimal() or "://" in label):
        return label
    if host not in taken:
        return host
    return next(name for number in itertools.count(2) if (name := f"{host}-{number}") not in taken)
