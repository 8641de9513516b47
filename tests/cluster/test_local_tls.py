"""A cluster that a match starts on this machine talks to nobody who has no certificate of this run."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio

from spielleiter.cluster.dask_engine import ClusterAddress, DaskEngine
from spielleiter.common.errors import ClusterError
from spielleiter.match.records import read_journal
from tests.cli.background import run
from tests.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

HOST = "127.0.0.1"
PAGES = ("/", "/status", "/metrics", "/health", "/info/main/workers.html", "/json/identity.json")


class Cluster:
    """A worker that was started here, and what was told about it."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.engine = DaskEngine(ClusterAddress.parse("local:1"), self.told.append)
        own = psutil.Process()
        before = {*_listening(own), *own.children(recursive=True)}
        self.engine.open()
        self.processes = [each for each in own.children(recursive=True) if each not in before]
        self.ports = [port for each in (own, *self.processes) for port in _listening(each) if port not in before]

    @property
    def schedulers_and_workers(self) -> list[int]:
        """The ports that Dask's own protocol is spoken on."""
        return [port for port in self.ports if not _speaks_http(port)]


def _listening(process: psutil.Process) -> list[int]:
    return [port for _, port in _addresses(process)]


def _addresses(process: psutil.Process) -> list[tuple[str, int]]:
    return [(each.laddr.ip, each.laddr.port) for each in process.net_connections() if each.status == "LISTEN"]


def _say_hello(port: int) -> None:
    """Send something that is not TLS, and wait for the end or a moment. Raises OSError if nobody listens."""
    with socket.create_connection((HOST, port), timeout=0.1) as sock, contextlib.suppress(OSError):
        sock.sendall(b"hello\n" * 10)
        while sock.recv(4096):
            pass


def _speaks_http(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=HANG_TIMEOUT)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/")
        return connection.getresponse().status > 0
    return False


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.engine.close()


def strangers() -> dict[str, tuple[str, Any]]:
    """Ways to connect without a certificate of the run: the protocol, and what Dask is told for it."""
    from distributed import Security

    other_run = Security.temporary()
    without = Security.temporary().get_connection_args("client")
    without["ssl_context"] = _context_without_certificate()
    return {
        "without TLS": ("tcp", {}),
        "with the certificate of another run": ("tls", other_run.get_connection_args("client")),
        "without a certificate": ("tls", without),
    }


def _context_without_certificate() -> Any:
    import ssl

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def _run_code(address: str, arguments: Any, file: Path) -> None:
    """Have a scheduler, nanny or worker run a function that creates `file`."""
    from distributed import rpc
    from distributed.protocol.pickle import dumps

    async with rpc(address, connection_args=arguments, timeout=5) as peer:
        await peer.run(function=dumps(file.touch), args=dumps(()), kwargs=dumps({}))


@pytest.mark.parametrize("stranger", ["without TLS", "with the certificate of another run", "without a certificate"])
def test_nobody_else_can_run_code(stranger: str, cluster: Cluster, tmp_path: Path) -> None:
    protocol, arguments = strangers()[stranger]
    before = cluster.engine.refused
    ports = cluster.schedulers_and_workers
    assert len(ports) == 3  # a scheduler, a worker, and what watches over it
    for port in ports:
        with pytest.raises(OSError):
            asyncio.run(asyncio.wait_for(_run_code(f"{protocol}://{HOST}:{port}", arguments, tmp_path / "run"), 20))
    assert not (tmp_path / "run").exists()
    _wait_for_refusals(cluster, before + len(ports))  # every one of them is counted


def _wait_for_refusals(cluster: Cluster, number: int) -> None:
    deadline = time.monotonic() + HANG_TIMEOUT
    while cluster.engine.refused < number:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_who_has_the_certificate_can(cluster: Cluster, tmp_path: Path) -> None:
    """The test above would notice it."""
    [address, *_] = trio.run(cluster.engine.workers)
    assert trio.run(cluster.engine.call, address, (tmp_path / "run").touch) is None
    assert (tmp_path / "run").exists()


def test_a_client_without_tls_reaches_no_scheduler(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spielleiter.cluster.dask_engine.CONNECT_TIMEOUT", 0.5)
    address = str(cluster.engine.client.scheduler_info()["address"]).replace("tls:", "tcp:")
    programs = ("--player1", "builtin:first", "--player2", "builtin:random")
    done = run("match", *programs, "--out", str(tmp_path / "out"), "--cluster", address)
    assert done.exit_code == 4
    assert done.stderr.startswith(f"spielleiter match: {address}: no Dask scheduler can be reached there")
    assert done.stderr.count("\n") == 1


def test_everything_listens_on_the_loopback_interface_only(cluster: Cluster) -> None:
    addresses = [address for each in (psutil.Process(), *cluster.processes) for address in _addresses(each)]
    started = {(host, port) for host, port in addresses if port in cluster.ports}
    assert {host for host, _ in started} == {HOST}
    [worker] = trio.run(cluster.engine.workers)
    assert (HOST, int(worker.rpartition(":")[2])) in started


def test_there_are_no_pages_about_its_state(cluster: Cluster) -> None:
    ports = [port for port in cluster.ports if port not in cluster.schedulers_and_workers]
    for port in ports:
        for page in PAGES:
            with contextlib.closing(http.client.HTTPConnection(HOST, port, timeout=HANG_TIMEOUT)) as connection:
                connection.request("GET", page)
                assert connection.getresponse().status == 404


def test_the_key_is_neither_on_a_command_line_nor_in_a_variable(cluster: Cluster) -> None:
    assert cluster.processes
    for process in cluster.processes:
        assert "PRIVATE KEY" not in "\n".join([*process.cmdline(), *process.environ().values()])


def test_a_match_is_played_while_somebody_tries_to_get_in(tmp_path: Path) -> None:
    words = ["match", "--player1", "builtin:first", "--player2", "builtin:random", "-n", "4", "--seed", "1"]
    command = [sys.executable, "-m", "spielleiter", *words, "--cluster", "local:2", "--out", str(tmp_path / "match")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as match:
        tried: set[int] = set()
        process = psutil.Process(match.pid)
        while match.poll() is None:
            with contextlib.suppress(psutil.Error, OSError):
                for port in {port for each in (process, *process.children()) for port in _listening(each)}:
                    _say_hello(port)
                    tried.add(port)
            time.sleep(0.02)
        assert match.stderr is not None
        lines = match.stderr.read().splitlines()
    assert match.returncode == 0, lines
    assert len(read_journal(tmp_path / "match")) == 4
    assert len(tried) >= 3  # the scheduler and both workers; others may come and go between two looks
    assert len([line for line in lines if "another process tried to reach the workers" in line]) == 1
    assert not [line for line in lines if not line.startswith(("game ", "local:2: "))]  # nothing of Dask


def test_the_first_refusal_is_told_and_at_the_end_their_number_and_nothing_is_left(cluster: Cluster) -> None:
    """The last test of this cluster, since it is closed."""
    before = cluster.engine.refused
    for port in cluster.schedulers_and_workers:
        _say_hello(port)
    _wait_for_refusals(cluster, before + 3)
    workers = [each for each in cluster.processes if _listening(each)]
    cluster.engine.close()
    assert workers
    assert not any(each.is_running() for each in workers)
    with pytest.raises(ClusterError, match="local:1: there is no connection to the scheduler"):
        _ = cluster.engine.client
    first, last = cluster.told
    assert re.fullmatch(
        r"local:1: another process tried to reach the workers from tls://127\.0\.0\.1:\d+; "
        "it was refused, since it has no certificate of this run",
        first,
    )
    number = re.fullmatch(r"local:1: (\d+) connections were refused in this way", last)
    assert number
    assert before + 3 <= int(number[1]) <= cluster.engine.refused
