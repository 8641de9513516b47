"""Where a bug of ours ends, so that it harms nobody but the connection that met it.

Invariants: an exception is handed over once and goes no further. Whatever is no `Exception`, such as the end of a task
or of the program, passes.
"""

from __future__ import annotations

from collections.abc import Callable


class BugsContained:
    """Stops an exception that is a bug of ours, and hands it to `note`.

    Not a generator with `contextlib.contextmanager`: from Python 3.12 on, the frame of its `__exit__` and the traceback
    of an exception that it stopped refer to each other, and would keep the session until the next garbage collection.
    """

    def __init__(self, note: Callable[[Exception], None]) -> None:
        self._note = note

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: object) -> bool:
        if not isinstance(error, Exception):
            return False
        self._note(error)
        return True
