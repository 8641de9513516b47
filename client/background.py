"""A thread that runs trio for a program without an event loop, and keeps a client open there.

Invariants: every call ends with its result, with its error, or with ConnectionLostError once the client is closed. A
call that is interrupted by Ctrl-C is cancelled, so that it does not consume the events of the next one. Errors are
raised as they are, never in an exception group. After `close`, the thread has ended.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final, Generic, TypeVar

import trio

from spielleiter.client.errors import ConnectionLostError
from spielleiter.client.exception_groups import unwrapped

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
        self._begun: Future[trio.lowlevel.TrioToken] = Future()
        self._opened: Future[_C] = Future()
        self._ended: Future[None] = Future()
        self._leaving: trio.Event
        self._calls: trio.Nursery
        # a daemon thread, since a connection that was not closed must not prevent the program from ending
        self._thread = threading.Thread(target=self._run, name="spielleiter client", daemon=True)
        try:
            self._thread.start()
            self._client = _result(self._opened)
        except BaseException:
            if self._thread in threading.enumerate():  # otherwise Ctrl-C arrived before it was started
                self._stop(self._scope.cancel)
            raise

    def call(self, function: Callable[[_C], Awaitable[_T]]) -> _T:
        """Run `function` with the client in the background, wait for its result, and return it.

        Raises what `function` raises, and ConnectionLostError if the client has been closed.
        """
        future: Future[_T] = Future()
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
            return _result(future)
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
        _wait(self._ended)
        self._thread.join()

    def _soon(self, function: Callable[[], object]) -> None:
        """Let the background thread call `function`. Raises ConnectionLostError if it has ended."""
        try:
            _result(self._begun).run_sync_soon(function)
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


def _wait(future: Future[_T]) -> None:
    """Wait until `future` is done; Ctrl-C interrupts this on every system."""
    while not future.done():
        try:
            future.exception(_WAIT)
        except TimeoutError:
            continue


def _result(future: Future[_T]) -> _T:
    _wait(future)
    return future.result()
