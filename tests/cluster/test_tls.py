"""A match on a cluster with TLS, set up as docs/cluster.md says: who has the certificate takes part, nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from spielleiter.match.records import read_journal
from tests.cluster.dask_commands import HOST, free_port, running_dask

pytestmark = pytest.mark.slow

_FILES = Path(__file__).with_name("tls")
_CERTIFICATE = {
    f"DASK_DISTRIBUTED__COMM__TLS__{role}__{kind}": str(_FILES / name)
    for role in ("SCHEDULER", "WORKER", "CLIENT")
    for kind, name in (("CERT", "cert.pem"), ("KEY", "key.pem"))
}
_CERTIFICATE["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"] = str(_FILES / "cert.pem")
_CERTIFICATE["DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION"] = "True"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a scheduler that has one worker."""
    folder = tmp_path_factory.mktemp("tls")
    number = free_port()
    scheduler = ("scheduler", "--protocol", "tls", "--port", str(number))
    worker = ("worker", f"tls://{HOST}:{number}", "--nthreads", "1")
    with (
        running_dask(*scheduler, folder=folder, variables=_CERTIFICATE),
        running_dask(*worker, folder=folder, variables=_CERTIFICATE),
    ):
        yield number


def match(address: str, out: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    patch = "import spielleiter.cluster.dask_engine as engine; engine.CONNECT_TIMEOUT = 60 if {} else 1; "
    code = patch.format(bool(variables)) + "from spielleiter.cli.__main__ import main; main()"
    words = ["match", "--player1", "builtin:first", "--player2", "builtin:random", "-n", "2", "--seed", "1"]
    command = [sys.executable, "-c", code, *words, "--cluster", address, "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **variables})


def test_a_match_with_the_certificate(port: int, tmp_path: Path) -> None:
    done = match(f"tls://127.0.0.1:{port}", tmp_path / "match", _CERTIFICATE)
    assert done.returncode == 0, done.stderr
    assert len(read_journal(tmp_path / "match")) == 2


def test_without_the_certificate_one_line_says_so(port: int, tmp_path: Path) -> None:
    done = match(f"tls://127.0.0.1:{port}", tmp_path / "match", {})
    assert done.returncode == 4
    assert "for TLS, name the files of the certificates" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_connection_without_tls_is_refused(port: int, tmp_path: Path) -> None:
    done = match(f"tcp://127.0.0.1:{port}", tmp_path / "match", {})
    assert done.returncode == 4
    assert "no Dask scheduler can be reached there" in done.stderr
    assert "Traceback" not in done.stderr
