"""Deferring the signals that stop the benchmark, while a process is started and not yet registered for its end.

Invariants: no signal is lost. In a thread other than the main thread nothing is deferred, since signals do not
interrupt it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def deferred_stop_signals() -> Iterator[None]:
    """Handle SIGINT and SIGTERM that arrive during the `with` statement at its end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        arrived.append(number)

    with _blocked():
        before = {number: signal.signal(number, note) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        with _blocked():
            for stop_signal, handler in before.items():
                signal.signal(stop_signal, handler)
        _raise_all(arrived)


def _raise_all(numbers: Sequence[int]) -> None:
    """Let the handlers of these signals run, also if that of an earlier one raises an exception."""
    if numbers:
        try:
            signal.raise_signal(numbers[0])
        finally:
            _raise_all(numbers[1:])


@contextmanager
def _blocked() -> Iterator[None]:
    """Let the system keep the signals back, so that no handler runs before all of them are exchanged.

    A process that is started meanwhile would inherit this, so it is not enough to block the signals all the time.
    """
    if sys.platform == "win32":
        raise NotImplementedError
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
