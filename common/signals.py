"""The signals that stop a command in an orderly way.

Invariants: a SIGHUP that was ignored when the program started stays ignored, so that `nohup` works. When a terminal is
closed, SIGHUP can arrive twice, from the shell and from the system; so only a repeated Ctrl-C or SIGTERM means "stop
at once".
"""

from __future__ import annotations

import signal

HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", getattr(signal, "SIGBREAK", None))
"""The signal for a closed terminal or console (SIGBREAK on Windows); None if the system has no such signal."""


def stop_signals() -> tuple[signal.Signals, ...]:
    """Return SIGINT (Ctrl-C), SIGTERM and SIGHUP; without SIGHUP if it is ignored or unknown."""
    stops = [signal.SIGINT, signal.SIGTERM]
    if HANGUP is not None and signal.getsignal(HANGUP) is not signal.SIG_IGN:
        stops.append(HANGUP)
    return tuple(stops)
