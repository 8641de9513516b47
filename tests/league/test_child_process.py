"""Tests for processes that are told what to do and started again, with real ones."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest
import trio

from spielleiter.league.child_process import ChildProcess
from spielleiter.league.frames import FrameBuffer, FrameError, framed
from tests.league.echoing_child import Said, decode
from tests.timeouts import HANG_TIMEOUT

COMMAND = [sys.executable, str(Path(__file__).with_name("echoing_child.py"))]
DESCRIPTOR = 9


class Log:
    """What a child has said, and when it started and ended."""

    def __init__(self, command: list[str] | None = None) -> None:
        self.entries: list[str] = []
        self._waiting = trio.lowlevel.ParkingLot()
        self.child = ChildProcess(
            COMMAND if command is None else command,
            decode=decode,
            on_message=lambda message: self.add(message.text),
            on_start=lambda: self.add("started"),
            on_end=lambda reason, _pause: self.add(f"ended: {reason}"),
        )

    def add(self, text: str) -> None:
        self.entries.append(text)
        self._waiting.unpark_all()

    async def wait_for(self, text: str, times: int = 1) -> None:
        with trio.fail_after(HANG_TIMEOUT):
            while self.entries.count(text) < times:
                await self._waiting.park()


async def test_messages_go_both_ways_and_are_not_mixed_with_what_is_printed() -> None:
    log = Log()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(log.child.run)
        await log.wait_for("started")
        for text in ("print", "one", "x" * 1_000_000, "two"):
            assert log.child.send_nowait(Said(text))
        await log.wait_for("two")
        nursery.cancel_scope.cancel()
    assert log.entries == ["started", "one", "x" * 1_000_000, "two"]
    assert not log.child.is_running


async def test_a_child_that_ends_is_started_again_and_told_nothing_twice() -> None:
    log = Log()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(log.child.run)
        await log.wait_for("started")
        assert log.child.send_nowait(Said("crash", 7))
        await log.wait_for("ended: the exit code is 7")
        assert not log.child.send_nowait(Said("lost"))
        await log.wait_for("started", 2)
        assert log.child.send_nowait(Said("again"))
        await log.wait_for("again")
        nursery.cancel_scope.cancel()
    assert "lost" not in log.entries


async def test_a_child_may_run_once_and_what_it_said_last_is_not_lost() -> None:
    log = Log()
    codes: list[int] = []

    async def run() -> None:
        codes.append(await log.child.run_once())

    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await log.wait_for("started")
            log.child.send_nowait(Said("exit"))
    assert codes == [0]
    assert log.entries == ["started", "last"]


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are not inherited there")
async def test_a_child_that_writes_what_is_no_message_is_ended() -> None:
    log = Log([*COMMAND, str(DESCRIPTOR)])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(log.child.run)
        await log.wait_for("started")
        log.child.send_nowait(Said("garbage"))
        await log.wait_for("ended: the signal SIGKILL ended it")
        nursery.cancel_scope.cancel()


def test_a_message_is_cut_out_of_the_bytes_wherever_they_are_cut() -> None:
    data = framed(Said("one")) + framed(Said("two"))
    for cut in range(len(data) + 1):
        frames = FrameBuffer(decode, 100)
        found = []
        for part in (data[:cut], data[cut:]):
            frames.add(part)
            while (message := frames.next_message()) is not None:
                found.append(message.text)
        assert found == ["one", "two"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\x00\x00\x00\x65", id="too long"),
        pytest.param(b"\x00\x00\x00\x01\xc1", id="not MessagePack"),
        pytest.param(b"\x00\x00\x00\x00", id="empty"),
        pytest.param(framed(msgspec.defstruct("Other", [("text", str)], tag=True)("?")), id="another message"),
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    frames = FrameBuffer(decode, 100)
    frames.add(data)
    with pytest.raises(FrameError):
        frames.next_message()
