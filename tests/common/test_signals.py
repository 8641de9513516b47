"""Signals stop a command, except a SIGHUP that is ignored or missing."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import spielleiter.common.signals
from spielleiter.common.signals import stop_signals


@contextmanager
def _hangup_is(handler: signal.Handlers) -> Iterator[None]:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    before = signal.signal(signal.SIGHUP, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_closed_terminal_stops_a_command() -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    with _hangup_is(signal.SIG_DFL):
        assert stop_signals() == (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def test_an_ignored_hangup_stays_ignored() -> None:
    with _hangup_is(signal.SIG_IGN):
        assert stop_signals() == (signal.SIGINT, signal.SIGTERM)


def test_a_system_may_have_no_hangup_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.common.signals, "HANGUP", None)
    assert stop_signals() == (signal.SIGINT, signal.SIGTERM)
