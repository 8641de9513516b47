"""Signals that stop the benchmark while a process is started."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from spielleiter.bench.deferred_signals import STOP_SIGNALS, deferred_stop_signals


class StoppedError(Exception):
    pass


@pytest.fixture(params=STOP_SIGNALS)
def number(request: pytest.FixtureRequest) -> Iterator[signal.Signals]:
    """A signal whose handler raises StoppedError."""

    def stop(*_: object) -> None:
        raise StoppedError

    before = signal.signal(request.param, stop)
    yield request.param
    signal.signal(request.param, before)


def test_a_signal_is_handled_at_the_end(number: signal.Signals) -> None:
    steps = []

    def start() -> None:
        with deferred_stop_signals():
            os.kill(os.getpid(), number)
            steps.append("started")

    with pytest.raises(StoppedError):
        start()
    assert steps == ["started"]
    with pytest.raises(StoppedError):
        os.kill(os.getpid(), number)  # the handler is there again


def test_all_signals_are_handled_though_their_handlers_raise() -> None:
    handled: list[int] = []

    def stop(number: int, _frame: object) -> None:
        handled.append(number)
        raise StoppedError

    def receive_all() -> None:
        with deferred_stop_signals():
            for each in STOP_SIGNALS:
                signal.raise_signal(each)

    before = {each: signal.signal(each, stop) for each in STOP_SIGNALS}
    try:
        with pytest.raises(StoppedError):
            receive_all()
        assert handled == list(STOP_SIGNALS)
        assert [signal.getsignal(each) for each in STOP_SIGNALS] == [stop, stop]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if sys.platform != "win32":
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & set(STOP_SIGNALS)


def test_without_a_signal_nothing_happens() -> None:
    before = [signal.getsignal(each) for each in STOP_SIGNALS]
    with deferred_stop_signals():
        assert [signal.getsignal(each) for each in STOP_SIGNALS] != before
    assert [signal.getsignal(each) for each in STOP_SIGNALS] == before


def test_another_thread_defers_nothing() -> None:
    before = [signal.getsignal(each) for each in STOP_SIGNALS]
    found: list[object] = []

    def run() -> None:
        with deferred_stop_signals():
            found.extend(signal.getsignal(each) for each in STOP_SIGNALS)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == before
