"""The scheduler is killed in the middle of a match and started again; so are the workers, as a service manager does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from spielleiter.match import Conditions, EndReason, GameRecord, play_match, prepare_match
from spielleiter.match.cluster.address import ClusterAddress
from spielleiter.match.cluster.site import SCRATCH_PREFIX
from spielleiter.match.cluster.venue import ClusterSettings, open_cluster
from tests.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


@contextmanager
def running(*words: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
    environment = {**os.environ, "TMPDIR": str(folder), "SPIELLEITER_SPEED": "1"}
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_a_match_outlives_its_scheduler(tmp_path: Path) -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", str(port))
    worker = ("worker", address, "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--name", "pc")
    setup = prepare_match(
        "builtin:first", "builtin:random", games=12, seed=1, soft_timeout=HANG_TIMEOUT, hard_timeout=HANG_TIMEOUT
    )
    with ExitStack() as stack:
        first = stack.enter_context(running(*scheduler, folder=tmp_path))
        stack.enter_context(running(*worker, folder=tmp_path))

        def restart_once(record: GameRecord) -> None:
            if first.poll() is None:
                first.kill()
                first.wait()
                stack.enter_context(running(*scheduler, folder=tmp_path))
                stack.enter_context(running(*worker, folder=tmp_path))

        with open_cluster(ClusterSettings(ClusterAddress.parse(address)), tmp_path) as venue:
            conditions = Conditions(0, venue=venue)
            result = play_match(setup, tmp_path / "match", conditions=conditions, on_game_finished=restart_once)
        assert first.poll() is not None
    assert result.end is EndReason.COMPLETED
    assert [record.game for record in sorted(result.records, key=lambda each: each.game)] == list(range(1, 13))
    assert not list(tmp_path.glob(f"{SCRATCH_PREFIX}*"))
