"""The connection to Dask: what is started on this machine, and what happens without a scheduler."""

from __future__ import annotations

import socketserver
import threading
from typing import Any

import psutil
import pytest

import spielleiter.cluster.engine
from spielleiter.cluster.address import ClusterAddress
from spielleiter.cluster.engine import Engine
from spielleiter.common.errors import ClusterError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def test_what_is_started_here_listens_on_the_loopback_interface_only() -> None:
    engine = Engine(ClusterAddress.parse("local:1"))
    own = psutil.Process()
    before = {each.pid for each in own.children(recursive=True)}
    engine.open()
    try:
        started = [each for each in own.children(recursive=True) if each.pid not in before]
        workers = [each for each in started if _listening(each)]
        sockets = [sock for each in (own, *workers) for sock in _listening(each)]
        [worker] = engine.workers()
        assert {sock.laddr.ip for sock in sockets} == {"127.0.0.1"}
        assert int(worker.rpartition(":")[2]) in {sock.laddr.port for sock in sockets}
        assert engine.is_connected
    finally:
        engine.close()
    assert workers
    assert not any(each.is_running() for each in workers)
    with pytest.raises(ClusterError, match="local:1: there is no connection to the scheduler"):
        engine.workers()


def _listening(process: psutil.Process) -> list[Any]:
    return [sock for sock in process.net_connections() if sock.status == "LISTEN"]


def test_without_a_scheduler_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.cluster.engine, "CONNECT_TIMEOUT", 0.2)
    engine = Engine(ClusterAddress.parse("tcp://127.0.0.1:1"))
    with pytest.raises(ClusterError, match="no Dask scheduler can be reached there"):
        engine.open()
    assert not engine.is_connected
    assert not engine.reconnect()
    engine.close()


def test_something_else_that_listens_there_is_no_scheduler() -> None:
    class Greeting(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 10)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeting) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            with pytest.raises(ClusterError, match="Dask scheduler"):
                Engine(ClusterAddress.parse(f"tcp://127.0.0.1:{server.server_address[1]}")).open()
        finally:
            server.shutdown()


def test_tls_needs_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.cluster.engine, "CONNECT_TIMEOUT", 0.2)
    with pytest.raises(ClusterError, match=r"for TLS, name the files of the certificates"):
        Engine(ClusterAddress.parse("tls://127.0.0.1:1")).open()
