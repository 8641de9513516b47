"""Removing files and folders that another program may have open for a moment.

On Windows, an open file cannot be removed. Virus scanners and search indexes open every new file, and let go of it
after a moment. Everything that removes folders on Windows does it with this module.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

REMOVE_TIMEOUT: Final = 10.0
"""Seconds in which a file has to be let go."""
_FIRST_PAUSE: Final = 0.01  # seconds between two attempts, doubled each time
_LONGEST_PAUSE: Final = 0.5
_HELD: Final = frozenset({5, 32, 33, 145})
"""Errors of Windows: access denied, sharing violation, lock violation, and a folder that still has the file in it."""


def remove_tree(
    folder: Path,
    seconds: float = REMOVE_TIMEOUT,
    *,
    remove: Callable[[Path], object] = shutil.rmtree,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Remove a folder with everything in it; on Windows, try again for up to `seconds` while something is open.

    `remove` is the attempt. Blocks. Raises OSError.
    """
    pause = _FIRST_PAUSE
    while True:
        try:
            remove(folder)
        except OSError as error:
            if getattr(error, "winerror", None) not in _HELD or seconds <= 0:
                raise
        else:
            return
        sleep(min(pause, seconds))
        seconds -= pause
        pause = min(2 * pause, _LONGEST_PAUSE)


@contextmanager
def temporary_directory(prefix: str, *, remove: Callable[[Path], object] = remove_tree) -> Iterator[Path]:
    """Make a folder for temporary files, and `remove` it at the end. Blocks. Raises OSError if it cannot be made.

    If it cannot be removed, it stays.
    """
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield folder
    finally:
        with suppress(OSError):
            remove(folder)
