"""Wrong passwords: who has tried how often, and how long the next answer waits.

Law: an address may be wrong a few times; each further try in the same window makes its answers wait a second more, up
to a limit. An answer that waits counts like a mistake. Others do not wait. What is remembered is bounded. `now` is
always an argument, in seconds.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ADDRESSES: Final = 4096
"""So many addresses are remembered at most; the one that was wrong longest ago is forgotten first."""


class PasswordGuard:
    """`attempts` wrong passwords in `window` seconds are free; then answers wait, at most `longest_delay` seconds."""

    __slots__ = ("_attempts", "_failures", "_longest_delay", "_waiting", "_window")

    def __init__(self, attempts: int, window: float, longest_delay: float) -> None:
        self._attempts = attempts
        self._window = window
        self._longest_delay = longest_delay
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._waiting: Counter[str] = Counter()
        """By address: answers that wait now; each counts as if it had failed already, or many at once waited as one."""

    def has_failed(self, address: str, now: float) -> None:
        """A wrong password came from `address`."""
        failures = self._failures.setdefault(address, deque(maxlen=self._attempts + int(self._longest_delay) + 1))
        failures.append(now)
        self._failures.move_to_end(address)
        if len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)

    def delay(self, address: str, now: float) -> float:
        """Seconds the next answer to `address` has to wait."""
        failures = self._failures.get(address)
        if failures is None:
            return 0.0
        while failures and failures[0] <= now - self._window:
            failures.popleft()
        if not failures:
            del self._failures[address]
        over = len(failures) + self._waiting[address] - self._attempts + 1
        return min(self._longest_delay, max(0.0, float(over)))

    @contextmanager
    def waiting(self, address: str) -> Iterator[None]:
        """An answer to `address` waits as long as this lasts."""
        self._waiting[address] += 1
        try:
            yield
        finally:
            self._waiting[address] -= 1
            self._waiting += Counter()  # forget who waits for nothing any more
