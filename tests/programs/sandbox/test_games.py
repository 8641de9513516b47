"""Games of a match with programs in sandboxes: the whole way from the setup to the record."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant, MatchSetup
from spielleiter.match.preparation import require_playable
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import play_game
from spielleiter.match.verdict import Verdict
from spielleiter.programs.sandbox.containers import ENGINES
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, DOCKER, NONE, Sandbox, SandboxSettings
from spielleiter.programs.this_platform import PLATFORM
from tests.contest.packages import program_text
from tests.match.refereed import setup_of
from tests.programs.sandbox.sandboxes import KINDS, image_of, make_sandbox, python
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow


def settings_of(sandbox: Sandbox) -> SandboxSettings:
    return SandboxSettings(sandbox.name, image_of(sandbox.name) if sandbox.name in ENGINES else None)


def entrant(sandbox: Sandbox, folder: Path, command: str) -> Entrant:
    return Entrant("confined", command, cwd=str(folder), sandbox=settings_of(sandbox))


async def play(folder: Path, confined: Entrant, other: Entrant | None = None) -> GameRecord:
    setup = dataclasses.replace(setup_of("builtin:random", "builtin:random"), run_id=str(folder))
    setup = dataclasses.replace(setup, entrants=(confined, other or setup.entrants[1]))
    with trio.fail_after(HANG_TIMEOUT):
        record = await play_game(setup, setup.plan()[0], folder / "match")
    assert PLATFORM.find_tagged(str(folder)) == ()
    assert GameRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    return record


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    folder.mkdir()
    return folder


async def test_a_game_is_played_to_its_end_by_two_programs_in_sandboxes(
    sandbox: Sandbox, tmp_path: Path, package: Path
) -> None:
    (package / "bot.py").write_text(program_text())
    command = " ".join([*python(sandbox, "")[:-2], "bot.py"])  # without -c
    first = entrant(sandbox, package, command)
    record = await play(tmp_path, first, dataclasses.replace(first, name="other"))
    out = [path.read_text() for path in sorted((tmp_path / "match" / "games" / "0001").glob("program1.*.log"))]
    assert (record.verdict, record.reason) == (Verdict.REGULAR, ""), out
    assert record.plies > 20
    for observed in record.observations:
        assert observed is not None
        assert (observed.sandbox, observed.network_attempts) == (
            sandbox.name,
            0 if sandbox.has_own_name_spaces else None,
        )
        assert observed.peak_memory
    assert min(record.cpu_seconds) > 0
    assert record.remarks[0] == (("its disk could not be limited here",) if sandbox.name == NONE else ())


async def test_a_program_that_does_not_exist_is_a_verdict(tmp_path: Path, package: Path) -> None:
    record = await play(tmp_path, entrant(make_sandbox(NONE), package, "./missing"))
    assert (record.verdict, record.offender) == (Verdict.NO_START, 0)
    assert record.reason == "./missing: there is no such program"


async def test_the_reason_names_the_memory_limit(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "spielleiter.match.match_server.choose_sandbox",
        lambda _image, kind, _python: make_sandbox(kind, 96 * 1024 * 1024),
    )
    sandbox = make_sandbox(NONE)
    (package / "bot.py").write_text("data = []\nwhile True: data.append(b'x' * 1_000_000)\n")
    record = await play(tmp_path, entrant(sandbox, package, " ".join([*python(sandbox, "")[:-2], "bot.py"])))
    assert record.verdict == Verdict.NO_START
    assert "it was killed because it used more than the contest's 1536 MiB of memory" in record.reason
    observed = record.observations[0]
    assert observed is not None
    assert observed.exceeded_memory


async def test_attempts_are_remarks(tmp_path: Path, package: Path) -> None:
    sandbox = make_sandbox(BUBBLEWRAP)
    (package / "bot.py").write_text(
        "import socket, sys\n"
        "print(socket.socket().connect_ex(('203.0.113.5', 80)))\n"
        "sys.exit('Gtk-WARNING **: cannot open display: ')\n"
    )
    record = await play(tmp_path, entrant(sandbox, package, " ".join([*python(sandbox, "")[:-2], "bot.py"])))
    assert record.remarks[0] == (
        "tried to use the network, which the contest does not have",
        "tried to open a window, which the contest does not have",
    )


@pytest.mark.parametrize(("number", "kind"), [(9, kind) for kind in KINDS] + [(15, NONE), (2, NONE)])
def test_nothing_is_left_if_the_match_is_killed(number: int, kind: str, tmp_path: Path, package: Path) -> None:
    (package / "bot.sh").write_text("#!/bin/sh\n(trap '' TERM; sleep 1000) &\ntouch started\nsleep 1000\n")
    (package / "bot.sh").chmod(0o755)
    settings = settings_of(make_sandbox(kind))
    code = f"""
from spielleiter.match import Entrant, MatchSetup, play_match
from spielleiter.programs.sandbox.sandbox import SandboxSettings
sandbox = SandboxSettings({settings.kind!r}, {settings.image!r})
entrants = Entrant("a", "./bot.sh", cwd={str(package)!r}, sandbox=sandbox), Entrant("b", "builtin:random")
play_match(MatchSetup(entrants, "swc_2027_blokus", 2, 1, {str(tmp_path)!r}), {str(tmp_path / "match")!r})
"""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    # without the folders of version managers, whose Pythons take long to answer
    path = os.pathsep.join([str(Path(shutil.which(settings.kind) or "/bin/sh").parent), os.defpath])
    environment = {**os.environ, "TMPDIR": str(temporary), "PATH": path}
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    _wait_until(lambda: bool(list(temporary.glob("*/*/program/started"))))
    assert PLATFORM.find_tagged(str(tmp_path)) != ()
    process.send_signal(number)
    while number != 9 and process.poll() is None:  # the first one lets the game finish
        process.send_signal(number)
        time.sleep(0.01)
    process.wait(HANG_TIMEOUT)
    _wait_until(lambda: PLATFORM.find_tagged(str(tmp_path)) == ())
    if settings.image is not None:
        command = [settings.kind, "ps", "--all", "--quiet", "--filter", f"ancestor={settings.image}"]
        _wait_until(lambda: subprocess.run(command, capture_output=True, check=True).stdout == b"", pause=0.3)


def _wait_until(condition: Callable[[], bool], pause: float = 0.01) -> None:
    deadline = time.monotonic() + HANG_TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(pause)


# -- setups ---------------------------------------------------------------------------------------------------------


CONFINED = Entrant("a", "./bot", cwd="/", sandbox=SandboxSettings(NONE))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"cwd": ""}, "a: expected the program's own folder, of which the sandbox gets a copy"),
        ({"memory": 100}, "a: the sandbox limits its memory, expected no other limit"),
        ({"command": "builtin:slow"}, "expected a program in a folder"),
        ({"sandbox": SandboxSettings("jail")}, "sandbox 'jail': expected auto, docker, podman, bubblewrap, none"),
        ({"sandbox": SandboxSettings(DOCKER)}, "sandbox docker: expected an image, such as --image python:3.12"),
        ({"name": "at another server"}, "a program in a sandbox plays on the match's own server only"),
        ({}, ""),
    ],
)
def test_what_cannot_be_confined_is_refused(changes: dict[str, object], problem: str) -> None:
    confined = dataclasses.replace(CONFINED, **changes)  # type: ignore[arg-type]
    is_elsewhere = confined.name == "at another server"
    setup = dataclasses.replace(
        setup_of("./bot", "./bot" if is_elsewhere else "builtin:random"),
        entrants=(confined, CONFINED if is_elsewhere else Entrant("b", "builtin:random")),
        server=("localhost", 13050) if is_elsewhere else None,
    )
    assert MatchSetup.from_json(json.loads(json.dumps(setup.to_json()))) == setup
    with pytest.raises(SetupError, match=re.escape(problem)) if problem else contextlib.nullcontext():
        require_playable(setup)
