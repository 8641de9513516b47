"""Wrong passwords: who has tried how often, and how long the answer waits.

Invariants: the right password never waits, whoever else calls from the same address. A wrong one is answered late once
its address was wrong a few times: each further try in the same window makes the answer wait a second more, up to
a limit. An answer that waits counts like a mistake. If all addresses together were wrong too often, each wrong answer
waits as long as any may; and if too many answers wait, passwords are not looked at for the moment. So there is a bound
for all addresses together: `AT_ONCE` passwords in the time of the longest delay, and those that are free. What is
remembered is bounded. `now` is always an argument, in seconds.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ADDRESSES: Final = 4096
"""So many addresses are remembered at most; the one that was wrong longest ago is forgotten first."""
EVERYBODY: Final = 20
"""All addresses together may be wrong so many times as often as one."""
AT_ONCE: Final = 256
"""While so many answers wait, no further password is looked at."""


class PasswordGuard:
    """`attempts` wrong passwords in `window` seconds are free; then answers wait, at most `longest_delay` seconds."""

    __slots__ = ("_all_failures", "_attempts", "_failures", "_longest_delay", "_waiting", "_window")

    def __init__(self, attempts: int, window: float, longest_delay: float) -> None:
        self._attempts = attempts
        self._window = window
        self._longest_delay = longest_delay
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._all_failures: deque[float] = deque(maxlen=attempts * EVERYBODY)
        self._waiting: Counter[str] = Counter()
        """By address: answers that wait now; each counts as if it had failed already, or many at once waited as one."""

    @property
    def is_crowded(self) -> bool:
        """So many answers wait that nobody's password is looked at."""
        return self._waiting.total() >= AT_ONCE

    def has_failed(self, address: str, now: float) -> None:
        """A wrong password came from `address`."""
        failures = self._failures.setdefault(address, deque(maxlen=self._attempts + int(self._longest_delay) + 1))
        failures.append(now)
        self._failures.move_to_end(address)
        if len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)
        self._all_failures.append(now)

    def delay(self, address: str, now: float) -> float:
        """Seconds the answer to a wrong password from `address` has to wait."""
        self._forget(self._all_failures, now)
        if len(self._all_failures) + self._waiting.total() >= self._attempts * EVERYBODY:
            return self._longest_delay
        failures = self._failures.get(address)
        if failures is None:
            return 0.0
        self._forget(failures, now)
        if not failures:
            del self._failures[address]
        over = len(failures) + self._waiting[address] - self._attempts + 1
        return min(self._longest_delay, max(0.0, float(over)))

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
