"""What concerns the process of a command itself: the signals that stop it, and who may look into it."""

from __future__ import annotations

import signal
import sys
from typing import Final

HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", getattr(signal, "SIGBREAK", None))
"""The signal for a closed terminal or console (SIGBREAK on Windows); None if the system has no such signal.

When a terminal is closed, it can arrive twice, from the shell and from the system; so only a repeated Ctrl-C or SIGTERM
means "stop at once".
"""

_SET_DUMPABLE: Final = 4  # PR_SET_DUMPABLE in <linux/prctl.h>


def stop_signals() -> tuple[signal.Signals, ...]:
    """Return SIGINT (Ctrl-C), SIGTERM and SIGHUP; without SIGHUP if it is unknown, or ignored, as with `nohup`."""
    stops = [signal.SIGINT, signal.SIGTERM]
    if HANGUP is not None and signal.getsignal(HANGUP) is not signal.SIG_IGN:
        stops.append(HANGUP)
    return tuple(stops)


def hide_this_process() -> None:
    """Keep processes of the same user, such as the programs of a match, from reading the memory of this one.

    Nor can they read its environment. Only Linux can do so; what this process starts is not hidden. The administrator
    can still look into it. The kernel writes no core dump of this process.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
