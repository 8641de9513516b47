"""Matches on a real cluster of two workers: the same games as on one machine, and what happens when something fails.

After each match the journal has every game once, and no process or folder of it is left on a worker.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from spielleiter.cluster.dask_engine import ClusterAddress
from spielleiter.cluster.venue import (
    ClusterSettings,
    open_cluster,
)
from spielleiter.match import Conditions, EndReason, GameRecord, MatchResult, play_match, prepare_match, read_journal
from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.match.verdict import Verdict
from tests.cluster.conftest import FAST, SLOW, Machines, kill
from tests.match.players import LIGHT
from tests.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # warnings of Dask are none of ours

ENDLESS = ProgramTimeouts(start=HANG_TIMEOUT, exit=HANG_TIMEOUT, game=HANG_TIMEOUT)
NEVER: dict[str, Any] = {"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT}


def prepare(games: int, first: str | Entrant = "builtin:first", **options: Any) -> MatchSetup:
    return prepare_match(first, "builtin:random", games=games, seed=7, is_played_elsewhere=True, **NEVER, **options)


def play(
    machines: Machines,
    setup: MatchSetup,
    folder: Path,
    on_game_finished: Callable[[GameRecord], object] | None = None,
    tell: Callable[[str], object] = lambda _text: None,
    concurrency: int = 0,
    **settings: Any,
) -> MatchResult:
    """Play a match on both machines, and check that nothing is left and every game is in the journal once."""
    cluster = ClusterSettings(ClusterAddress.parse(machines.address), **settings)
    with open_cluster(cluster, Path(setup.cwd), tell) as venue:
        conditions = Conditions(concurrency, venue=venue)
        result = play_match(setup, folder, conditions=conditions, on_game_finished=on_game_finished)
    machines.wait_until_clean()
    numbers = [json.loads(line)["game"] for line in (folder / "games.jsonl").read_text().splitlines()]
    assert len(numbers) == len(set(numbers))
    return result


def essence(record: GameRecord) -> tuple[object, ...]:
    """What does not depend on time or machine."""
    return record.game, record.seed, record.start, record.seats, record.winner, record.points, record.plies


def test_the_games_are_the_same_games_as_on_one_machine(machines: Machines, tmp_path: Path) -> None:
    setup = prepare(24)
    there = play(machines, setup, tmp_path / "there")
    here = play_match(dataclasses.replace(setup, run_id="here"), tmp_path / "here", conditions=Conditions(2))
    assert there.end is here.end is EndReason.COMPLETED
    assert sorted(map(essence, there.records)) == sorted(map(essence, here.records))
    by_machine = Counter(record.machine for record in there.records)
    assert by_machine.keys() == {FAST, SLOW}
    assert sum(by_machine.values()) == 24
    by_pair = {record.pair: record.machine for record in there.records}
    assert all(by_pair[record.pair] == record.machine for record in there.records)
    assert {each.name: each.games for each in there.summary.machines} == by_machine
    for record in there.records:
        folder = tmp_path / "there" / record.folder
        files = {path.name for path in folder.iterdir()}
        assert files == {path.name for path in (tmp_path / "here" / record.folder).iterdir()}
        assert json.loads((folder / "verdict.json").read_text())["machine"] == record.machine
    replays = [tmp_path / place / "games/0001/replay.xml.gz" for place in ("here", "there")]
    assert replays[0].stat().st_size == pytest.approx(replays[1].stat().st_size, abs=200)


def test_a_worker_is_killed_and_then_all_sites(machines: Machines, tmp_path: Path) -> None:
    finished: list[GameRecord] = []
    told: list[str] = []
    killed: list[int] = []

    def kill_two(record: GameRecord) -> None:
        finished.append(record)
        if len(finished) == 1:
            kill(machines.pid_of(record.machine))
        if len(finished) == 7:
            killed.extend(each.pid for each in machines.processes)
            for pid in killed:
                kill(pid)

    result = play(machines, prepare(16), tmp_path / "match", kill_two, told.append)
    assert len(killed) >= 1
    assert result.end is EndReason.COMPLETED
    assert sorted(record.game for record in result.records) == list(range(1, 17))
    # the process has ended, or had no time to learn of the match
    assert told
    assert all(" is prepared again: " in text for text in told)


@pytest.mark.usefixtures("players")
def test_a_shipped_program_plays_elsewhere_although_the_connection_of_the_starter_is_lost(
    one_machine: Machines, tmp_path: Path, late_book: Path
) -> None:
    (tmp_path / "bots").mkdir()
    bot = tmp_path / "bots/bot.sh"
    bot.write_text(f'#!/bin/sh\nread strategy < "${{0%/*}}/strategy"\nexec {LIGHT} "$strategy" "$@"\n')
    bot.chmod(0o755)
    (tmp_path / "bots/strategy").write_text("first\n")
    setup = prepare(8, "./bots/bot.sh", cwd=tmp_path, book=late_book, timeouts=ENDLESS)
    told: list[str] = []
    lost: list[GameRecord] = []
    cluster = ClusterSettings(ClusterAddress.parse(one_machine.address), ship=(Path("bots"),))
    with open_cluster(cluster, tmp_path, told.append) as venue:
        client: Any = venue.engine.client

        def lose_once(record: GameRecord) -> None:
            if not lost:
                client.loop.add_callback(client.scheduler_comm.comm.abort)
                lost.append(record)

        conditions = Conditions(0, venue=venue)
        result = play_match(setup, tmp_path / "match", conditions=conditions, on_game_finished=lose_once)
    one_machine.wait_until_clean()
    assert lost
    assert result.end is EndReason.COMPLETED
    assert sorted(record.game for record in result.records) == list(range(1, 9))
    assert {record.verdict for record in result.records} == {Verdict.REGULAR}
    assert not any("gets no" in text for text in told)


def test_a_machine_that_becomes_ten_times_slower_plays_less_and_loses_nothing(
    machines: Machines, tmp_path: Path
) -> None:
    with ExitStack() as stack:

        def slow_down(record: GameRecord) -> None:
            if record.machine == SLOW and not slowed:
                stack.enter_context(machines.slowed(SLOW))
                slowed.append(record.game)

        slowed: list[int] = []
        setup = prepare_match("builtin:first", "builtin:random", games=40, seed=7, is_played_elsewhere=True)
        result = play(machines, setup, tmp_path / "match", slow_down)
    assert slowed
    assert sorted(record.game for record in result.records) == list(range(1, 41))
    assert {record.verdict for record in result.records} == {Verdict.REGULAR}
    by_machine = Counter(record.machine for record in result.records)
    assert by_machine[FAST] > by_machine[SLOW]


def test_the_starter_is_interrupted(machines: Machines, tmp_path: Path) -> None:
    folder, at_end = tmp_path / "match", tmp_path / "at-end"
    words = ["--player1", "builtin:first", "--player2", "builtin:random", "-n", "400", "--seed", "7", "--pages", "none"]
    command = [
        sys.executable,
        "-m",
        "spielleiter",
        "match",
        "--cluster",
        machines.address,
        *words,
        "--out",
        str(folder),
    ]
    command += ["--on-end", f"touch {shlex.quote(str(at_end))}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as starter:
        journal = folder / "games.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 4:
            assert starter.poll() is None
            threading.Event().wait(0.02)
        starter.send_signal(signal.SIGINT)
        _, errors = starter.communicate()
    assert starter.returncode == 130
    assert "Traceback" not in errors
    assert at_end.exists()
    machines.wait_until_clean()
    games = [record.game for record in read_journal(folder)]
    assert 4 <= len(games) < 400
    assert len(games) == len(set(games))


def test_the_starter_is_killed_and_the_match_resumed(machines: Machines, tmp_path: Path) -> None:
    folder = tmp_path / "match"
    words = ["--player1", "builtin:first", "--player2", "builtin:random", "-n", "24", "--seed", "7", "--pages", "none"]
    command = [sys.executable, "-m", "spielleiter", "match", "--cluster", machines.address]
    with subprocess.Popen([*command, *words, "--out", str(folder)], stderr=subprocess.DEVNULL) as starter:
        journal = folder / "games.jsonl"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 4:
            assert starter.poll() is None
            threading.Event().wait(0.02)
        kill(starter.pid)
    machines.wait_until_clean()
    before = len(read_journal(folder))
    assert 4 <= before < 24
    done = subprocess.run([*command, "--resume", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "machines: " in done.stdout
    machines.wait_until_clean()
    assert [record.game for record in read_journal(folder)] == list(range(1, 25))
