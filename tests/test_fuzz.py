"""What fuzzing begins with, and what it has found: every input is tried in every run, on every Python."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.errors import RemoteProtocolError
from tests.fuzz import CORPUS, TARGETS
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_the_corpus_meets_a_bug(name: str) -> None:
    inputs = sorted((CORPUS / name).iterdir())
    assert len(inputs) > 5
    for path in inputs:
        TARGETS[name](path.read_bytes())


def test_a_bug_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(Dialect, "decode", fail)
    with pytest.raises(RemoteProtocolError, match="because of a bug"):
        TARGETS["stream"](b"\0\0<protocol><join/>")
    with pytest.raises(RemoteProtocolError, match="because of a bug"):
        TARGETS["stream"](b"\1\3<protocol><join/>")


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_short_run(name: str, tmp_path: Path) -> None:
    """With atheris nothing is found in a few seconds; without it one line says what to install."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", name, "5"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    if importlib.util.find_spec("atheris") is None:
        assert done.returncode == 1
        assert done.stderr.splitlines() == [
            "Coverage-guided fuzzing needs atheris (Linux): .venv/bin/python -m pip install 'atheris>=3.0'"
        ]
    else:
        assert done.returncode == 0, done.stderr
        assert "Done " in done.stderr
