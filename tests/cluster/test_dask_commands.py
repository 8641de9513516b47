"""Matches on schedulers and workers that are started as Dask's own commands, as an administrator starts them.

With TLS, set up as docs/cluster.md says, who has the certificate takes part and nobody else. Schedulers are restarted,
and workers fall silent, in the middle of a match.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from spielleiter.cluster.dask_engine import ClusterAddress
from spielleiter.cluster.venue import ClusterSettings, open_cluster
from spielleiter.cluster.worker import SCRATCH_PREFIX
from spielleiter.match import Conditions, EndReason, GameRecord, MatchResult, play_match, prepare_match
from spielleiter.match.records import read_journal
from tests.timeouts import HANG_TIMEOUT

HOST = "127.0.0.1"
_EXIT_TIMEOUT = 20.0
"""Seconds for a process of Dask to end before it is killed."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
    return port


@contextmanager
def running_dask(
    *words: str, folder: Path, variables: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run ``dask`` with these words and further environment variables."""
    options = ["--host", HOST, "--no-dashboard", "--dashboard-address", f"{HOST}:0"]
    command = [sys.executable, "-m", "dask", *words, *options]
    environment = {**os.environ, **(variables or {}), "TMPDIR": str(folder), "SPIELLEITER_SPEED": "1"}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_EXIT_TIMEOUT)
            except subprocess.TimeoutExpired:  # a scheduler whose worker has been silent sometimes waits for ever
                process.kill()


_FILES = Path(__file__).with_name("tls")
_CERTIFICATE = {
    f"DASK_DISTRIBUTED__COMM__TLS__{role}__{kind}": str(_FILES / name)
    for role in ("SCHEDULER", "WORKER", "CLIENT")
    for kind, name in (("CERT", "cert.pem"), ("KEY", "key.pem"))
}
_CERTIFICATE["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"] = str(_FILES / "cert.pem")
_CERTIFICATE["DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"] = "True"


def test_a_match_with_the_certificate(tmp_path: Path) -> None:
    port = free_port()
    address = f"tls://{HOST}:{port}"
    patch = f"import spielleiter.cluster.dask_engine as engine; engine.CONNECT_TIMEOUT = {HANG_TIMEOUT}; "
    code = patch + "from spielleiter.cli.__main__ import main; main()"
    words = ["match", "--player1", "builtin:first", "--player2", "builtin:random", "-n", "2", "--seed", "1"]
    command = [sys.executable, "-c", code, *words, "--cluster", address, "--out", str(tmp_path / "match")]
    scheduler = ("scheduler", "--protocol", "tls", "--port", str(port))
    worker = ("worker", address, "--nthreads", "1")
    with (
        running_dask(*scheduler, folder=tmp_path, variables=_CERTIFICATE),
        running_dask(*worker, folder=tmp_path, variables=_CERTIFICATE),
    ):
        environment = {**os.environ, **_CERTIFICATE}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert len(read_journal(tmp_path / "match")) == 2


pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@pytest.fixture(autouse=True)
def _long_connect_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a scheduler that has just been started, however busy this machine is."""
    monkeypatch.setattr("spielleiter.cluster.dask_engine.CONNECT_TIMEOUT", HANG_TIMEOUT)


class Cluster:
    """A scheduler and workers as commands, started in `folder`, and a match of 12 games on them."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        port = free_port()
        self.address = f"tcp://{HOST}:{port}"
        self._port = str(port)
        self._folder = folder
        self._stack = stack

    def start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._stack.enter_context(running_dask("scheduler", "--port", self._port, folder=self._folder))

    def start_worker(self, name: str) -> subprocess.Popen[bytes]:
        words = ("worker", self.address, "--nthreads", "1", "--no-nanny", "--name", name)
        return self._stack.enter_context(running_dask(*words, folder=self._folder))

    def play(self, on_game_finished: Callable[[GameRecord], object]) -> MatchResult:
        limits: dict[str, Any] = {"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT}
        setup = prepare_match("builtin:first", "builtin:random", games=12, seed=1, **limits)
        with open_cluster(ClusterSettings(ClusterAddress.parse(self.address)), self._folder) as venue:
            conditions = Conditions(0, venue=venue)
            return play_match(setup, self._folder / "match", conditions=conditions, on_game_finished=on_game_finished)


def assert_complete(result: MatchResult) -> None:
    assert result.end is EndReason.COMPLETED
    lines = (result.folder / "games.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["game"] for line in lines) == list(range(1, 13))


def test_a_match_outlives_its_scheduler(tmp_path: Path) -> None:
    """The workers are started again as well, as a service manager does."""
    with ExitStack() as stack:
        cluster = Cluster(tmp_path, stack)
        first = cluster.start_scheduler()
        cluster.start_worker("pc")

        def restart_once(_record: GameRecord) -> None:
            if first.poll() is None:
                first.kill()
                first.wait()
                cluster.start_scheduler()
                cluster.start_worker("pc")

        result = cluster.play(restart_once)
        assert first.poll() is not None
    assert_complete(result)
    assert not list(tmp_path.glob(f"{SCRATCH_PREFIX}*"))


def test_the_pairs_of_a_silent_worker_are_played_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "8s")
    with ExitStack() as stack:
        cluster = Cluster(tmp_path, stack)
        cluster.start_scheduler()
        workers = {name: cluster.start_worker(name) for name in ("pc1", "pc2")}
        silent: list[str] = []

        def silence_once(record: GameRecord) -> None:
            if not silent:  # the one that is about to get the next pair
                silent.append(record.machine)
                psutil.Process(workers[record.machine].pid).suspend()

        result = cluster.play(silence_once)
        psutil.Process(workers[silent[0]].pid).resume()
        deadline = time.monotonic() + HANG_TIMEOUT
        while list(tmp_path.glob(f"{SCRATCH_PREFIX}*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not list(tmp_path.glob(f"{SCRATCH_PREFIX}*"))
    assert_complete(result)
    assert {record.machine for record in result.records[2:]} == {"pc1", "pc2"} - set(silent)
