"""Tests for `spielleiter help-league` as a process: a PC that helps, is killed, and is cut off from the network."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
import trio

from spielleiter.league.certificate import CERTIFICATE, open_certificate
from spielleiter.league.database import open_database
from spielleiter.league.games import list_games
from spielleiter.league.gate_client import PairLostError
from spielleiter.league.helper_code import HelperCode, new_secret, secret_hash
from spielleiter.league.helpers import add_helper, set_runs_without_sandbox
from spielleiter.league.settings import change_settings
from tests.cli.test_league import EDITION, PASSWORD, Browser, upload
from tests.contest.packages import Planted, make_package
from tests.league.remote_league import LOOPBACK, RemoteLeague, open_remote_league, play_pair
from tests.league.running import running
from tests.timeouts import HANG_TIMEOUT

pytestmark = [
    pytest.mark.slow,  # real processes and games
    pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot stop a process as if its network were gone"),
]

HANGING = Planted(move="time.sleep(500)")


def command(port: int, code: str) -> list[str]:
    return [sys.executable, "-m", "spielleiter", "help-league", f"{LOOPBACK}:{port}", code, "--pairs", "1"]


@asynccontextmanager
async def helping(league: RemoteLeague, code: HelperCode) -> AsyncIterator[trio.Process]:
    """Start the command, and wait until the PC is connected."""
    process = await trio.lowlevel.open_process(
        command(league.gate.port, code.text), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        await league.wait_until(league.gate.helpers)
        yield process
    finally:
        process.kill()
        await process.wait()


def descendants(pid: int) -> list[psutil.Process]:
    """The processes that the PC has started, without our own helper processes."""
    return psutil.Process(pid).children(recursive=True)


async def lose(
    league: RemoteLeague, folder: Path, process: trio.Process, act: Callable[[psutil.Process], object]
) -> str:
    """Let something happen to the PC while both programs of a game run; return why the game does not count."""
    hanging = league.program("hanging", HANGING)

    async def strike() -> None:
        with trio.fail_after(HANG_TIMEOUT):
            while sum("player.py" in " ".join(_words(each)) for each in descendants(process.pid)) < 2:  # noqa: ASYNC110 - nobody says so
                await trio.sleep(0.1)
        act(psutil.Process(process.pid))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(strike)
        with pytest.raises(PairLostError) as caught:
            async with league.gate.lease(1, [hanging, hanging]) as lease:
                await play_pair(lease, folder)
    return str(caught.value)


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


async def test_a_pc_is_killed_and_another_start_of_it_plays_the_pair(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        code = league.add_code(may_run_unconfined=True)
        async with helping(league, code) as process:
            machine = league.gate.helpers()[0].machine
            assert machine.system == sys.platform
            assert machine.speed > 0
            known = descendants(process.pid)
            reason = await lose(league, tmp_path, process, psutil.Process.kill)
            assert "lost" in reason
            with trio.fail_after(HANG_TIMEOUT):
                while any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in known):  # noqa: ASYNC110
                    await trio.sleep(0.1)
        await league.wait_until(lambda: not league.gate.helpers())
        async with helping(league, code), league.gate.lease(1, [league.program("bot"), None]) as lease:
            records = await play_pair(lease, tmp_path)
    assert [each.verdict for each in records] == ["regular", "regular"]


async def test_a_pc_that_vanishes_without_a_word_is_noticed(tmp_path: Path) -> None:
    async with (
        open_remote_league(tmp_path, max_stall=2.0) as league,
        helping(league, league.add_code(may_run_unconfined=True)) as process,
    ):
        reason = await lose(league, tmp_path, process, psutil.Process.suspend)
        assert "the connection was interrupted" in reason
        await league.wait_until(lambda: not league.gate.helpers())


async def run(*words: str) -> tuple[int, str]:
    """Run the command; return its exit code and what it says."""
    done = await trio.run_process(
        [sys.executable, "-m", "spielleiter", "help-league", *words],
        capture_stdout=True,
        capture_stderr=True,
        check=False,
    )
    return done.returncode, done.stderr.decode()


async def test_what_cannot_be_right_is_said_at_once(tmp_path: Path) -> None:
    code = HelperCode(new_secret(), bytes(16)).text
    assert (await run("ftp://league:1", code))[0] == 2
    status, text = await run("league", code[:-3])
    assert status == 2
    assert "copy it again from the page of the league" in text
    async with open_remote_league(tmp_path) as league:
        status, text = await run(f"https://{LOOPBACK}:{league.gate.port}", code)
        assert status == 1
        assert "its certificate is another one" in text
        status, text = await run(f"{LOOPBACK}:{league.gate.port}", HelperCode(new_secret(), league.fingerprint).text)
        assert status == 1
        assert "unknown or was revoked" in text


async def test_a_pc_may_refuse_to_run_programs_without_a_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # no bubblewrap
    status, text = await run("league", HelperCode(new_secret(), bytes(16)).text, "--only-confined")
    assert status == 2
    assert "there is no sandbox on this PC" in text


def test_a_league_plays_pairs_on_a_pc_that_helps(tmp_path: Path) -> None:
    folder = tmp_path / "league"
    with running(folder) as league, contextlib.ExitStack() as stack:
        code = league.line().strip().rpartition("=")[2]
        browser = Browser(league.url)
        browser.get("/setup")
        sheet = browser.post("/setup", code=code, password=PASSWORD, name="7b", edition=EDITION, names="Hasen\nIgel")
        database = stack.enter_context(contextlib.closing(open_database(folder)))
        database.write_now(change_settings, runs_without_sandbox=True, uses_helpers=True)
        deadline = time.monotonic() + HANG_TIMEOUT
        while not (folder / CERTIFICATE).exists() or not (ports := _gate_ports(league.process.pid)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        secret = new_secret()
        helper = database.write_now(add_helper, "pc07", secret_hash(secret), time.time())
        database.write_now(set_runs_without_sandbox, helper.id, True, time.time())
        for number, each in enumerate(re.findall(r"\b[2-9A-Z]{4}(?:-[2-9A-Z]{4}){3}\b", sheet)):
            package = make_package(tmp_path / "player.zip")
            package.write_bytes(package.read_bytes() + bytes(number))
            assert upload(league, package, each).returncode == 0
        text = HelperCode(secret, open_certificate(folder).fingerprint).text
        # it is not wanted until the league has looked for new codes
        pc = subprocess.Popen(command(ports[0], text), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(pc.wait)
        stack.callback(pc.kill)
        while not any("pc07" in {each.machine1, each.machine2} for each in database.read_now(list_games)):
            assert time.monotonic() < deadline
            assert pc.poll() is None
            time.sleep(0.2)


def _gate_ports(pid: int) -> list[int]:
    """The ports on which the gate of a league listens for PCs."""
    gates = [each for each in descendants(pid) if "spielleiter.league.gate" in _words(each)]
    found = [each for gate in gates for each in gate.net_connections() if each.status == psutil.CONN_LISTEN]
    return [each.laddr.port for each in found if each.laddr.ip != LOOPBACK]
