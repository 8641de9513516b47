"""Calls from a thread without an event loop end with a result, an error or a lost connection."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
import trio

from spielleiter.client.background import Background
from spielleiter.client.errors import ConnectionLostError
from tests.documents import ROOT

HANG_TIMEOUT = 60.0  # seconds; reached only by a test that hangs


class Client:
    """A client that records what happens to it."""

    def __init__(self, leaving: Exception | None = None) -> None:
        self.log: list[str] = []
        self.leaving = leaving

    @asynccontextmanager
    async def opening(self) -> AsyncIterator[Client]:
        self.log.append("opened")
        async with trio.open_nursery():  # wraps errors in groups
            yield self
        self.log.append("left")
        if self.leaving:
            raise self.leaving


async def double(number: int) -> int:
    await trio.lowlevel.checkpoint()
    return 2 * number


async def fail() -> None:
    raise LookupError("no idea")


def test_calls_run_in_another_thread_until_the_client_is_closed() -> None:
    client = Client()
    before = threading.active_count()
    background = Background(client.opening)
    assert threading.active_count() == before + 1
    assert background.call(lambda given: double(21 if given is client else 0)) == 42
    background.close()
    assert threading.active_count() == before
    assert client.log == ["opened", "left"]


def test_an_error_of_a_call_is_raised_and_the_client_stays_open() -> None:
    background = Background(Client().opening)
    with pytest.raises(LookupError, match="no idea"):
        background.call(lambda _: fail())
    assert background.call(lambda _: double(1)) == 2
    background.close()


def test_an_error_of_opening_is_raised_and_leaves_no_thread() -> None:
    before = threading.active_count()

    @asynccontextmanager
    async def refuse() -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fail)
        yield

    with pytest.raises(LookupError, match="no idea"):
        Background(refuse)
    assert threading.active_count() == before


def test_close_raises_an_error_of_leaving_once() -> None:
    background = Background(Client(LookupError("lost")).opening)
    with pytest.raises(LookupError, match="lost"):
        background.close()
    background.close()
    with pytest.raises(ConnectionLostError, match="has been closed"):
        background.call(lambda _: double(1))


def test_closing_ends_calls_that_are_waiting() -> None:
    background = Background(Client().opening)
    waiting, errors = threading.Event(), list[Exception]()

    async def wait() -> None:
        waiting.set()
        await trio.sleep_forever()

    def call() -> None:
        try:
            background.call(lambda _: wait())
        except ConnectionLostError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert waiting.wait(HANG_TIMEOUT)
    background.close()
    thread.join(HANG_TIMEOUT)
    assert [str(error) for error in errors] == ["the connection has been closed"]


def test_a_call_that_begins_during_closing_ends_too() -> None:
    background = Background(Client().opening)
    errors: list[Exception] = []

    def call() -> None:
        try:
            background.call(lambda _: double(1))
        except ConnectionLostError as error:
            errors.append(error)

    thread = threading.Thread(target=call)

    async def close() -> None:
        background._leaving.set()
        thread.start()  # its call cannot start before the next step of the event loop

    with pytest.raises(ConnectionLostError):
        background.call(lambda _: _and_wait(close))
    thread.join(HANG_TIMEOUT)
    background.close()
    assert [str(error) for error in errors] == ["the connection has been closed"]


async def _and_wait(close: Callable[[], Awaitable[None]]) -> None:
    await close()
    await trio.sleep_forever()


INTERRUPTED = """\
import os, signal
from contextlib import asynccontextmanager
import trio
from spielleiter.client.background import Background

@asynccontextmanager
async def opening():
    {opening}
    yield

cancelled = trio.Event()

async def is_interrupted():
    os.kill(os.getpid(), signal.SIGINT)
    try:
        await trio.sleep_forever()
    finally:
        cancelled.set()
        print("cancelled\\n", end="")  # as one write, since the other thread writes too

try:
    background = Background(opening)
    background.call(lambda _: is_interrupted())
except KeyboardInterrupt:
    print("interrupted\\n", end="")
{then}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opening", "then"),
    [
        ("pass", "background.call(lambda _: cancelled.wait()); background.close()"),
        ("await is_interrupted()", "import threading; assert threading.active_count() == 1"),
    ],
)
def test_ctrl_c_cancels_the_waiting_call(opening: str, then: str) -> None:
    script = INTERRUPTED.format(opening=opening, then=then)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )
    assert (done.returncode, sorted(done.stdout.split()), done.stderr) == (0, ["cancelled", "interrupted"], "")
