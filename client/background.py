"""A thread that runs trio for a program without an event loop, and keeps a client open there.

Invariants: every call ends with its result, with its error, or with ConnectionLostError once the client is closed. A
call that is interrupted by Ctrl-C is cancelled, so that it does not consume the events of the next one. Errors are
raised as they are, never in an exception group. After `close`, the thread has ended.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final, Generic, TypeVar

import trio

from spielleiter.client.errors import ConnectionLostError
from spielleiter.common.errors import unwrapped

_C = TypeVar("_C")
_T = TypeVar("_T")

_WAIT: Final = 0.1 if sys.platform == "win32" else None
"""The longest single wait in seconds: on Windows, Ctrl-C is noticed only between two waits."""

_CLOSED: Final = "the connection has been closed"


class Background(Generic[_C]):
    """A thread that runs trio and keeps a client open there."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[_C]]) -> None:
        """Start the thread and open the client: enter the context manager that `opening` returns.

        Raises what opening the client raises; the thread has ended then.
        """
        self._opening = opening
        self._scope = trio.CancelScope()
        self._begun: _Promise[trio.lowlevel.TrioToken] = _Promise()
        self._opened: _Promise[_C] = _Promise()
        self._ended: _Promise[None] = _Promise()
        self._leaving: trio.Event
        self._calls: trio.Nursery
        # a daemon thread, since a connection that was not closed must not prevent the program from ending
        self._thread = threading.Thread(target=self._run, name="spielleiter client", daemon=True)
        try:
            self._thread.start()
            self._client = self._opened.result()
        except BaseException:
            if self._thread in threading.enumerate():  # otherwise Ctrl-C arrived before it was started
                self._stop(self._scope.cancel)
            raise

    def call(self, function: Callable[[_C], Awaitable[_T]]) -> _T:
        """Run `function` with the client in the background, wait for its result, and return it.

        Raises what `function` raises, and ConnectionLostError if the client has been closed.
        """
        future: _Promise[_T] = _Promise()
        scope = trio.CancelScope()

        async def run() -> None:
            try:
                with scope:
                    future.set_result(await function(self._client))
            except Exception as error:
                future.set_exception(error)
            finally:
                if not future.done():  # cancelled
                    future.set_exception(ConnectionLostError(_CLOSED))

        def start() -> None:
            if self._leaving.is_set():
                future.set_exception(ConnectionLostError(_CLOSED))
            else:
                self._calls.start_soon(run)

        try:
            self._soon(start)
            return future.result()
        except BaseException:
            if not future.done():  # interrupted
                with suppress(ConnectionLostError):
                    self._soon(scope.cancel)
            raise

    def close(self) -> None:
        """Leave the client's context and end the thread; further calls do nothing. Raises what leaving raises."""
        if not self._thread.is_alive():
            return
        try:
            self._stop(self._leave)
        except BaseException:
            self._stop(self._scope.cancel)  # interrupted by Ctrl-C: end without a goodbye
            raise
        error = self._ended.exception()
        if error is not None:
            raise error

    def _leave(self) -> None:
        self._leaving.set()

    def _stop(self, how: Callable[[], object]) -> None:
        with suppress(ConnectionLostError):
            self._soon(how)
        self._ended.wait()
        self._thread.join()

    def _soon(self, function: Callable[[], object]) -> None:
        """Let the background thread call `function`. Raises ConnectionLostError if it has ended."""
        try:
            self._begun.result().run_sync_soon(function)
        except trio.RunFinishedError:
            raise ConnectionLostError(_CLOSED) from None

    # -- in the background ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as error:
            outcome = unwrapped(error)
            if self._opened.done():
                self._ended.set_exception(outcome)
            else:
                self._opened.set_exception(outcome)
                self._ended.set_result(None)
        else:
            self._ended.set_result(None)

    async def _main(self) -> None:
        self._leaving = trio.Event()
        self._begun.set_result(trio.lowlevel.current_trio_token())
        with self._scope:
            async with self._opening() as client, trio.open_nursery() as self._calls:
                self._opened.set_result(client)
                await self._leaving.wait()
                self._calls.cancel_scope.cancel()


class _Promise(Generic[_T]):
    """A result that one thread sets once and others wait for.

    A `concurrent.futures.Future` is not used: Ctrl-C may arrive between acquiring its lock and the code that would
    release it, and the other thread then waits for ever. A `SimpleQueue` has no such gap.
    """

    def __init__(self) -> None:
        self._is_set = queue.SimpleQueue[None]()
        self._outcome: tuple[_T] | BaseException | None = None

    def done(self) -> bool:
        return self._outcome is not None

    def set_result(self, value: _T) -> None:
        self._set((value,))

    def set_exception(self, error: BaseException) -> None:
        self._set(error)

    def _set(self, outcome: tuple[_T] | BaseException) -> None:
        self._outcome = outcome
        self._is_set.put(None)

    def wait(self) -> None:
        """Wait until it is set; Ctrl-C interrupts this on every system."""
        while self._outcome is None:
            with suppress(queue.Empty):
                self._is_set.get(timeout=_WAIT)
                self._is_set.put(None)  # for other threads that wait

    def exception(self) -> BaseException | None:
        """Wait until it is set; return the error, or None for a result."""
        self.wait()
        return self._outcome if isinstance(self._outcome, BaseException) else None

    def result(self) -> _T:
        """Wait until it is set; return the result, or raise the error."""
        self.wait()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        assert self._outcome is not None
        return self._outcome[0]
