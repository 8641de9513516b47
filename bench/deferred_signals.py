"""Deferring the signals that stop the benchmark, while a process is started and not yet registered for its end.

Invariants: no signal is lost. In a thread other than the main thread nothing is deferred, since signals do not
interrupt it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
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

    before = {number: signal.signal(number, note) for number in STOP_SIGNALS}
    try:
        yield
    finally:
        for stop_signal, handler in before.items():
            signal.signal(stop_signal, handler)
        for number in arrived:
            signal.raise_signal(number)
