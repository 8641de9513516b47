"""`spielleiter serve`: its options, its errors, and how signals stop it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trio

import spielleiter.server.app
from spielleiter.common.data_folder import data_folder
from spielleiter.server.config import SETTINGS, Config
from spielleiter.server.errors import StartError
from tests.cli.background import misuse, run
from tests.timeouts import HANG_TIMEOUT

if sys.platform == "win32":
    HANG_UP: list[signal.Signals] = []
else:
    HANG_UP = [signal.SIGHUP]

OPTIONS: dict[str, tuple[list[str], Any]] = {
    "host": (["--host", "::1"], "::1"),
    "port": (["-p", "0"], 0),
    "is_local": (["--no-local"], False),
    "port_file": (["--port-file", "x"], Path("x")),
    "password": (["--password", "geheim"], "geheim"),
    "grace": (["--grace", "0.5"], 0.5),
    "default_game": (["--default-game", "g"], "g"),
    "editions": (["--edition", "a=b", "--edition", "c=d"], {"a": "b", "c": "d"}),
    "is_paused": (["--paused"], True),
    "soft_timeout": (["--soft-timeout", "100"], 0.1),
    "hard_timeout": (["--hard-timeout", "20000"], 20.0),
    "has_timeouts": (["--no-timeout"], False),
    "game_end": (["--game-end", "noMovesLeft"], "noMovesLeft"),
    "start_piece": (["--start-piece", "PENTO_V"], "PENTO_V"),
    "seed": (["--seed", "7"], 7),
    "seeds_ids": (["--seed-ids"], True),
    "is_test_mode": (["--test-mode"], True),
    "replay_directory": (["--save-replay", "out"], Path("out")),
    "load_game_file": (["--loadGameFile", "y"], Path("y")),
    "turn": (["--load-game-file", "r.xml", "--turn", "5"], 5),
    "log_format": (["--log-format", "json"], "json"),
    "log_level": (["--log-level", "debug"], "debug"),
}


class _Served:
    """Replaces the server: keeps its configuration and raises the signals that the test asks for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.config: Config | None = None
        self.signals: list[signal.Signals] = []
        self.stopped_after = 0
        """The number of signals after which the server was told to stop."""
        self.is_endless = True
        self.error: Exception | None = None
        monkeypatch.setattr(spielleiter.server.app, "serve", self.serve)
        monkeypatch.chdir(directory)
        for name in ("SPIELLEITER_PORT", "SPIELLEITER_HOST"):
            monkeypatch.delenv(name, raising=False)

    async def serve(self, config: Config, *, stop: trio.Event, **_more: object) -> None:
        self.config = config
        if self.error:
            raise self.error
        for count, number in enumerate(self.signals, 1):
            signal.raise_signal(number)
            await trio.testing.wait_all_tasks_blocked()
            if stop.is_set() and not self.stopped_after:
                self.stopped_after = count
        if self.signals:
            await stop.wait()
        if len(self.signals) > 1 and self.is_endless:
            await trio.sleep_forever()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> _Served:
    return _Served(monkeypatch, tmp_path)


def test_each_option_sets_its_setting(served: _Served) -> None:
    options = dict(OPTIONS)
    for each in SETTINGS:
        if each.group == "Limits":
            is_switch, default = each.kind.is_switch, each.kind.parse(each.default)
            other = 1.0 if is_switch else default + 1 if default >= 1 else default / 2
            options[each.field] = ([each.option] if is_switch else [each.option, f"{other:.10g}"], other)
    for field, (arguments, value) in options.items():
        result = run("serve", *arguments)
        assert (result.exit_code, result.stderr) == (0, "")
        assert getattr(served.config, field) == value


@pytest.mark.parametrize(
    ("arguments", "reasons"),
    [
        (["--start-piece", "PENTO_V", "--default-game", "swc_2021_blokus"], ()),
        (
            ["--start-piece", "PENTO_V", "--game-end", "noMovesLeft", "--default-game", "swc_2018_hase_und_igel"],
            ("gameEnd=noMovesLeft (in the default game: ", "startPiece=PENTO_V (in the default game: "),
        ),
        (["--plugins", "x"], ("",)),  # of the official releases
    ],
)
def test_options_without_effect_are_reported(served: _Served, arguments: list[str], reasons: tuple[str, ...]) -> None:
    assert run("serve", *arguments).exit_code == 0
    assert served.config is not None
    assert len(served.config.ignored) == len(reasons)
    assert all(ignored.startswith(start) for ignored, start in zip(served.config.ignored, reasons, strict=True))


@pytest.mark.parametrize(
    ("arguments", "directory"),
    [
        (["--saveReplay"], Path("replays")),
        (["--save-replay", "--paused"], Path("replays")),
        (["--save-replay=there"], Path("there")),
        ([], None),
    ],
)
def test_the_directory_for_replays_need_not_be_named(
    served: _Served, arguments: list[str], directory: Path | None
) -> None:
    assert run("serve", *arguments).exit_code == 0
    assert served.config is not None
    assert served.config.replay_directory == directory


def test_recent_games_are_kept_in_the_folder_of_the_user_unless_all_are(
    served: _Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SPIELLEITER_RECENT_GAMES")
    for name in ("XDG_DATA_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    found = []
    for arguments in ([], ["--recent-games", "0"], ["--save-replay", "there"]):
        assert run("serve", *arguments).exit_code == 0
        assert served.config is not None
        found.append(served.config.recent_directory)
        assert served.config.ignored == ()
    folder = data_folder(os.environ)
    assert folder is not None
    assert found == [folder / "recent-games", None, None]
    for name in ("XDG_DATA_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name)
    assert run("serve").exit_code == 0
    assert served.config is not None
    assert served.config.recent_directory is None
    assert served.config.ignored == ("recentGames (this user has no data folder; saveReplay names another one)",)
    assert list(tmp_path.iterdir()) == []


def test_file_and_environment_are_read(served: _Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my.properties").write_text("port = 5\npaused = true\n")
    monkeypatch.setenv("SPIELLEITER_PORT", "6")
    assert run("serve", "--config", "my.properties").exit_code == 0
    assert served.config is not None
    assert (served.config.port, served.config.is_paused) == (6, True)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--prot", "1"], "spielleiter serve: No such option '--prot'."),
        (["--port", "x"], "spielleiter: --port: 'x' cannot be used, expected a whole number from 0 to 65535"),
        (["--soft-timeout"], "spielleiter: Option '--soft-timeout' requires an argument."),
        (["--config", "missing"], "spielleiter: missing: cannot be read (No such file or directory)"),
        (["extra"], "spielleiter serve: Got unexpected extra argument"),
        (
            ["--start-piece", "PENTO_V", "--default-game", "go"],
            "spielleiter: defaultGame go: there is no such gameType",
        ),
    ],
)
def test_misuse_is_one_line(served: _Served, arguments: list[str], line: str) -> None:
    result = run("serve", *arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith(line)
    assert result.stderr.count("\n") == 1
    assert served.config is None


def test_a_server_that_cannot_start_says_why(served: _Served) -> None:
    served.error = StartError("127.0.0.1:13050 is in use already")
    assert misuse("serve") == "spielleiter: 127.0.0.1:13050 is in use already\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, *HANG_UP])
def test_a_signal_shuts_the_server_down_cleanly(served: _Served, number: signal.Signals) -> None:
    served.signals = [number]
    assert run("serve").exit_code == 0


def test_a_second_signal_ends_it_at_once(served: _Served) -> None:
    served.signals = [signal.SIGTERM, signal.SIGINT]
    assert run("serve").exit_code == 130


def test_a_closed_terminal_may_send_two_signals(served: _Served) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has no SIGHUP")
    served.signals = [signal.SIGHUP, signal.SIGHUP]
    served.is_endless = False
    assert run("serve").exit_code == 0


def test_with_nohup_the_server_survives_its_terminal(served: _Served) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has no SIGHUP")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        served.signals = [signal.SIGHUP, signal.SIGTERM]
        served.is_endless = False
        assert run("serve").exit_code == 0
        assert served.stopped_after == 2
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_help_shows_every_setting_in_its_group() -> None:
    text = run("serve", "--help", terminal_width=200).stdout
    assert all(each.option in text and f"\n{each.group}:\n" in text for each in SETTINGS)


@pytest.mark.slow
def test_a_real_server_listens_and_ends_on_sigterm(tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    command = [sys.executable, "-m", "spielleiter", "serve", "--port", "0", "--port-file", str(port_file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=tmp_path) as process:
        deadline = time.monotonic() + HANG_TIMEOUT
        while not port_file.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        port = int(port_file.read_text())
        with socket.create_connection(("127.0.0.1", port), timeout=HANG_TIMEOUT) as client:
            client.sendall(b"<protocol><nonsense/>")
            assert client.recv(100).startswith(b"<protocol>\n  <errorpacket")
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=HANG_TIMEOUT)
    assert process.returncode == 0
    assert f"127.0.0.1:{port}".encode() in log
