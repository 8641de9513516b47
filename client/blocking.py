"""The client for programs without an event loop: plain functions and `for` loops, for scripts and Python's prompt.

Invariants: `SyncAdminClient` has the methods of `AdminClient`, with the same arguments. Every call ends with its
result, with its error, or with ConnectionLostError once the client is closed. A call that is interrupted by Ctrl-C is
cancelled, so that it does not consume the events of the next one. Errors are raised as they are, never in an exception
group.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import update_wrapper
from types import TracebackType
from typing import TYPE_CHECKING, Concatenate, Final, Generic, ParamSpec, Self, TypeVar

import trio

from spielleiter.client.admin import AdminClient, Following, Observation, ObserverEvent
from spielleiter.client.client_errors import ClientError, ConnectionLostError
from spielleiter.client.player import GameReport, Player, Strategy
from spielleiter.common.errors import unwrapped
from spielleiter.protocol.current_season import DEFAULT_DIALECT, DEFAULT_GAME_TYPE
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_PORT
from spielleiter.protocol.dialect import Dialect

if TYPE_CHECKING:
    from spielleiter.protocol.feed import FeedEvent

_T = TypeVar("_T")
_P = ParamSpec("_P")

_WAIT: Final = 0.1
"""The longest single wait in seconds.

On Windows, Ctrl-C is noticed only between two waits, and so it is elsewhere if it arrives just before a wait begins.
"""

_CLOSED: Final = "the connection has been closed"


def play_game(
    strategy: Strategy,
    *,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    game_type: str = DEFAULT_GAME_TYPE,
    room_id: str | None = None,
    reservation_code: str | None = None,
    dialect: Dialect = DEFAULT_DIALECT,
    wait_timeout: float = 0.0,
) -> GameReport:
    """Connect to a server, take a seat, play one game, leave, and return a report of how the game ended.

        def strategy(state):
            return next(iter(state.generate_legal_moves()))

        print(play_game(strategy).has_won)

    - `strategy`: a function that takes a position and returns a move. A plain function runs in a worker thread, an
      `async def` function on trio's event loop.
    - `host`, `port`: the server's name or address, and its TCP port.
    - `game_type`: the season's name on the wire. The player takes a seat in any open game of this season, or in a new
      one, unless one of the following two is given.
    - `room_id`: the room in which to take a free seat.
    - `reservation_code`: the code of a reserved seat.
    - `dialect`: the wire form of the edition to speak; by default that of the current season.
    - `wait_timeout`: how many seconds to retry while no server listens there; 0 means one attempt.

    Raises CannotConnectError if there is no server, RequestRefusedError if there is no such seat, NotAMoveError if the
    strategy returns something that is not a move, anything that the strategy itself raises, other ClientErrors, and
    TypeError if both `reservation_code` and `room_id` are given. In a program that runs trio already, use `Player`.
    """
    if room_id is not None and reservation_code is not None:
        raise TypeError("room_id and reservation_code name two seats, expected one of them")

    async def main() -> GameReport:
        async with Player.connect(host, port, dialect=dialect, wait_timeout=wait_timeout) as player:
            if reservation_code is not None:
                await player.join_prepared(reservation_code)
            elif room_id is not None:
                await player.join_room(room_id)
            else:
                await player.join(game_type)
            return await player.play(strategy)

    try:
        return trio.run(main)
    except BaseExceptionGroup as group:  # nurseries wrap a KeyboardInterrupt, which is no Exception
        raise unwrapped(group) from None


def connect_admin(
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    password: str = DEFAULT_PASSWORD,
    *,
    dialect: Dialect = DEFAULT_DIALECT,
    wait_timeout: float = 0.0,
) -> SyncAdminClient:
    """Connect to a server as an administrator, and return the open connection.

        with connect_admin() as admin:
            room = admin.prepare("swc_2027_blokus", ["Alice", "Bob"])

    - `host`, `port`: the server's name or address, and its TCP port.
    - `password`: the administrators' password. The server does not confirm it: if it is wrong, the next call raises
      AuthenticationError.
    - `dialect`: the wire form of the edition to speak; by default that of the current season.
    - `wait_timeout`: how many seconds to retry while no server listens there; 0 means one attempt.

    Raises CannotConnectError if there is no server.
    """
    return SyncAdminClient(
        lambda: AdminClient.connect(host, port, password, dialect=dialect, wait_timeout=wait_timeout)
    )


def _blocking(
    method: Callable[Concatenate[AdminClient, _P], Awaitable[_T]],
) -> Callable[Concatenate[SyncAdminClient, _P], _T]:
    """Return `method` of AdminClient as a method of SyncAdminClient, with the same signature.

    Its docstring is the same as well, without the `await` in the example.
    """

    def call(self: SyncAdminClient, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return self._background.call(lambda client: method(client, *args, **kwargs))

    update_wrapper(call, method, assigned=("__name__", "__annotations__"))
    call.__doc__ = (method.__doc__ or "").replace("await ", "")
    call.__qualname__ = f"SyncAdminClient.{method.__name__}"
    return call


class SyncAdminClient:
    """An administrator's connection for programs without an event loop: `AdminClient` with methods that block.

    `connect_admin` opens one. Leaving its `with` block closes it; at Python's prompt, call `close`:

        with connect_admin() as admin:
            room = admin.prepare("swc_2027_blokus", ["Alice", "Bob"])
            print(*room.reservations)
            for event in admin.observe(room.room_id):
                print(event)

    Methods may be called from several threads at a time. Ctrl-C interrupts the call that is waiting, and the connection
    remains usable. In a program that runs trio already, use `AdminClient`.
    """

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[AdminClient]]) -> None:
        """Call `opening` in a thread of its own to open the connection; `connect_admin` does this."""
        self._background = _Background(opening)

    def __enter__(self) -> Self:
        """Return the client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connection as `close` does; an error that the block itself raised takes precedence."""
        try:
            self.close()
        except ClientError:
            if error is None:  # otherwise the block's own error is more informative
                raise

    def close(self) -> None:
        """Close the connection; further calls of this method do nothing.

        Raises ClientError if the server has refused a request (the password, `pause`, `resume`, `step` or `cancel`) and
        no call has raised that yet.

            admin = connect_admin()
            admin.close()
        """
        self._background.close()

    prepare = _blocking(AdminClient.prepare)
    pause = _blocking(AdminClient.pause)
    resume = _blocking(AdminClient.resume)
    step = _blocking(AdminClient.step)
    cancel = _blocking(AdminClient.cancel)
    enable_test_mode = _blocking(AdminClient.enable_test_mode)
    score_for_player = _blocking(AdminClient.score_for_player)
    status = _blocking(AdminClient.status)
    metrics = _blocking(AdminClient.metrics)

    def observe(self, room_id: str) -> SyncObservation:
        """Observe the room `room_id`: a `for` loop over the result gives the events of its game.

        If the game has started already, the first event may be its current position. The loop ends when the game is
        over. Raises RequestRefusedError if there is no such room, and other ClientErrors if the connection fails.

            for event in admin.observe(room.room_id):
                print(event)
        """
        return SyncObservation(self._background.call(lambda client: client.observe(room_id)), self._background)

    def follow(self) -> SyncFollowing:
        """Follow all games of the server: a `for` loop over the result gives what happens.

        The first events tell the present state; then there is a `Current`, and all others are news. The loop ends only
        with the connection, by raising ClientError. A connection can follow once, and its server drops it if it does
        not read; so use a connection of its own. Only spielleiter knows this request. Raises NoFeedError if the server
        is another one or has not answered within 10 seconds, RequestRefusedError if it has too many followers,
        AuthenticationError if the password was wrong, and other ClientErrors if the connection fails.

            for event in admin.follow():
                print(event)
        """
        return SyncFollowing(self._background.call(lambda client: client.follow()), self._background)


class SyncObservation:
    """The events of one game in order, for a `for` loop: Memento (a position), Result, ErrorMessage or Paused.

    `SyncAdminClient.observe` returns one. `room_id` is the room that is observed. Events are kept until they are read.

        for event in admin.observe(room.room_id):
            if isinstance(event, Result):
                print(event.winners)
    """

    def __init__(self, observation: Observation, background: _Background) -> None:
        """Read `observation` in the thread `background`, to which it belongs."""
        self.room_id = observation.room_id
        self._observation = observation
        self._background = background

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ObserverEvent:
        """Wait for the next event. Raises StopIteration when the game is over, ClientError if the connection fails."""
        event = self._background.call(lambda _client: anext(self._observation, None))
        if event is None:
            raise StopIteration
        return event


class SyncFollowing:
    """What happens on the server, as the events of `spielleiter.protocol.feed`, for a `for` loop.

    `SyncAdminClient.follow` returns one. The loop ends only with the connection, by raising ClientError.

        for event in admin.follow():
            if isinstance(event, MovePlayed):
                print(event.room, event.think_time)
    """

    def __init__(self, following: Following, background: _Background) -> None:
        """Read `following` in the thread `background`, to which it belongs."""
        self._following = following
        self._background = background

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> FeedEvent:
        """Wait for the next event. Raises ClientError when the connection ends."""
        return self._background.call(lambda _client: anext(self._following))


class _Background:
    """A thread that runs trio and keeps a client open there."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[AdminClient]]) -> None:
        """Start the thread and open the client: enter the context manager that `opening` returns.

        Raises what opening the client raises; the thread has ended then.
        """
        self._opening = opening
        self._scope = trio.CancelScope()
        self._begun: _Promise[trio.lowlevel.TrioToken] = _Promise()
        self._opened: _Promise[AdminClient] = _Promise()
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

    def call(self, function: Callable[[AdminClient], Awaitable[_T]]) -> _T:
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
            self._stop(self._leaving.set)
        except BaseException:
            self._stop(self._scope.cancel)  # interrupted by Ctrl-C: end without a goodbye
            raise
        error = self._ended.exception()
        if error is not None:
            raise error

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
