"""The client for programs without an event loop: plain functions and `for` loops, in scripts and at Python's prompt.

Invariants: an administrator's methods are those of `AdminClient`, with the same arguments. Errors come out as they are,
never in an exception group.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import update_wrapper
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import trio

from spielleiter.client.admin import AdminClient
from spielleiter.client.asking import Strategy
from spielleiter.client.background import Background
from spielleiter.client.errors import ClientError
from spielleiter.client.exception_groups import unwrapped
from spielleiter.client.observation import Observation, ObserverEvent
from spielleiter.client.player import GameReport, Player
from spielleiter.protocol.current_season import DEFAULT_DIALECT, DEFAULT_GAME_TYPE
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_PORT
from spielleiter.protocol.dialect import Dialect

_T = TypeVar("_T")
_P = ParamSpec("_P")


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
    """Connect, take a seat, play one game with `strategy`, leave, and report how the game ended.

        def strategy(state):
            return next(iter(state.generate_legal_moves()))

        print(play_game(strategy).has_won)

    `strategy` takes a position and returns a move; it runs in a worker thread, or on trio's event loop if it is an
    `async def` function. `host` and `port` say where the server is. The seat is the one that `reservation_code`
    reserves, or a free one in the room `room_id`, or by default one in any open game of `game_type` (or in a new one).
    `dialect` is the edition to speak; the one in season unless told otherwise. `wait_timeout` is for how many seconds
    to go on trying while nobody listens there.

    Raises TypeError if both `reservation_code` and `room_id` are given, NotAMoveError if the strategy returns something
    that is not a move, whatever the strategy itself raises, CannotConnectError, RequestRefusedError if there is no such
    seat, and other ClientErrors. In a program that runs trio already, use `Player`.
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
    except BaseExceptionGroup as group:  # what is no Exception, as Ctrl-C is, leaves nurseries in groups
        raise unwrapped(group) from None


def connect_admin(
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    password: str = DEFAULT_PASSWORD,
    *,
    dialect: Dialect = DEFAULT_DIALECT,
    wait_timeout: float = 0.0,
) -> SyncAdminClient:
    """Connect to the server at `host` and `port` as an administrator, and return the connection.

        with connect_admin() as admin:
            room = admin.prepare("swc_2027_blokus", ["Alice", "Bob"])

    A wrong `password` shows itself at the next call, as AuthenticationError. `dialect` is the edition to speak; the one
    in season unless told otherwise. `wait_timeout` is for how many seconds to go on trying while nobody listens there.
    Raises CannotConnectError.
    """
    return SyncAdminClient(
        lambda: AdminClient.connect(host, port, password, dialect=dialect, wait_timeout=wait_timeout)
    )


def _blocking(
    method: Callable[Concatenate[AdminClient, _P], Awaitable[_T]],
) -> Callable[Concatenate[SyncAdminClient, _P], _T]:
    """`method` of AdminClient as a method of SyncAdminClient, with the same signature and docstring."""

    def call(self: SyncAdminClient, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return self._call(lambda client: method(client, *args, **kwargs))

    update_wrapper(call, method, assigned=("__name__", "__doc__", "__annotations__"))
    call.__qualname__ = f"SyncAdminClient.{method.__name__}"
    return call


class SyncAdminClient:
    """An administrator's connection whose methods wait for the answer; the blocking form of `AdminClient`.

    `connect_admin` makes one. Leaving its `with` block closes it; at Python's prompt, call `close`:

        with connect_admin() as admin:
            room = admin.prepare("swc_2027_blokus", ["Alice", "Bob"])
            print(*room.reservations)
            for event in admin.observe(room.room_id):
                print(event)

    Its methods may be called from several threads at a time. Ctrl-C interrupts the call that waits, and the connection
    can still be used. In a program that runs trio already, use `AdminClient`.
    """

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[AdminClient]]) -> None:
        """`opening` opens the connection in the thread of this client; see `connect_admin`."""
        self._background = Background(opening)

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the connection, as `close` does; an error of the block itself comes first."""
        try:
            self.close()
        except ClientError:
            if error is None:  # otherwise the block's own error says more
                raise

    def close(self) -> None:
        """Say goodbye and disconnect; the second time nothing happens.

        Raises ClientError if the server has refused a request (the password, `pause`, `step`, `cancel`) and no call
        has raised that yet.
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

    def observe(self, room_id: str) -> SyncObservation:
        """Watch the room `room_id`; a `for` loop over the result gives the events of its game until that is over.

        If the game has begun, the first event may be its current position. Raises RequestRefusedError if there is no
        such room, and other ClientErrors.
        """
        return SyncObservation(self._call(lambda client: client.observe(room_id)), self._background)

    def _call(self, function: Callable[[AdminClient], Awaitable[_T]]) -> _T:
        return self._background.call(function)


class SyncObservation:
    """The events of one game, in order: Memento (a position), Result, ErrorMessage or Paused.

    `SyncAdminClient.observe` makes one, for a `for` loop. `room_id` is the room that is watched.
    """

    def __init__(self, observation: Observation, background: Background[AdminClient]) -> None:
        """`background` is the thread in which the `observation` is made."""
        self.room_id = observation.room_id
        self._observation = observation
        self._background = background

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ObserverEvent:
        """Wait for the next event. Raises StopIteration when the game is over, ClientError if the connection is."""
        event = self._background.call(lambda _client: anext(self._observation, None))
        if event is None:
            raise StopIteration
        return event
