"""What Ctrl-C does before a command has begun, and after it has ended: it ends the process at once.

There is nothing to clean up until `raise_on_ctrl_c` is called. A KeyboardInterrupt would be raised wherever Python
happens to be: in a callback of `import` it is printed and lost, and after the command it is a traceback. If Ctrl-C is
ignored (a shell's background job), it stays ignored.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

EXIT_INTERRUPTED = 130


def end_on_ctrl_c() -> None:
    """Let Ctrl-C end the process at once, with the exit code 130, unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def raise_on_ctrl_c() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from now on, as it does in Python, so that everything is cleaned up.

    Every command calls this before it starts anything that has to be ended; `run_async` does it as well.
    """
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(EXIT_INTERRUPTED)
