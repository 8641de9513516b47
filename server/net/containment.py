"""Contains bugs of this server, so that they affect only the connection in which they occur.

Invariants: an exception is passed to the callback once and is not propagated. Exceptions that are not instances of
`Exception`, such as a cancellation or the end of the program, are propagated.
"""

from __future__ import annotations

from collections.abc import Callable


class BugsContained:
    """A context manager that passes an exception to `note` instead of propagating it.

    It is not a generator with `contextlib.contextmanager`: from Python 3.12 on, the frame of its `__exit__` and the
    traceback of an exception that it suppressed refer to each other, which would keep the session in memory until the
    next garbage collection.
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
