"""Limits the rate of wrong passwords, by address and for all addresses together.

Invariants: every password is checked within `LONGEST_WAIT` seconds: no number of wrong ones keeps out the right one. At
most `CHECKS_AT_ONCE` wrong ones are checked at once, and `CHECKS_PER_SECOND` in the long run. If there are more, all
wait for their turn: one address after the other, and those of one address in the order of arrival. Only passwords that
have waited for the longest time are checked beyond this rate, so a guesser needs many connections to make it higher. A
right password uses up nothing, and its answer is not delayed.

A wrong one is answered late if there were a few wrong ones from its address before: each further attempt in the same
window is delayed by one second more, up to a limit. A delayed answer that is still waiting counts as a failure. If
there were too many wrong passwords from all addresses together, every further one is answered after the longest delay.

What is remembered is bounded, but not the number of callers that wait: each of them belongs to a connection, and has to
be cancelled with it. `now` is always an argument, in seconds.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakValueDictionary

import trio

from spielleiter.server.core.clock import TokenBucket

MAX_ADDRESSES: Final = 4096
"""The maximum number of remembered addresses; the one whose last failure is oldest is forgotten first."""
ALL_ADDRESSES_FACTOR: Final = 20
"""The number of failures allowed for all addresses together, as a multiple of that for one address."""
CHECKS_PER_SECOND: Final = 10.0
CHECKS_AT_ONCE: Final = 100.0
LONGEST_WAIT: Final = 5.0
"""Seconds; clients wait longer than this for an answer."""


class PasswordGuard:
    """Delays answers after `attempts` wrong passwords in `window` seconds, by at most `longest_delay` seconds."""

    def __init__(self, attempts: int, window: float, longest_delay: float) -> None:
        self._attempts = attempts
        self._window = window
        self._longest_delay = longest_delay
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._all_failures: deque[float] = deque(maxlen=attempts * ALL_ADDRESSES_FACTOR)
        self._waiting: Counter[str] = Counter()
        """The number of waiting answers by address. Each counts as a failure, so parallel attempts are delayed too."""
        self._checks = TokenBucket(CHECKS_PER_SECOND, CHECKS_AT_ONCE)
        self._check_lock = trio.Lock()
        """Held by the password that is checked next."""
        self._address_locks: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()
        """By address, the lock that is held by its password that arrived first and is not checked yet."""

    async def wait_to_answer(
        self, address: str, on_wrong: Callable[[float], None] | None = None, *, is_right: bool
    ) -> None:
        """Wait until a password from `address` may be answered, and note the failure if it is wrong.

        When the turn of a wrong one has come, `on_wrong` is called with the seconds by which its answer is delayed. A
        caller that leaves during the delay has failed nevertheless.
        """
        await self.wait_for_turn(address)
        now = trio.current_time()
        if is_right:
            self._checks.take(-1.0, now)
            return
        try:
            delay = self.delay(address, now)
            if on_wrong is not None:
                on_wrong(delay)
            with self.waiting(address):
                await trio.sleep(delay)
        finally:
            self.note_failure(address, trio.current_time())

    async def wait_for_turn(self, address: str) -> None:
        """Wait until the next password from `address` may be checked, usually not at all, LONGEST_WAIT at most."""
        address_lock = self._address_locks.setdefault(address, trio.Lock())
        with trio.move_on_after(LONGEST_WAIT):
            async with address_lock, self._check_lock:
                missing = 1.0 - self._checks.left(trio.current_time())
                await trio.sleep(max(0.0, missing / CHECKS_PER_SECOND))
                self._checks.take(1.0, trio.current_time())

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
        self._drop_expired(self._all_failures, now)
        if len(self._all_failures) + self._waiting.total() >= self._attempts * ALL_ADDRESSES_FACTOR:
            return self._longest_delay
        failures = self._failures.get(address, deque())
        self._drop_expired(failures, now)
        if not failures:
            self._failures.pop(address, None)
        over = len(failures) + self._waiting[address] - self._attempts + 1
        return min(self._longest_delay, max(0.0, float(over)))

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
