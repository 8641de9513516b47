"""Which signals tell a command to end in good order.

Invariants: a signal that was ignored when the program started stays ignored, so that `nohup` works. The end of the
terminal (SIGHUP) can come twice, from the shell and from the system: only Ctrl-C and SIGTERM mean "at once" when they
are repeated.
"""

from __future__ import annotations

import signal

HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", getattr(signal, "SIGBREAK", None))
"""The terminal or the connection to it is closed; on Windows the console. None where there is no such signal."""


def stop_signals() -> tuple[signal.Signals, ...]:
    """Ctrl-C, SIGTERM and SIGHUP, without SIGHUP where it is ignored or unknown."""
    stops = [signal.SIGINT, signal.SIGTERM]
    if HANGUP is not None and signal.getsignal(HANGUP) is not signal.SIG_IGN:
        stops.append(HANGUP)
    return tuple(stops)
