"""Signals stop a command, except a SIGHUP that is ignored or missing."""

from __future__ import annotations

import signal
import sys

import pytest

from spielleiter.common import process
from spielleiter.common.process import stop_signals


@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_closed_terminal_stops_a_command_unless_hangups_are_ignored(is_ignored: bool) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
    try:
        assert stop_signals() == (signal.SIGINT, signal.SIGTERM, *(() if is_ignored else (signal.SIGHUP,)))
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_system_may_have_no_hangup_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "HANGUP", None)
    assert stop_signals() == (signal.SIGINT, signal.SIGTERM)
