"""Limits the rate of wrong passwords, by address and for all addresses together.

Invariants: the right password is never delayed. A wrong one is answered late if there were a few wrong ones from its
address before: each further attempt in the same window is delayed by one second more, up to a limit. A delayed answer
that is still waiting counts as a failure. If there were too many wrong passwords from all addresses together, every
further one is answered after the longest delay.

The number of delayed answers is bounded, which bounds how many passwords can be tried. While
`MAX_WAITING_PER_ADDRESS` answers to one address are waiting, no further password from there is checked; other addresses
are not affected. While `MAX_WAITING` answers to all addresses are waiting, only passwords from addresses without a
failure in the window are checked, and a wrong one is answered without a delay. `NEWCOMERS_RATE` bounds these for all
addresses together. The memory used is bounded. `now` is always an argument, in seconds.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from spielleiter.server.core.token_bucket import TokenBucket

MAX_ADDRESSES: Final = 4096
"""The maximum number of remembered addresses; the one whose last failure is oldest is forgotten first."""
ALL_ADDRESSES_FACTOR: Final = 20
"""The number of failures allowed for all addresses together, as a multiple of that for one address."""
MAX_WAITING: Final = 256
"""The number of waiting answers at which only passwords from addresses without a failure are checked."""
MAX_WAITING_PER_ADDRESS: Final = 64
"""The number of waiting answers to one address at which no further password from there is checked."""
NEWCOMERS_RATE: Final = 10.0
"""The passwords per second, from all addresses together, that are checked while `MAX_WAITING` answers are waiting."""
NEWCOMERS_BURST: Final = 1024.0


class PasswordGuard:
    """Delays answers after `attempts` wrong passwords in `window` seconds, by at most `longest_delay` seconds."""

    __slots__ = ("_all_failures", "_attempts", "_failures", "_longest_delay", "_newcomers", "_waiting", "_window")

    def __init__(self, attempts: int, window: float, longest_delay: float) -> None:
        self._attempts = attempts
        self._window = window
        self._longest_delay = longest_delay
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._all_failures: deque[float] = deque(maxlen=attempts * ALL_ADDRESSES_FACTOR)
        self._waiting: Counter[str] = Counter()
        """The number of waiting answers by address. Each counts as a failure, so parallel attempts are delayed too."""
        self._newcomers = TokenBucket(NEWCOMERS_RATE, NEWCOMERS_BURST)

    @property
    def is_crowded(self) -> bool:
        """Whether so many answers are waiting that no further one may."""
        return self._waiting.total() >= MAX_WAITING

    def admit(self, address: str, now: float) -> bool:
        """Return whether the next password from `address` is checked; it may use up some of `NEWCOMERS_RATE`."""
        if self._waiting[address] >= MAX_WAITING_PER_ADDRESS:
            return False
        if not self.is_crowded:
            return True
        if self._waiting[address] or self._recent(address, now) or self._newcomers.take(0.0, now):
            return False
        self._newcomers.take(1.0, now)
        return True

    def note_failure(self, address: str, now: float) -> None:
        """Note a wrong password from `address`."""
        failures = self._failures.setdefault(address, deque(maxlen=self._attempts + int(self._longest_delay) + 1))
        failures.append(now)
        self._failures.move_to_end(address)
        if len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)
        self._all_failures.append(now)

    def delay(self, address: str, now: float) -> float:
        """Return the seconds by which the answer to a wrong password from `address` is delayed."""
        if self.is_crowded:
            return 0.0
        self._drop_expired(self._all_failures, now)
        if len(self._all_failures) + self._waiting.total() >= self._attempts * ALL_ADDRESSES_FACTOR:
            return self._longest_delay
        over = self._recent(address, now) + self._waiting[address] - self._attempts + 1
        return min(self._longest_delay, max(0.0, float(over)))

    def _recent(self, address: str, now: float) -> int:
        """Return the number of failures of `address` in the window."""
        failures = self._failures.get(address)
        if failures is None:
            return 0
        self._drop_expired(failures, now)
        if not failures:
            del self._failures[address]
        return len(failures)

    def _drop_expired(self, failures: deque[float], now: float) -> None:
        """Drop the failures before the window."""
        while failures and failures[0] <= now - self._window:
            failures.popleft()

    @contextmanager
    def waiting(self, address: str) -> Iterator[None]:
        """Count an answer to `address` as waiting within this context."""
        self._waiting[address] += 1
        try:
            yield
        finally:
            self._waiting[address] -= 1
            self._waiting += Counter()  # drop addresses whose count is 0
