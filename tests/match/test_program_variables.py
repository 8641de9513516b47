"""The environment of programs under every command that starts them: real commands, with secrets in their variables."""

from __future__ import annotations

import ctypes
import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from docs.generated_parts import expand
from tests.cli.background import misuse
from tests.documents import read
from tests.interpreter import PYTHON
from tests.match.players import LIGHT, PORT_FILE
from tests.match.refereed import write_late_replay
from tests.timeouts import HANG_TIMEOUT

if sys.platform != "linux":
    pytest.skip("a program reads its own variables and those of others below /proc", allow_module_level=True)

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
SPIELLEITER = [sys.executable, "-m", "spielleiter"]
BEGINNING = f"secret-{secrets.token_hex(8)}-"
"""The beginning of all secrets; tests in other processes have others."""
SECRETS = {
    name: f"{BEGINNING}{name.lower()}"
    for name in ("SPIELLEITER_PASSWORD", "GITHUB_TOKEN", "GITHUB_ENV", "GITHUB_PATH", "LC_SECRET")
}
ORDINARY = {"LANG": "C.UTF-8", "TZ": "Europe/Berlin", "JAVA_HOME": "/opt/java", "DISPLAY": ":7"}
DOCUMENTED = {"HOME", *re.findall(r"`([A-Z_]+)`", expand(read("docs/reference/program-variables.md")))}
SCRIPT = """#!/bin/sh
cat /proc/$$/environ > "$0.variables"
{ ls -A "$HOME" | wc -l; stat -c %a "$HOME"; } > "$0.home"
[ -e "$HOME/mine" ] || { mkdir -p "$HOME/.cache/deep"; chmod 0 "$HOME/.cache/deep"; }
exit 3
"""
"""A program that writes down what it finds beside its file, and takes no seat. It spoils its home, but no other."""


def become_ordinary() -> None:
    """Give up the powers of the administrator, also for what is started, so that the tests are those of any user."""
    for capability in range(64 if os.geteuid() == 0 else 0):
        LIBC.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP in <linux/prctl.h>


LIBC = ctypes.CDLL(None)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the secrets in its environment, in `folder`, until it ends."""
    environment = {**os.environ, **ORDINARY, **SECRETS}
    return subprocess.run(
        [*SPIELLEITER, *words],
        cwd=folder,
        env=environment,
        preexec_fn=become_ordinary,
        capture_output=True,
        text=True,
        timeout=HANG_TIMEOUT,
        check=False,
    )


def by_match(folder: Path, *options: str, cluster: tuple[str, ...] = ()) -> None:
    """Play a match of the program with these options against the same one without any."""
    numbered = (f"{word}1" if word.startswith("--") else word for word in options)
    words = ("match", "--player1", "./bot", "--player2", "./plain", "-n", "2", "--out", "out", *numbered)
    assert run(folder, *words, *cluster).returncode == 5


def by_match_file(folder: Path, *options: str) -> None:
    (folder / "match.toml").write_text(f"games = 2\nout = 'out'\n{tables(options)}")
    assert run(folder, "match", "match.toml").returncode == 5


def by_tournament(folder: Path, *options: str) -> None:
    (folder / "tournament.toml").write_text(f"kind = 'round-robin'\ngames = 2\n{tables(options)}")
    assert run(folder, "tournament", "tournament.toml", "--out", "out").returncode == 5


def tables(options: tuple[str, ...]) -> str:
    """The tables of the two programs in a file."""
    given = dict(zip(options[::2], options[1::2], strict=True))
    keys = ""
    if "--env" in given:
        name, _, value = given["--env"].partition("=")
        keys += f"env = {{ {name} = {value!r} }}\n"
    if "--pass-env" in given:
        keys += f"pass_env = {given['--pass-env'].split(',')}\n"
    return f"[[program]]\nname='bot'\ncommand='./bot'\n{keys}[[program]]\nname='first'\ncommand='builtin:first'\n"


def by_check(folder: Path, *options: str) -> None:
    assert run(folder, "check", "./bot", *options).returncode == 3


def by_lend(folder: Path, *options: str) -> None:
    command = [*SPIELLEITER, "lend", "./bot", "--port", "0", *options]
    environment = {**os.environ, **ORDINARY, **SECRETS}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as lender:
        try:
            assert lender.stdout is not None
            port = lender.stdout.readline().split()[-1]
            assert run(folder, "borrow", f"127.0.0.1:{port}", "-p", "13050", "-r", "abc").returncode == 3
        finally:
            lender.terminate()


def by_cluster(folder: Path, *options: str) -> None:
    by_match(folder, *options, cluster=("--cluster", "local:1"))


COMMANDS: Mapping[str, Callable[..., None]] = {
    "match": by_match,
    "match file": by_match_file,
    "tournament": by_tournament,
    "check": by_check,
    "lend": by_lend,
    "cluster": by_cluster,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the program, under two names."""
    for name in ("bot", "plain"):
        (tmp_path / name).write_text(SCRIPT)
        (tmp_path / name).chmod(0o755)
    return tmp_path


def variables(folder: Path, name: str = "bot") -> dict[str, str]:
    """The variables that the program had."""
    entries = (folder / f"{name}.variables").read_text().split("\0")
    return {name: value for name, _, value in (entry.partition("=") for entry in entries if entry)}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_program_gets_what_is_passed_on_or_set_and_a_home_of_its_own(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    COMMANDS[command](folder, "--pass-env", "JAVA_HOME,DISPLAY,TZ", "--env", "TZ=UTC")
    found = variables(folder)
    assert set(found) <= DOCUMENTED | {"JAVA_HOME", "DISPLAY", "MATCHED_PROGRAM"}
    assert not [value for value in found.values() if value in SECRETS.values()]
    assert (found["LANG"], found["PATH"], found["TMPDIR"]) == (ORDINARY["LANG"], os.environ["PATH"], str(temporary))
    assert (found["JAVA_HOME"], found["DISPLAY"], found["TZ"]) == ("/opt/java", ":7", "UTC")
    assert Path(found["HOME"]).is_relative_to(temporary)
    assert (folder / "bot.home").read_text().split() == ["0", "700"]
    assert not Path(found["HOME"]).exists()


def test_without_options_only_a_few_variables_are_there_and_home_can_be_passed_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "mine").touch()
    monkeypatch.setenv("HOME", str(folder))
    by_match(folder, "--pass-env", "HOME")
    assert variables(folder)["HOME"] == str(folder)
    found = variables(folder, "plain")
    assert set(found) <= DOCUMENTED | {"MATCHED_PROGRAM"}
    assert found["TZ"] == ORDINARY["TZ"]
    assert found["HOME"] != str(folder)


@pytest.mark.parametrize(
    ("words", "who"),
    [
        (("match", "--player1", "./bot", "--player2", "builtin:first", "--pass-env1", "TZ,NO_SUCH"), "bot: "),
        (("check", "./bot", "--pass-env", "NO_SUCH"), ""),
        (("lend", "./bot", "--pass-env", "NO_SUCH"), ""),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
def test_a_variable_that_is_not_set_cannot_be_passed_on(
    words: tuple[str, ...], who: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TZ", ORDINARY["TZ"])
    problem = f"{who}there is no variable NO_SUCH to pass on; set it, or do not name it"
    assert misuse(*words) == f"spielleiter: {problem}\n"
    assert not (folder / "bot.variables").exists()


# -- what a program can find elsewhere ----------------------------------------------------------------------------


@contextmanager
def serving(folder: Path) -> Iterator[int]:
    """The port of a server whose password is in its environment."""
    port_file = folder / "port"
    late = str(write_late_replay(folder))
    command = [*SPIELLEITER, "serve", "--port", "0", "--port-file", str(port_file), "--load-game-file", late]
    command += ["--log-level", "error"]
    environment = {**os.environ, **SECRETS}
    with subprocess.Popen(command, cwd=folder, env=environment, preexec_fn=become_ordinary) as process:  # noqa: PLW1509
        try:
            while not (port_file.exists() and port_file.read_text()):
                assert process.poll() is None
                time.sleep(0.02)
            yield int(port_file.read_text())
        finally:
            process.terminate()


OPTIONS = "--game {game} -h {host} -p {port} -r {reservation}"
ATTACKER = f"{PYTHON} -P -m tests.match.bots.attacker read-secrets --players {shlex.quote(str(PORT_FILE))} {OPTIONS}"


def attack(folder: Path, opponent: str, *options: str) -> dict[str, Any]:
    """What the attacker finds in a match with these options."""
    (folder / "beginning").write_text(BEGINNING)
    attacker = f"env PYTHONPATH={shlex.quote(str(PROJECT))} {ATTACKER}"
    programs = ("--player1", attacker, "--player2", opponent)
    done = run(folder, "match", *programs, "-n", "1", "--pages", "none", "--out", "out", *options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return found


@pytest.mark.usefixtures("players")
def test_no_program_finds_the_password_of_the_server_or_the_variables_of_the_match(tmp_path: Path) -> None:
    book = str(write_late_replay(tmp_path))
    assert attack(tmp_path, "builtin:first", "--book", book) == {"found": {"own variables": []}, "answers": []}
    with serving(tmp_path) as port:
        # here the attacker knows the password, which shows that it would notice it
        options = ("--server", f"127.0.0.1:{port}", "--pass-env1", "SPIELLEITER_PASSWORD", "--out", "there")
        found = attack(tmp_path, f"{LIGHT} first", *options)
    assert found["found"] == {"own variables": [SECRETS["SPIELLEITER_PASSWORD"]]}
    [answer] = found["answers"]
    assert "authenticat" not in answer.lower()
