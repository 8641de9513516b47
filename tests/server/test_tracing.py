"""The traces of a whole server in virtual time, compared with expected files: a game, a malformed packet, a timeout."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from spielleiter.server import events
from spielleiter.server.app import Server, serve
from spielleiter.server.config import Config
from spielleiter.wire import trace_writer
from tests.server.harness import ServerHarness, legal_move, open_harness
from tests.timeouts import HANG_TIMEOUT


@pytest.fixture(autouse=True)
def _long_close_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait until everything is written, however busy this machine is: a game is 2 MiB of text, made in a thread."""
    monkeypatch.setattr(trace_writer, "CLOSE_TIMEOUT", HANG_TIMEOUT)


HERE = Path(__file__).parents[1] / "wire" / "expected"
CHANGES = re.compile(r"(?m)^# began .*$|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@asynccontextmanager
async def traced(folder: Path, **settings: Any) -> AsyncIterator[ServerHarness]:
    """A server that traces into `folder`; its files are complete at the end of the block."""
    async with open_harness(trace_directory=folder, seeds_ids=True, **settings) as harness:
        yield harness
        assert harness.server.tracer is not None
        await trio.testing.wait_all_tasks_blocked()
        harness.server.close()


def trace_of(folder: Path, name: str) -> str:
    (path,) = folder.glob(f"*_{name}.txt")
    return CHANGES.sub("...", path.read_text(encoding="utf-8"))


def compare(folder: Path, name: str, expected: str) -> None:
    """Compare a trace with a file of this test, which is compressed if it is long."""
    path = HERE / f"{expected}.txt"
    content = path.read_bytes() if path.exists() else gzip.decompress((HERE / f"{expected}.txt.gz").read_bytes())
    assert trace_of(folder, name) == content.decode()


async def test_a_game(tmp_path: Path, autojump_clock: object) -> None:
    async with traced(tmp_path) as harness:
        game = await harness.game()
        while game.id in harness.server.lobby.rooms:
            await trio.sleep(0.25)
            await game.play(1)
        await game.one.end_input()
    compare(tmp_path, "c2", "game")


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("malformed", '<protocol>\n  <join gameType="swc_2021_blokus>\n  </join>\n'),
        ("mismatch", "<protocol><join></room>"),
        ("password", '<protocol><authenticate password="geheim"<'),
        ("wrong-password", '<protocol><authenticate password="geheim"/>'),
        ("unknown", '<protocol><join gameType="swc_1999_schach"/>'),
        ("too-long", f"<protocol><join>{'x' * 300}"),
        ("not-xml", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ],
)
async def test_a_faulty_packet(name: str, sent: str, tmp_path: Path, autojump_clock: object) -> None:
    async with traced(tmp_path, packet_bytes_before=256) as harness:
        caller = await harness.call()
        await caller.send(sent)
        await caller.receive()
        await caller.close()
    assert "geheim" not in trace_of(tmp_path, "c1")
    compare(tmp_path, "c1", name)


async def test_an_illegal_move(tmp_path: Path, autojump_clock: object) -> None:
    async with traced(tmp_path) as harness:
        game = await harness.game()
        await game.one.send(legal_move(game.room).replace(b'color="BLUE"', b'color="RED"'))
    compare(tmp_path, "c2", "illegal-move")


async def test_a_timeout(tmp_path: Path, autojump_clock: object) -> None:
    async with traced(tmp_path, soft_timeout=2.0, hard_timeout=10.0) as harness:
        game = await harness.game()
        await trio.sleep(3)
        await game.play(1)
        await harness.game()
        await trio.sleep(11)
    compare(tmp_path, "c2", "soft-timeout")
    compare(tmp_path, "c5", "hard-timeout")


async def test_a_slow_packet(tmp_path: Path, autojump_clock: object) -> None:
    async with traced(tmp_path) as harness:
        caller = await harness.call()
        await caller.send("<protocol><join ")
        await trio.sleep(60)
    compare(tmp_path, "c1", "slow-packet")


async def test_a_failure_is_one_event(tmp_path: Path, autojump_clock: object, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_write: object, _data: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trace_writer, "write_all", fail)
    async with traced(tmp_path) as harness:
        caller = await harness.call()
        await caller.send("<protocol><join/>")
        assert harness.server.tracer is not None
        harness.server.close()
        await trio.testing.wait_all_tasks_blocked()
        await caller.send("<room/>")
    failures = [event for event in harness.server_events if isinstance(event, events.TraceFailed)]
    assert [event.error for event in failures] == ["No space left on device"]
    assert await caller.receive()


async def test_a_folder_for_traces_needs_a_recorder(tmp_path: Path) -> None:
    config = Config(port=0, trace_directory=tmp_path)
    with pytest.raises(ValueError, match=r"^trace_directory needs a recorder; pass recorder="):
        Server(config, io.StringIO())
    with pytest.raises(ValueError, match=r"^trace_directory needs a recorder; pass recorder="):
        await serve(config)
    Server(config, io.StringIO(), recorder=trace_writer.Recorder).close()
