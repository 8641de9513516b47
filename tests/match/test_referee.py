"""The referee: whole games of real programs, their verdicts and files."""

from __future__ import annotations

import dataclasses
import gzip
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

import spielleiter.match.referee
from spielleiter.client.admin import AdminClient
from spielleiter.common.errors import MachineError
from spielleiter.match.game_folder import GAMES, REPLAY, SERVER_LOG, WIRE_LOG, KeepPolicy
from spielleiter.match.plan import Entrant
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import VERDICT, play_game
from spielleiter.match.verdict import Verdict
from spielleiter.programs.machine_delay import SchedulingDelayMeter
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions
from spielleiter.server.replay import load_starting_states
from tests.cli.background import background_server
from tests.interpreter import PYTHON
from tests.match.answering import answering_program
from tests.match.players import LIGHT
from tests.match.refereed import IDLE, NO_LIMITS, NO_TIMEOUTS, play, setup_of, shell
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits

pytestmark = pytest.mark.usefixtures("players")


@pytest.mark.slow
async def test_built_in_programs_ignore_modules_in_their_folder(tmp_path: Path) -> None:
    for name in ("game", "match", "client", "spielleiter"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    record = await play(tmp_path, "builtin:illegal", "builtin:first", cwd=str(tmp_path))
    assert (record.verdict, record.offender) == (Verdict.ILLEGAL_MOVE, 0)


@pytest.mark.slow
async def test_a_whole_game_has_a_folder_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "games" / "0002").mkdir(parents=True)
    (tmp_path / "games" / "0002" / "left by an interrupted run").touch()
    builtin = f"{PYTHON} -m spielleiter play --game {DEFAULT_GAME_TYPE} --seed 1"
    record = await play(tmp_path, f"{builtin} -s greedy", f"{builtin} -s first", game=2)
    assert (record.verdict, record.offender, record.reason, record.winner) == (Verdict.REGULAR, None, "", 0)
    assert record.seats == (1, 0)
    assert record.points[0] is not None
    assert record.points[1] is not None
    assert record.points[0] > record.points[1] > 20
    assert record.causes == ("REGULAR", "REGULAR")
    assert record.start is not None
    assert len(record.think_times[0]) + len(record.think_times[1]) == record.plies > 20
    assert record.exit_codes == (0, 0)
    assert record.remarks == ((), ())
    assert all(start is not None and 0 <= start <= record.wall_seconds for start in record.program_starts)
    assert all(0 < seconds < 10 for seconds in record.cpu_seconds)
    folder = tmp_path / record.folder
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [f"program{number}.{stream}.log" for number in (1, 2) for stream in ("stdout", "stderr")]
        + [SERVER_LOG, WIRE_LOG, REPLAY, VERDICT]
    )
    assert GameRecord.from_json(json.loads((folder / VERDICT).read_text())) == record
    assert "won as player 2" in (folder / "program1.stdout.log").read_text()
    assert b"<joinPrepared" in gzip.decompress((folder / WIRE_LOG).read_bytes())
    editions = {DEFAULT_GAME_TYPE: choose_editions({}, {})[DEFAULT_GAME_TYPE]}
    assert load_starting_states(folder / REPLAY, 10, editions)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "limits", "verdict", "cause"),
    [
        ("illegal", {}, Verdict.ILLEGAL_MOVE, "RULE_VIOLATION"),
        ("slow", {"soft_timeout": 0.3}, Verdict.TIMEOUT, "SOFT_TIMEOUT"),
        ("crash", {}, Verdict.CRASH, "LEFT"),
        ("garbage", {}, Verdict.BAD_MESSAGE, "LEFT"),
        ("silent", {"soft_timeout": 0.3, "hard_timeout": 0.6}, Verdict.HANGS, "HARD_TIMEOUT"),
    ],
)
@pytest.mark.parametrize("is_own", [True, False])
async def test_each_kind_of_misbehaviour_has_its_verdict(
    strategy: str,
    limits: dict[str, float],
    verdict: str,
    cause: str,
    is_own: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SchedulingDelayMeter, "seconds_waiting", lambda *_: 0.0)  # however busy this machine is
    # only the program that misbehaves has time limits
    good = Entrant("new", f"{LIGHT} first", can_timeout=False)
    bad = Entrant("old", f"{LIGHT} {strategy} --delay 0.5")
    more: dict[str, Any] = {"entrants": (good, bad)}
    if is_own:
        record = await play(tmp_path, IDLE, IDLE, server_options={**NO_LIMITS, **limits}, **more)
    else:
        with background_server(**{**NO_LIMITS, **limits}) as server:
            address = ("127.0.0.1", server.port)
            record = await play(tmp_path, IDLE, IDLE, server=address, password="examplepassword", **more)
        if strategy == "garbage":  # an observer does not see invalid bytes, only that the program has left
            verdict = Verdict.CRASH
    assert (record.verdict, record.offender, record.winner) == (verdict, 1, 0)
    assert record.is_counted
    assert record.causes == ("REGULAR", cause)
    assert record.reason
    assert record.replay == REPLAY


@pytest.mark.slow
async def test_a_whole_game_at_another_server(tmp_path: Path) -> None:
    with background_server(**NO_LIMITS) as server:
        address = ("127.0.0.1", server.port)
        record = await play(tmp_path, "builtin:first", "builtin:first", server=address, password="examplepassword")
    assert record.verdict == Verdict.REGULAR
    assert len(record.think_times[0]) + len(record.think_times[1]) == record.plies > 20
    assert (tmp_path / record.folder / REPLAY).exists()


@pytest.mark.slow
async def test_a_game_that_somebody_else_cancels_does_not_count(tmp_path: Path) -> None:
    """Several editions name a winner of a cancelled game."""
    with background_server(**NO_LIMITS) as server:
        address = ("127.0.0.1", server.port)
        async with AdminClient.connect(*address, "examplepassword") as admin:

            async def cancel() -> None:
                rooms: list[dict[str, Any]] = []
                while not rooms or not rooms[0]["turn"]:
                    rooms = (await admin.status())["rooms"]
                await admin.cancel(rooms[0]["roomId"])

            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel)
                programs = f"{LIGHT} first", f"{LIGHT} silent"
                record = await play(tmp_path, *programs, server=address, password="examplepassword")
    assert (record.verdict, record.winner, record.is_counted) == (Verdict.CANCELLED, None, False)
    assert record.reason.startswith("the game was called off")


@pytest.mark.slow
async def test_at_another_server_a_program_that_never_joins_has_lost_and_not_the_one_that_waits(tmp_path: Path) -> None:
    script = "import socket, sys, time; s = socket.create_connection((sys.argv[2], int(sys.argv[4]))); time.sleep(999)"
    hangs = f"{PYTHON} -c {shlex.quote(script)}"
    with background_server(**NO_LIMITS) as server:
        address = ("127.0.0.1", server.port)

        async def attempt(limit: float) -> None:
            timeouts = dataclasses.replace(NO_TIMEOUTS, start=limit)
            more: dict[str, Any] = {"server": address, "password": "examplepassword", "timeouts": timeouts}
            record = await play(tmp_path, f"{LIGHT} first", hangs, **more)
            assert (record.verdict, record.offender, record.winner) == (Verdict.NEVER_JOINS, 1, 0)
            assert (record.is_counted, record.reason) == (True, "it did not take its seat")

        await retry_with_longer_limits(attempt, 2)


@pytest.mark.slow
async def test_a_missing_server_is_not_blamed_on_a_program(tmp_path: Path) -> None:
    record = await play(tmp_path, IDLE, IDLE, server=("127.0.0.1", 1))
    assert (record.verdict, record.is_counted, record.offender) == (Verdict.SERVER_FAILED, False, None)
    assert "cannot connect to 127.0.0.1:1" in record.reason


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no folders without permissions")
async def test_a_program_that_fills_the_folder_of_its_game_breaks_nothing(tmp_path: Path) -> None:
    """As another user than root, nobody can look into the last folder; as every user, the path is too long."""
    nest = "import os, sys; os.chdir(sys.argv[1])\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nos.chmod('.', 0)"
    folder = shlex.quote(str(tmp_path / GAMES / "0001"))
    new = Entrant("new", shell(f"{PYTHON} -c {shlex.quote(nest)} {folder}; exit 3"))
    setup = dataclasses.replace(
        setup_of("builtin:first", "builtin:first"), entrants=(new, Entrant("old", "builtin:first"))
    )
    with trio.fail_after(HANG_TIMEOUT):
        record = await play_game(setup, setup.plan()[0], tmp_path, keep=KeepPolicy.NONE)
    assert (record.offender, record.is_counted) == (0, True)
    assert list((tmp_path / GAMES).iterdir()) == []


async def test_a_program_has_its_own_directory_environment_and_memory(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    script = 'echo "$(pwd) $A $(ulimit -d)" >&2; exit 3'
    new = Entrant("new", shell(script), cwd=str(folder), environment={"A": "b"}, memory=77)
    with trio.fail_after(HANG_TIMEOUT):
        setup = dataclasses.replace(
            setup_of("builtin:first", "builtin:first"), entrants=(new, Entrant("old", "builtin:first"))
        )
        record = await play_game(setup, setup.plan()[0], tmp_path)
    assert f"{folder} b {77 * 1024}" in (tmp_path / record.folder / "program1.stderr.log").read_text()
    assert record.offender == 0
    assert "; it was allowed 77 MiB of data and had up to " in record.reason


@pytest.mark.slow
async def test_a_timeout_caused_by_waiting_for_a_processor_is_blamed_on_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SchedulingDelayMeter, "seconds_waiting", lambda _meter, _program, seconds: seconds - 0.1)
    record = await play(
        tmp_path,
        IDLE,
        IDLE,
        entrants=(
            Entrant("new", f"{LIGHT} slow --delay 0.5"),
            Entrant("old", f"{LIGHT} first", can_timeout=False),
        ),
        server_options={**NO_LIMITS, "soft_timeout": 0.3},
    )
    assert (record.verdict, record.offender, record.is_counted) == (Verdict.OVERLOAD, None, False)
    assert re.match(r"new: \d+\.\d{3} s, allowed are 0\.3 s; ", record.reason)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "cause", "reason"),
    [
        (
            '<data class="sc.plugin2027.SkipMove"/>',
            "RULE_VIOLATION",
            (
                "Nur eigene Spielfiguren können gezogen werden bei 'null setzt aus' "
                "(im Element data fehlt das Element color)"
            ),
        ),
        (
            '<data class="sc.plugin2027.SkipMove"><color>BLUE</color><hint content="x"/></data>',
            "LEFT",
            "<room> cannot be read: unbekanntes Element <hint> in <data>",
        ),
        (
            '<data class="sc.plugin2027.SetMove"><piece color="BLUE"/></data>',
            "LEFT",
            "<room> cannot be read: im Element piece fehlt das Attribut rotation; erlaubt: NONE, RIGHT, MIRROR, LEFT",
        ),
        (
            '<data class="sc.plugin2027.SetMove"/>',
            "LEFT",
            "im Element data fehlt das Element piece",
        ),
    ],
)
async def test_the_record_names_what_the_release_does_not_read(
    data: str, cause: str, reason: str, tmp_path: Path
) -> None:
    record = await play(tmp_path, answering_program(tmp_path, data), f"{LIGHT} first", server_options=NO_LIMITS)
    assert (record.verdict, record.offender, record.winner, record.is_counted) == (Verdict.BAD_MESSAGE, 0, 1, True)
    assert record.causes == (cause, "REGULAR")
    assert record.reason == reason


@pytest.mark.slow
async def test_a_program_is_blamed_for_what_it_sends_even_if_that_triggers_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("spielleiter.server.core.room.Room._play", fail)
    record = await play(tmp_path, f"{LIGHT} first", f"{LIGHT} first")
    assert (record.verdict, record.offender, record.winner, record.is_counted) == (Verdict.BAD_MESSAGE, 0, 1, True)
    assert record.reason == "the server could not deal with what it sent: ZeroDivisionError: oh"
    assert '"internal_error"' in gzip.decompress((tmp_path / record.folder / SERVER_LOG).read_bytes()).decode()


async def test_a_folder_that_cannot_be_created_is_a_machine_error(tmp_path: Path) -> None:
    (tmp_path / "games").touch()
    with pytest.raises(MachineError, match=r"games/0001: Not a directory"):
        await play(tmp_path, IDLE, IDLE)


async def test_a_full_disk_at_the_end_of_a_game_is_a_machine_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(spielleiter.match.referee, "write_replay", fail)
    monkeypatch.setattr(spielleiter.match.referee._Referee, "_play", _begin)
    with pytest.raises(MachineError, match=r"games/0001: No space left on device"):
        await play(tmp_path, IDLE, IDLE)


async def _begin(referee: Any, _room: Any) -> None:
    referee._facts.has_begun = True


@pytest.mark.slow
async def test_another_edition_can_be_played(tmp_path: Path) -> None:
    setup = setup_of(
        "builtin:first", "builtin:illegal", game_type="swc_2021_blokus", edition="blokus-2021-r1", run_id=str(tmp_path)
    )
    record = await play_game(setup, setup.plan()[0], tmp_path)
    assert (record.verdict, record.offender) == (Verdict.ILLEGAL_MOVE, 1)
