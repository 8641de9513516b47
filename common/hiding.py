"""Hides this process from other processes of the same user, which may be programs that it has started.

Invariants: nothing else of this process changes, and what it starts is not hidden. Only Linux has such a setting.
"""

from __future__ import annotations

import sys
from typing import Final

_SET_DUMPABLE: Final = 4  # PR_SET_DUMPABLE in <linux/prctl.h>


def hide_this_process() -> None:
    """Keep processes of the same user from reading the memory and the environment of this one, if possible.

    The administrator can still do so. The kernel writes no core dump of this process.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0)
