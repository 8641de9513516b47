"""The health and the metrics of a real server over real sockets."""

from __future__ import annotations

import io
import socket
import subprocess
import sys

import pytest
import trio

from spielleiter.server import events
from spielleiter.server.app import serve
from spielleiter.server.config.config import Config
from spielleiter.server.errors import StartError
from spielleiter.server.monitor.monitor import Monitor
from spielleiter.server.monitor.status import Snapshot
from spielleiter.server.runtime.garbage import PauseMeter
from tests.documents import ROOT
from tests.server.harness import GAME_TYPE
from tests.server.serving import Serving, read_all, serving
from tests.timeouts import HANG_TIMEOUT


async def get(harness: Serving, path: str) -> tuple[int, str]:
    """The status and the body of a page."""
    (started,) = harness.logged("monitor_started")
    host, _, port = started["addresses"][0].rpartition(":")
    async with await trio.open_tcp_stream(host, int(port)) as stream:
        await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        head, _, body = (await read_all(stream)).decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


async def test_metrics_and_health_are_served() -> None:
    async with serving(metrics=("127.0.0.1", 0)) as harness:
        async with await harness.connect() as stream:
            await stream.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
            await stream.receive_some()
            assert await get(harness, "/healthz") == (200, "ok\n")
            status, figures = await get(harness, "/metrics")
        assert status == 200
        assert 'spielleiter_rooms{phase="open"} 1.0\n' in figures
        assert "spielleiter_connections 1.0\n" in figures
        assert "spielleiter_gc_pause_seconds_count " in figures
        assert (await get(harness, "/"))[0] == 404


async def test_health_reports_the_stop_during_the_grace_period() -> None:
    async with serving(metrics=("127.0.0.1", 0), grace=60.0) as harness:
        one, two = await harness.connect(), await harness.connect()
        for stream in (one, two):
            await stream.send_all(f'<protocol><join gameType="{GAME_TYPE}"/>'.encode())
            await stream.receive_some()
        harness.stop.set()
        assert await get(harness, "/healthz") == (503, "stopping\n")
        await one.aclose()
        await read_all(two)
        await two.aclose()


async def test_nothing_is_served_unless_configured() -> None:
    async with serving() as harness:
        pass
    assert harness.logged("monitor_started") == []


@pytest.mark.slow
def test_the_libraries_are_loaded_only_if_configured() -> None:
    code = "import sys, spielleiter.server.app; print([m for m in ('h11', 'prometheus_client') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_a_port_in_use_is_reported_with_its_option() -> None:
    async with serving() as harness:
        config = Config(port=0, metrics=("127.0.0.1", harness.port))
        with pytest.raises(StartError, match=f"127.0.0.1:{harness.port} is in use .* another --metrics"):
            await serve(config, log_file=io.StringIO())


async def test_a_failing_socket_and_failing_metrics_are_reported_and_end_nothing() -> None:
    received: list[events.ServerEvent] = []
    has_broken = trio.Event()

    def record(event: events.ServerEvent) -> None:
        received.append(event)
        if len(received) == 3:
            has_broken.set()

    stream = events.EventStream()
    stream.subscribe(record)

    def broken() -> Snapshot:
        raise ValueError("a bug")

    with socket.create_server(("127.0.0.1", 0)) as listening, trio.fail_after(HANG_TIMEOUT):
        monitor = Monitor([listening], stream, broken, PauseMeter(), lambda: False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(monitor.run)
            async with await trio.open_tcp_stream(*listening.getsockname()) as asking:
                await asking.send_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                assert (await read_all(asking)).startswith(b"HTTP/1.1 500 ")
            listening.shutdown(socket.SHUT_RDWR)
            await has_broken.wait()
            nursery.cancel_scope.cancel()
    assert [type(each) for each in received] == [events.MonitorStarted, events.InternalError, events.InternalError]
