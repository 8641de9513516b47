"""Findings for the server: its settings, connections, ports, clock and replays, with real sockets and folders."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path

import pytest
import trio

from spielleiter.cli.doctor import server
from spielleiter.cli.doctor.finding import Level
from spielleiter.server.config import Config
from spielleiter.server.core.clock import Arrival


@pytest.fixture(autouse=True)
def current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_part_has_a_name_of_its_own() -> None:
    names = [finding.name for finding in server.find_server({"SPIELLEITER_PORT": "0"})]
    assert names == ["settings", "connections", "game_port", "page_port", "clock", "time_stamps", "replays"]


def test_the_settings_of_the_current_folder_are_used(current_folder: Path) -> None:
    finding, config = server.find_settings({})
    assert (finding.level, finding.state, config) == (Level.OK, "the defaults", Config())
    (current_folder / "server.properties").write_text("port = 13051\n", encoding="utf-8")
    finding, config = server.find_settings({})
    assert (finding.level, config.port) == (Level.OK, 13051)
    assert Path(finding.state) == (current_folder / "server.properties").resolve()


def test_wrong_settings_keep_the_server_from_starting(current_folder: Path) -> None:
    (current_folder / "server.properties").write_text("prot = 13051\n", encoding="utf-8")
    finding, config = server.find_settings({})
    assert (finding.level, config) == (Level.MISSING, Config())
    assert "prot" in finding.state


def test_connections_work_here() -> None:
    assert server.find_connections().level is Level.OK


def test_without_connections_nobody_can_play(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_more: object) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "create_connection", refuse)
    finding = server.find_connections()
    assert (finding.level, finding.state) == (Level.MISSING, "Permission denied")
    assert "firewall" in finding.meaning
    assert server.find_time_stamps().level is Level.LIMITED


def test_ports_that_are_taken_and_ports_that_are_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = ("127.0.0.1", taken.getsockname()[1])
        game, page = server.find_game_port(*address), server.find_page_port(address)
    assert {game.level, page.level} == {Level.LIMITED}
    assert f"{address[0]}:{address[1]} is in use already" in game.state
    assert "--port 0" in game.meaning
    assert "any free port" in page.meaning
    game, page = server.find_game_port("127.0.0.1", 0), server.find_page_port(("127.0.0.1", 0))
    assert {game.level, page.level} == {Level.OK}


def test_pages_that_are_turned_off() -> None:
    finding = server.find_page_port(None)
    assert (finding.level, finding.state) == (Level.OK, "turned off")


@pytest.mark.parametrize(
    ("tick", "level", "state"),
    [
        (1e-9, Level.OK, "ticks of 1 ns"),
        (1e-4, Level.OK, "ticks of 0.1 ms"),
        (0.015625, Level.LIMITED, "ticks of 15.6 ms"),
    ],
)
def test_a_clock_with_long_ticks_is_too_coarse(tick: float, level: Level, state: str) -> None:
    finding = server.find_clock(tick)
    assert (finding.level, finding.state) == (level, state)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps arrivals")
def test_the_kernel_stamps_arrivals() -> None:
    assert server.find_time_stamps().state == "by the kernel"


def test_without_stamps_the_server_measures_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unstamped(_attempts: int) -> Arrival:
        await trio.lowlevel.checkpoint()
        return Arrival(0.0)

    monkeypatch.setattr(server, "measured_arrival", unstamped)
    finding = server.find_time_stamps()
    assert (finding.level, finding.state) == (Level.LIMITED, "by the server")


def test_a_folder_for_replays_is_not_made(current_folder: Path) -> None:
    finding = server.find_replays(Path("deep") / "replays")
    assert finding.level is Level.OK
    assert finding.state.startswith(str(current_folder / "deep" / "replays"))
    assert list(current_folder.iterdir()) == []


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, current_folder: Path) -> None:
    def refuse(*_arguments: object, **_more: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    finding = server.find_replays(Path("replays"))
    assert finding.level is Level.LIMITED
    assert finding.state == f"{current_folder}: {os.strerror(errno.EACCES)}"
    assert "--save-replay FOLDER" in finding.meaning


def test_a_disk_that_is_nearly_full(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(".")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=server.LEAST_SPACE - 1))
    assert server.find_replays(Path("replays")).level is Level.LIMITED
