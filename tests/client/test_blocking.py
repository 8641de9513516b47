"""The blocking client against a real server in another thread; Ctrl-C is tested in separate processes."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import cast

import pytest
import trio

from spielleiter.client.admin import AdminClient
from spielleiter.client.blocking import SyncAdminClient, connect_admin, play_game
from spielleiter.client.client_errors import (
    AuthenticationError,
    CannotConnectError,
    ConnectionLostError,
    NotAMoveError,
    RequestRefusedError,
)
from spielleiter.client.player import GameEnd
from spielleiter.game.api import Move, State
from spielleiter.protocol.feed import Current, RoomOpened, ServerDescribed
from spielleiter.protocol.messages import Cause, ErrorMessage, Memento, Paused, Result, Slot
from spielleiter.server.editions import EDITIONS
from tests.cli.background import BackgroundServer, background_server
from tests.documents import ROOT
from tests.timeouts import HANG_TIMEOUT

EDITION = next(iter(EDITIONS.values()))
GAME_TYPE = EDITION.game_type


@pytest.fixture
def server() -> Iterator[BackgroundServer]:
    with background_server(soft_timeout=HANG_TIMEOUT, hard_timeout=HANG_TIMEOUT) as server:
        yield server


def first(state: State) -> Move:
    return next(iter(state.generate_legal_moves()))


def client_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "spielleiter client"]


# -- administrators -------------------------------------------------------------------------------------------------


def test_a_game_is_prepared_and_observed_in_a_plain_loop(server: BackgroundServer) -> None:
    with connect_admin(port=server.port) as admin:
        room = admin.prepare(GAME_TYPE, ["Alice", Slot("Bob")], pause=True)
        observation = admin.observe(room.room_id)
        assert observation.room_id == room.room_id
        for code in room.reservations:
            server.add_player("illegal", reservation=code)
        events = iter(observation)
        assert isinstance(next(events), Memento)
        admin.resume(room.room_id)
        assert [type(event) for event in events] == [Paused, Memento, ErrorMessage, Result]
        assert list(observation) == []
    assert client_threads() == []


def test_a_server_is_followed_in_a_plain_loop(server: BackgroundServer) -> None:
    with connect_admin(port=server.port) as admin, connect_admin(port=server.port) as other:
        following = admin.follow()
        assert [type(next(following)) for _ in range(2)] == [ServerDescribed, Current]
        room = other.prepare(GAME_TYPE, ["Alice", "Bob"])
        event = next(iter(following))
        assert isinstance(event, RoomOpened)
        assert (event.room, event.names) == (room.room_id, ("Alice", "Bob"))
        assert "spielleiter_rooms" in other.metrics()


def test_a_call_in_another_thread_ends_when_the_connection_is_closed(server: BackgroundServer) -> None:
    admin = connect_admin(port=server.port)
    observation = admin.observe(admin.prepare(GAME_TYPE, ["Alice", "Bob"]).room_id)
    errors: list[Exception] = []

    def watch() -> None:
        try:
            next(observation)
        except ConnectionLostError as error:
            errors.append(error)

    thread = threading.Thread(target=watch)
    thread.start()
    admin.close()
    thread.join(HANG_TIMEOUT)
    assert [str(error) for error in errors] == ["the connection has been closed"]


def test_refusals_are_raised_without_a_group(server: BackgroundServer) -> None:
    with connect_admin(port=server.port) as admin:
        with pytest.raises(RequestRefusedError, match="chess"):
            admin.prepare("chess", ["Alice", "Bob"])
        with pytest.raises(RequestRefusedError):
            admin.observe("nowhere")


def test_a_wrong_password_is_raised_by_the_next_call(server: BackgroundServer) -> None:
    with connect_admin(port=server.port, password="wrong") as admin, pytest.raises(AuthenticationError):
        admin.prepare(GAME_TYPE, ["Alice", "Bob"])


def test_an_error_of_the_block_takes_precedence_over_one_of_leaving(server: BackgroundServer) -> None:
    with pytest.raises(LookupError, match="mine"), connect_admin(port=server.port, password="wrong"):
        raise LookupError("mine")
    assert client_threads() == []


def test_a_call_that_begins_during_closing_ends_too() -> None:
    errors: list[Exception] = []

    def call() -> None:
        try:
            admin.status()
        except ConnectionLostError as error:
            errors.append(error)

    @asynccontextmanager
    async def opening() -> AsyncIterator[AdminClient]:
        yield cast("AdminClient", None)
        await trio.to_thread.run_sync(call)

    admin = SyncAdminClient(opening)
    admin.close()
    assert [str(error) for error in errors] == ["the connection has been closed"]


async def _free_port() -> int:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener:
        port: int = listener.socket.getsockname()[1]
        return port


def test_connecting_without_a_server_is_an_error_at_once() -> None:
    port = trio.run(_free_port)
    with pytest.raises(CannotConnectError, match="nobody listens there"):
        connect_admin(port=port)
    with pytest.raises(CannotConnectError, match="nobody listens there"):
        play_game(first, port=port)
    assert client_threads() == []


@pytest.mark.parametrize("name", [name for name in vars(AdminClient) if not name.startswith("_")])
def test_the_blocking_client_has_the_methods_of_the_asynchronous_one(name: str) -> None:
    if name in {"connect", "running"}:  # `connect_admin` takes their place
        assert not hasattr(SyncAdminClient, name)
        return
    asynchronous, blocking = getattr(AdminClient, name), getattr(SyncAdminClient, name)
    assert (blocking.__module__, blocking.__qualname__) == ("spielleiter.client.blocking", f"SyncAdminClient.{name}")
    assert inspect.signature(blocking).parameters == inspect.signature(asynchronous).parameters
    assert not inspect.iscoroutinefunction(blocking)
    assert "await" not in str(blocking.__doc__)


# -- players --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["room_id", "reservation_code"])
def test_a_seat_can_be_chosen_by_room_or_reservation(way: str, server: BackgroundServer) -> None:
    with connect_admin(port=server.port) as admin:
        room = admin.prepare(GAME_TYPE, [Slot("Alice", is_reserved=way != "room_id"), Slot("Bob")])
    server.add_player("illegal", reservation=room.reservations[-1])
    seat = {"room_id": room.room_id, "reservation_code": room.reservations[0]}[way]
    report = play_game(first, port=server.port, **{way: seat})  # type: ignore[arg-type]
    assert (report.room_id, report.end) == (room.room_id, GameEnd.RESULT)


def test_a_room_and_a_reservation_together_are_an_error() -> None:
    with pytest.raises(TypeError, match="room_id and reservation_code name two seats"):
        play_game(first, room_id="room", reservation_code="code")


def test_a_forgotten_return_is_an_error_and_the_opponent_wins_at_once(server: BackgroundServer) -> None:
    def forget_to_return(state: State) -> None:
        first(state)

    with connect_admin(port=server.port) as admin:
        room = admin.prepare(GAME_TYPE, ["Alice", "Bob"])
        observation = admin.observe(room.room_id)
        server.add_player("first", reservation=room.reservations[1])
        with pytest.raises(NotAMoveError, match="is a return statement missing") as caught:
            play_game(forget_to_return, port=server.port, reservation_code=room.reservations[0])
        *_, last = observation
    assert caught.value.value is None
    assert isinstance(last, Result)
    assert [score.cause for score in last.scores] == [Cause.LEFT, Cause.REGULAR]
    assert last.winners == (1,)


@pytest.mark.parametrize("kind", [LookupError, SystemExit])
def test_errors_of_the_strategy_are_raised_without_a_group(kind: type[BaseException], server: BackgroundServer) -> None:
    def fail(state: State) -> Move:
        raise kind("no idea")

    server.add_player("first")
    with pytest.raises(kind, match="no idea"):
        play_game(fail, port=server.port)


# -- Ctrl-C ---------------------------------------------------------------------------------------------------------


def interrupt_script(script: str, server: BackgroundServer, event: str) -> tuple[int, str, str]:
    """Run a script and press Ctrl-C once the server has logged `event`: exit code, output and errors."""
    process = subprocess.Popen(
        [sys.executable, "-c", script.format(port=server.port)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        server.wait_for(event)
        assert process.stdout
        assert process.stdout.readline() == "waiting\n"
        os.kill(process.pid, signal.SIGINT)
        output, errors = process.communicate(timeout=HANG_TIMEOUT)
    finally:
        process.kill()
        process.wait()
    return process.returncode, output, errors


OBSERVING = f"""\
from spielleiter.client import connect_admin
with connect_admin(port={{port}}) as admin:
    room = admin.prepare("{GAME_TYPE}", ["Alice", "Bob"])
    observation = admin.observe(room.room_id)
    try:
        print("waiting", flush=True)
        next(observation)
    except KeyboardInterrupt:
        print(len(admin.status()["rooms"]))
        admin.cancel(room.room_id)
        print([type(event).__name__ for event in observation])
"""


OPENING = """\
import os, signal, threading
from contextlib import asynccontextmanager
import trio
from spielleiter.client.blocking import SyncAdminClient

@asynccontextmanager
async def opening():
    os.kill(os.getpid(), signal.SIGINT)
    try:
        await trio.sleep_forever()
    finally:
        print("cancelled")
    yield

try:
    SyncAdminClient(opening)
except KeyboardInterrupt:
    assert threading.active_count() == 1
"""


@pytest.mark.slow
def test_ctrl_c_interrupts_a_call_while_the_connection_remains_usable_and_cancels_an_opening(
    server: BackgroundServer,
) -> None:
    code, output, errors = interrupt_script(OBSERVING + OPENING, server, "observer_joined")
    assert (code, output, errors) == (0, "1\n['Result']\ncancelled\n", "")


PLAYING = """\
import time
from spielleiter.client import play_game
def compute(state):
    print("waiting", flush=True)
    time.sleep(1000)
play_game(compute, port={port})
"""


@pytest.mark.slow
def test_ctrl_c_ends_a_game_while_the_strategy_computes(server: BackgroundServer) -> None:
    server.add_player("first")
    code, output, errors = interrupt_script(PLAYING, server, "game_started")
    assert (code, output) == (-signal.SIGINT, "")
    assert errors.endswith("\nKeyboardInterrupt\n")
    assert "ExceptionGroup" not in errors
