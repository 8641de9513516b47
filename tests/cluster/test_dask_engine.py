"""The value of --cluster, and the connection to Dask."""

from __future__ import annotations

import socketserver
import threading

import pytest
import trio

import spielleiter.cluster.dask_engine
from spielleiter.cluster.dask_engine import MAX_LOCAL_WORKERS, ClusterAddress, DaskEngine
from spielleiter.common.errors import ClusterError, SetupError

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.mark.parametrize(
    ("text", "workers", "is_open"),
    [
        ("tcp://pc01:8786", None, True),
        ("tcp://10.0.0.7:8786", None, True),
        ("tcp://localhost:8786", None, False),
        ("tcp://127.0.0.1:8786", None, False),
        ("tls://10.0.0.7:8786", None, False),
        ("tcp://[::1]:8786", None, False),
        ("local:1", 1, False),
        (f"local:{MAX_LOCAL_WORKERS}", MAX_LOCAL_WORKERS, False),
    ],
)
def test_addresses_are_read(text: str, workers: int | None, is_open: bool) -> None:
    address = ClusterAddress.parse(text)
    assert (address.text, address.local_workers, address.is_open) == (text, workers, is_open)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "pc01",
        "pc01:8786",
        "http://pc01:8786",
        "tcp://pc01",
        "tcp://:8786",
        "tcp://pc01:0",
        "tcp://pc01:70000",
        "tcp://pc01:8786/x",
        "local",
        "local:0",
        "local:-1",
        "local:257",
        "local:x",
        "tcp://a b:1",
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(SetupError, match=r"expected tcp://HOST:PORT or tls://HOST:PORT"):
        ClusterAddress.parse(text)


def test_without_a_certificate_there_is_an_error() -> None:
    with pytest.raises(ClusterError, match="for TLS, name the files of the certificates"):
        DaskEngine(ClusterAddress.parse("tls://127.0.0.1:1")).open()


def test_without_a_scheduler_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.cluster.dask_engine, "CONNECT_TIMEOUT", 0.2)
    engine = DaskEngine(ClusterAddress.parse("tcp://127.0.0.1:1"))
    with pytest.raises(ClusterError, match="no Dask scheduler can be reached there"):
        engine.open()
    with pytest.raises(ClusterError, match="no Dask scheduler can be reached there"):
        trio.run(engine.workers)  # it tries again
    engine.close()


def test_something_else_that_listens_there_is_no_scheduler() -> None:
    class Greeting(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(b"SSH-2.0-OpenSSH_9.2\r\n" * 10)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greeting) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            with pytest.raises(ClusterError, match="Dask scheduler"):
                DaskEngine(ClusterAddress.parse(f"tcp://127.0.0.1:{server.server_address[1]}")).open()
        finally:
            server.shutdown()
