"""The inputs that fuzzing starts from and those that it has found: each is tried in every run, on every Python."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.errors import RemoteProtocolError
from tests.fuzz import CORPUS, INSTRUMENTED, TARGETS
from tests.timeouts import HANG_TIMEOUT

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_of_the_corpus_triggers_a_bug(name: str) -> None:
    inputs = sorted((CORPUS / name).iterdir())
    assert len(inputs) > 5
    for path in inputs:
        TARGETS[name](path.read_bytes())


@pytest.mark.parametrize("name", INSTRUMENTED)
def test_instrumented_modules_exist(name: str) -> None:
    assert importlib.util.find_spec(name)


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
def test_a_short_run_finds_nothing_or_says_what_to_install(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", name, "5"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_TIMEOUT,
    )
    if importlib.util.find_spec("atheris") is None:
        assert done.returncode == 1
        assert done.stderr.splitlines() == [
            "Coverage-guided fuzzing needs atheris: `make fuzz-guided` installs it where it can"
        ]
    else:
        assert done.returncode == 0, done.stderr
        assert "Done " in done.stderr
