"""Wrong passwords: who has tried how often, and how long the answer waits.

Invariants: the right password never waits. A wrong one is answered late once its address was wrong a few times: each
further try in the same window makes the answer wait a second more, up to a limit. An answer that waits counts like a
mistake. If all addresses together were wrong too often, each wrong answer waits as long as any may.

How many answers wait is bounded, and that bounds how many passwords can be tried. While `EACH_AT_ONCE` of one address
wait, no further password from there is looked at, which concerns no other address. While `AT_ONCE` of all addresses
wait, an address without a mistake in the window still has its password looked at; if it is wrong, it is answered
without a delay. `NEWCOMERS_RATE` bounds these for all addresses together. What is remembered is bounded. `now` is
always an argument, in seconds.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from spielleiter.server.core.token_bucket import TokenBucket

ADDRESSES: Final = 4096
"""So many addresses are remembered at most; the one that was wrong longest ago is forgotten first."""
EVERYBODY: Final = 20
"""All addresses together may be wrong so many times as often as one."""
AT_ONCE: Final = 256
"""While so many answers wait, only passwords from addresses without a mistake are looked at."""
EACH_AT_ONCE: Final = 64
"""While so many answers to one address wait, no further password from there is looked at."""
NEWCOMERS_RATE: Final = 10.0
"""So many passwords a second are looked at while `AT_ONCE` answers wait, from all addresses together."""
NEWCOMERS_BURST: Final = 1024.0


class PasswordGuard:
    """`attempts` wrong passwords in `window` seconds are free; then answers wait, at most `longest_delay` seconds."""

    __slots__ = ("_all_failures", "_attempts", "_failures", "_longest_delay", "_newcomers", "_waiting", "_window")

    def __init__(self, attempts: int, window: float, longest_delay: float) -> None:
        self._attempts = attempts
        self._window = window
        self._longest_delay = longest_delay
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._all_failures: deque[float] = deque(maxlen=attempts * EVERYBODY)
        self._waiting: Counter[str] = Counter()
        """By address: answers that wait now; each counts as if it had failed already, or many at once waited as one."""
        self._newcomers = TokenBucket(NEWCOMERS_RATE, NEWCOMERS_BURST)

    @property
    def is_crowded(self) -> bool:
        """So many answers wait that no further one may."""
        return self._waiting.total() >= AT_ONCE

    def admit(self, address: str, now: float) -> bool:
        """Whether the next password from `address` is looked at; a look counts."""
        if self._waiting[address] >= EACH_AT_ONCE:
            return False
        if not self.is_crowded:
            return True
        if self._waiting[address] or self._recent(address, now) or self._newcomers.take(0.0, now):
            return False
        self._newcomers.take(1.0, now)
        return True

    def note_failure(self, address: str, now: float) -> None:
        """A wrong password came from `address`."""
        failures = self._failures.setdefault(address, deque(maxlen=self._attempts + int(self._longest_delay) + 1))
        failures.append(now)
        self._failures.move_to_end(address)
        if len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)
        self._all_failures.append(now)

    def delay(self, address: str, now: float) -> float:
        """Seconds the answer to a wrong password from `address` has to wait."""
        if self.is_crowded:
            return 0.0
        self._forget(self._all_failures, now)
        if len(self._all_failures) + self._waiting.total() >= self._attempts * EVERYBODY:
            return self._longest_delay
        over = self._recent(address, now) + self._waiting[address] - self._attempts + 1
        return min(self._longest_delay, max(0.0, float(over)))

    def _recent(self, address: str, now: float) -> int:
        """How many mistakes of `address` count."""
        failures = self._failures.get(address)
        if failures is None:
            return 0
        self._forget(failures, now)
        if not failures:
            del self._failures[address]
        return len(failures)

    def _forget(self, failures: deque[float], now: float) -> None:
        """Drop the mistakes that do not count any more."""
        while failures and failures[0] <= now - self._window:
            failures.popleft()

    @contextmanager
    def waiting(self, address: str) -> Iterator[None]:
        """An answer to `address` waits as long as this lasts."""
        self._waiting[address] += 1
        try:
            yield
        finally:
            self._waiting[address] -= 1
            self._waiting += Counter()  # forget who waits for nothing any more
