from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from spielleiter.client.background import Background
from spielleiter.client.errors import ConnectionLostError
from tests.documents import ROOT

PATIENCE = 60.0  # seconds that nothing takes unless it hangs


class Client:
    """Notes what happens to it."""

    def __init__(self, leaving: Exception | None = None) -> None:
        self.told: list[str] = []
        self.leaving = leaving

    @asynccontextmanager
    async def opening(self) -> AsyncIterator[Client]:
        self.told.append("opened")
        async with trio.open_nursery():  # what it raises is put into groups
            yield self
        self.told.append("left")
        if self.leaving:
            raise self.leaving


async def double(number: int) -> int:
    await trio.lowlevel.checkpoint()
    return 2 * number


async def fails() -> None:
    raise LookupError("no idea")


def test_calls_run_in_another_thread_until_it_is_closed() -> None:
    client = Client()
    before = threading.active_count()
    background = Background(client.opening)
    assert threading.active_count() == before + 1
    assert background.call(lambda given: double(21 if given is client else 0)) == 42
    background.close()
    assert threading.active_count() == before
    assert client.told == ["opened", "left"]


def test_errors_of_calls_come_out_and_end_nothing() -> None:
    background = Background(Client().opening)
    with pytest.raises(LookupError, match="no idea"):
        background.call(lambda _: fails())
    assert background.call(lambda _: double(1)) == 2
    background.close()


def test_an_error_of_opening_comes_out_and_leaves_no_thread() -> None:
    before = threading.active_count()

    @asynccontextmanager
    async def refuses() -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fails)
        yield

    with pytest.raises(LookupError, match="no idea"):
        Background(refuses)
    assert threading.active_count() == before


def test_an_error_of_leaving_is_raised_once_by_close() -> None:
    background = Background(Client(LookupError("lost")).opening)
    with pytest.raises(LookupError, match="lost"):
        background.close()
    background.close()
    with pytest.raises(ConnectionLostError, match="has been closed"):
        background.call(lambda _: double(1))


def test_whatever_still_waits_ends_when_it_is_closed() -> None:
    background = Background(Client().opening)
    waiting, errors = threading.Event(), list[Exception]()

    async def waits() -> None:
        waiting.set()
        await trio.sleep_forever()

    def calls() -> None:
        try:
            background.call(lambda _: waits())
        except ConnectionLostError as error:
            errors.append(error)

    thread = threading.Thread(target=calls)
    thread.start()
    assert waiting.wait(PATIENCE)
    background.close()
    thread.join(PATIENCE)
    assert [str(error) for error in errors] == ["the connection has been closed"]


def test_a_call_that_begins_while_it_is_closed_ends_too() -> None:
    background = Background(Client().opening)
    errors: list[Exception] = []

    def calls() -> None:
        try:
            background.call(lambda _: double(1))
        except ConnectionLostError as error:
            errors.append(error)

    thread = threading.Thread(target=calls)

    async def closes() -> None:
        background._leaving.set()
        thread.start()  # whose call is not begun before the next step of the loop

    with pytest.raises(ConnectionLostError):
        background.call(lambda _: _and_wait(closes))
    thread.join(PATIENCE)
    background.close()
    assert [str(error) for error in errors] == ["the connection has been closed"]


async def _and_wait(closes: object) -> None:
    assert callable(closes)
    await closes()
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
        print("cancelled\\n", end="")  # in one piece, whatever the other thread writes

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
def test_ctrl_c_cancels_what_is_waited_for(opening: str, then: str) -> None:
    script = INTERRUPTED.format(opening=opening, then=then)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, sorted(done.stdout.split()), done.stderr) == (0, ["cancelled", "interrupted"], "")
