"""Health and figures of a real server over real sockets."""

from __future__ import annotations

import io
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from server import events
from server.config import Config
from server.errors import StartError
from server.garbage import PauseMeter
from server.listener import serve
from server.monitor import Monitor
from server.status import Snapshot
from tests.patience import PATIENCE
from tests.server.house import GAME_TYPE
from tests.server.serving import Serving, read_all, serving

ROOT = Path(__file__).parents[2]


async def get(house: Serving, path: str) -> tuple[int, str]:
    """Status and body."""
    (started,) = house.logged("monitor_started")
    host, _, port = started["addresses"][0].rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head, _, body = (await read_all(stream)).decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


async def test_figures_and_health_can_be_asked_for() -> None:
    async with serving(metrics=("127.0.0.1", 0)) as house:
        async with await house.connect() as stream:
            await stream.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
            await stream.receive_some()
            assert await get(house, "/healthz") == (200, "ok\n")
            status, figures = await get(house, "/metrics")
        assert status == 200
        assert 'spielleiter_rooms{phase="open"} 1.0\n' in figures
        assert "spielleiter_connections 1.0\n" in figures
        assert "spielleiter_gc_pause_seconds_count " in figures
        assert (await get(house, "/"))[0] == 404


async def test_a_server_that_was_told_to_stop_says_so_while_games_have_their_grace() -> None:
    async with serving(metrics=("127.0.0.1", 0), grace=60.0) as house:
        one, two = await house.connect(), await house.connect()
        for stream in (one, two):
            await stream.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
            await stream.receive_some()
        house.stop.set()
        assert await get(house, "/healthz") == (503, "stopping\n")
        await one.aclose()
        await read_all(two)
        await two.aclose()


async def test_there_are_none_unless_asked_for() -> None:
    async with serving() as house:
        pass
    assert house.logged("monitor_started") == []


@pytest.mark.slow
def test_nothing_is_loaded_for_what_nobody_asked_for() -> None:
    code = "import sys, server.listener; print([m for m in ('h11', 'prometheus_client') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_a_port_that_is_taken_is_named_with_its_option() -> None:
    async with serving() as house:
        config = Config(port=0, metrics=("127.0.0.1", house.port))
        with pytest.raises(StartError, match=f"127.0.0.1:{house.port} is in use .* another --metrics"):
            await serve(config, log_file=io.StringIO())


async def test_a_port_that_breaks_and_figures_that_cannot_be_told_are_told_and_end_nothing() -> None:
    told: list[events.Happening] = []
    has_broken = trio.Event()

    def listen(happening: events.Happening) -> None:
        told.append(happening)
        if len(told) == 3:
            has_broken.set()

    stream = events.EventStream()
    stream.subscribe(listen)

    def broken() -> Snapshot:
        raise ValueError("a bug")

    with socket.create_server(("127.0.0.1", 0)) as listening, trio.fail_after(PATIENCE):
        monitor = Monitor([listening], stream, broken, PauseMeter(), lambda: False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(monitor.run)
            async with await trio.open_tcp_stream(*listening.getsockname()) as asking:
                await asking.send_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                assert (await read_all(asking)).startswith(b"HTTP/1.1 500 ")
            listening.shutdown(socket.SHUT_RDWR)
            await has_broken.wait()
            nursery.cancel_scope.cancel()
    assert [type(each) for each in told] == [events.MonitorStarted, events.InternalError, events.InternalError]
