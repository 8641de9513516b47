"""One game from its folder to its record, with programs that misbehave before, in and after it."""

from __future__ import annotations

import dataclasses
import gc
import gzip
import json
import re
import shlex
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from spielleiter.client.admin import AdminClient
from spielleiter.common.errors import MachineError
from spielleiter.match.evidence import Evidence
from spielleiter.match.game_folder import GAMES, REPLAY, SERVER_LOG, WIRE_LOG, KeepPolicy, WireLog
from spielleiter.match.match_server import open_match_server
from spielleiter.match.plan import Entrant, Opening, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import MEBIBYTE, VERDICT, memory_text, play_game, remarks_on
from spielleiter.match.verdict import FAILED_AS_WELL, Verdict
from spielleiter.programs.linux_processes import ProcessInfo
from spielleiter.programs.machine_delay import SchedulingDelayMeter
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.core.room import Peer, Room
from spielleiter.server.editions import choose_editions
from spielleiter.server.replay import load_starting_states
from tests.cli.background import background_server
from tests.interpreter import PYTHON
from tests.match.answering import answering_program
from tests.match.players import LIGHT
from tests.match.refereed import IDLE, NO_LIMITS, NO_TIMEOUTS, play, setup_of, shell, write_late_replay
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits

pytestmark = pytest.mark.usefixtures("players")


def python(code: str) -> str:
    return f"{PYTHON} -c {shlex.quote(code)}"


CONNECT = "import socket, sys; s = socket.create_connection((sys.argv[2], int(sys.argv[4]))); "


def at(port: int) -> dict[str, Any]:
    """The settings of a match at another server."""
    return {"server": ("127.0.0.1", port), "password": "examplepassword"}


@pytest.mark.slow
async def test_a_game_has_a_folder_with_its_files(tmp_path: Path) -> None:
    (tmp_path / "games" / "0002").mkdir(parents=True)
    (tmp_path / "games" / "0002" / "left by an interrupted run").touch()
    greedy = f"{PYTHON} -m spielleiter play --game {DEFAULT_GAME_TYPE} --seed 1 -s greedy"
    record = await play(tmp_path, greedy, f"{LIGHT} first", game=2)
    assert (record.verdict, record.offender, record.reason, record.winner) == (Verdict.REGULAR, None, "", 0)
    assert record.seats == (1, 0)
    assert (record.points[0] or 0) > (record.points[1] or 0) > 20
    assert record.causes == ("REGULAR", "REGULAR")
    assert record.start == "late"
    assert len(record.think_times[0]) + len(record.think_times[1]) == record.plies > 3
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
@pytest.mark.parametrize("is_own", [True, False])
@pytest.mark.parametrize(
    ("strategy", "limits", "verdict", "cause"),
    [
        ("illegal", {}, Verdict.ILLEGAL_MOVE, "RULE_VIOLATION"),
        ("slow", {"soft_timeout": 0.3}, Verdict.TIMEOUT, "SOFT_TIMEOUT"),
        ("crash", {}, Verdict.CRASH, "LEFT"),
        ("garbage", {}, Verdict.BAD_MESSAGE, "LEFT"),
        ("silent", {"soft_timeout": 0.2, "hard_timeout": 0.3}, Verdict.HANGS, "HARD_TIMEOUT"),
    ],
)
async def test_each_kind_of_misbehaviour_has_its_verdict(
    *,
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
    players = Entrant("new", f"{LIGHT} first", can_timeout=False), Entrant("old", f"{LIGHT} {strategy} --delay 0.5")
    if is_own:
        record = await play(tmp_path, *players, server_options={**NO_LIMITS, **limits})
    else:
        with background_server(**{**NO_LIMITS, **limits}) as server:
            record = await play(tmp_path, *players, **at(server.port))
        if strategy == "garbage":  # an observer does not see invalid bytes, only that the program has left
            verdict = Verdict.CRASH
    assert (record.verdict, record.offender, record.winner) == (verdict, 1, 0)
    assert record.is_counted
    assert record.causes == ("REGULAR", cause)
    assert record.reason
    assert record.replay == REPLAY


@pytest.mark.slow
async def test_a_timeout_caused_by_waiting_for_a_processor_is_blamed_on_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SchedulingDelayMeter, "seconds_waiting", lambda _meter, _program, seconds: seconds - 0.1)
    players = Entrant("new", f"{LIGHT} slow --delay 0.5"), Entrant("old", f"{LIGHT} first", can_timeout=False)
    record = await play(tmp_path, *players, server_options={**NO_LIMITS, "soft_timeout": 0.3})
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
            '<data class="sc.plugin2027.SetMove"><piece color="BLUE"/></data>',
            "LEFT",
            "<room> cannot be read: im Element piece fehlt das Attribut rotation; erlaubt: NONE, RIGHT, MIRROR, LEFT",
        ),
    ],
)
async def test_the_record_names_what_the_release_does_not_read(
    data: str, cause: str, reason: str, tmp_path: Path
) -> None:
    record = await play(tmp_path, answering_program(tmp_path, data), "builtin:first")
    assert (record.verdict, record.offender, record.winner, record.is_counted) == (Verdict.BAD_MESSAGE, 0, 1, True)
    assert (record.causes, record.reason) == ((cause, "REGULAR"), reason)


@pytest.mark.slow
async def test_a_game_without_time_limits_ends_when_its_own_time_is_over(tmp_path: Path) -> None:
    silent = Entrant("new", f"{LIGHT} silent", can_timeout=False)
    record = await play(tmp_path, silent, "builtin:first", timeouts=dataclasses.replace(NO_TIMEOUTS, game=0.5))
    assert (record.verdict, record.offender, record.winner) == (Verdict.HANGS, 0, 1)
    assert record.reason == "it was on turn when the time for the game was over"


GIVES_UP = """
import socket, sys, traceback
s = socket.create_connection((sys.argv[2], int(sys.argv[4])))
s.sendall(b'<protocol><joinPrepared reservationCode="%s"/>' % sys.argv[6].encode())
received = b""
while b"moveRequest" not in received: received = received[-99:] + (s.recv(9999) or sys.exit("no request"))
try: raise ValueError("no book")
except ValueError: traceback.print_exc()
s.sendall(b"</protocol>")
while s.recv(1000): pass
"""


@pytest.mark.slow
async def test_the_exception_of_a_program_that_gives_up_is_reported_although_its_exit_code_is_0(tmp_path: Path) -> None:
    record = await play(tmp_path, python(GIVES_UP), "builtin:first")
    assert (record.verdict, record.offender, record.winner) == (Verdict.DIES, 0, 1)
    assert record.reason == "ended with exit code 0; its last words: ValueError: no book"


# -- another server ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_game_at_another_server(tmp_path: Path) -> None:
    with background_server(**NO_LIMITS, load_game_file=write_late_replay(tmp_path)) as server:
        record = await play(tmp_path, "builtin:first", f"{LIGHT} first", **at(server.port))
    assert record.verdict == Verdict.REGULAR
    assert len(record.think_times[0]) + len(record.think_times[1]) == record.plies > 3
    assert (tmp_path / record.folder / REPLAY).exists()


@pytest.mark.slow
async def test_a_game_that_somebody_else_cancels_does_not_count(tmp_path: Path) -> None:
    """Several editions name a winner of a cancelled game."""
    with background_server(**NO_LIMITS) as server:
        async with AdminClient.connect("127.0.0.1", server.port, "examplepassword") as admin:

            async def cancel() -> None:
                rooms: list[dict[str, Any]] = []
                while not rooms or not rooms[0]["turn"]:
                    rooms = (await admin.status())["rooms"]
                await admin.cancel(rooms[0]["roomId"])

            async with trio.open_nursery() as nursery:
                nursery.start_soon(cancel)
                record = await play(tmp_path, f"{LIGHT} first", f"{LIGHT} silent", **at(server.port))
    assert (record.verdict, record.winner, record.is_counted) == (Verdict.CANCELLED, None, False)
    assert record.reason.startswith("the game was called off")


@pytest.mark.slow
@pytest.mark.parametrize("is_quick", [False, True])
async def test_at_another_server_a_program_that_never_joins_has_lost_and_not_the_one_that_waits(
    is_quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that waits ends when the server closes the room; a quick one does before the match has its answer."""
    never_joins = python(f"{CONNECT}import time; time.sleep(999)")
    cancel = AdminClient.cancel

    async def cancel_and_see_it_end(admin: AdminClient, room_id: str) -> None:
        await cancel(admin, room_id)
        while PLATFORM.find_tagged(f"{tmp_path}/1/1"):  # noqa: ASYNC110 - of another process
            await trio.sleep(0.01)
        await trio.testing.wait_all_tasks_blocked(0.1)

    if is_quick:
        monkeypatch.setattr(AdminClient, "cancel", cancel_and_see_it_end)
    with background_server(**NO_LIMITS) as server:

        async def attempt(limit: float) -> None:
            timeouts = dataclasses.replace(NO_TIMEOUTS, start=limit, exit=limit)
            record = await play(tmp_path, f"{LIGHT} first", never_joins, timeouts=timeouts, **at(server.port))
            assert (record.verdict, record.offender, record.winner) == (Verdict.NEVER_JOINS, 1, 0)
            assert (record.is_counted, record.reason) == (True, "it did not take its seat")

        await retry_with_longer_limits(attempt, 1)


async def test_a_missing_server_is_not_blamed_on_a_program(tmp_path: Path) -> None:
    record = await play(tmp_path, IDLE, IDLE, **at(1))
    assert (record.verdict, record.is_counted, record.offender) == (Verdict.SERVER_FAILED, False, None)
    assert "cannot connect to 127.0.0.1:1" in record.reason


# -- before the game --------------------------------------------------------------------------------------------------

JAVA = r'Exception in thread "main" java.lang.Error: no book\n\tat Bot.main(Bot.java:5)\n'
LEAVES = """
import socket, sys
s = socket.create_connection((sys.argv[2], int(sys.argv[4])))
s.sendall(b"<protocol><join/>")
s.recv(1)
s.close()
sys.exit(3)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "verdict", "reason"),
    [
        ("/nowhere/bot", Verdict.NO_START, "/nowhere/bot: there is no such program"),
        (
            shell(f"printf {shlex.quote(JAVA)} >&2; exit 1"),
            Verdict.NO_START,
            "ended with exit code 1 and had not connected; its last words: java.lang.Error: no book",
        ),
        (shell("echo bye"), Verdict.NO_START, "ended with exit code 0 and had not connected; its last words: bye"),
        (shell("kill -KILL $$"), Verdict.NO_START, "ended by signal 9 and had not connected"),
        (
            python(f"{CONNECT}s.sendall(b'GET / HTTP/1.1')\nwhile s.recv(1000): pass"),
            Verdict.NONSENSE,
            "The stream has to begin with <protocol>",
        ),
    ],
)
async def test_a_program_that_does_not_start_loses(command: str, verdict: str, reason: str, tmp_path: Path) -> None:
    record = await play(tmp_path, "builtin:first", command)
    is_lost = not command.startswith("/nowhere")  # otherwise this machine could not start it
    assert (record.verdict, record.offender, record.reason[: len(reason)]) == (verdict, 1, reason)
    assert (record.winner, record.is_counted) == (0 if is_lost else None, is_lost)
    assert (record.points, record.causes, record.plies, record.replay) == ((None, None), ("", ""), 0, None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "verdict", "reason"),
    [
        ("<protocol>hello", Verdict.NONSENSE, "it sent something that is not a message: <protocol>hello"),
        ('<protocol><joinPrepared reservationCode="x"/>', Verdict.NEVER_JOINS, "the server refused: "),
        (None, Verdict.NEVER_JOINS, "it did not connect to the host and port that it was given (-h, -p)"),
    ],
)
async def test_a_program_that_does_not_take_its_seat_in_time_loses(
    sent: str | None, verdict: str, reason: str, tmp_path: Path
) -> None:
    script = "trap : TERM INT HUP; setsid sleep 500 & sleep 500 & wait; sleep 500"
    if sent is not None:
        script = python(f"{CONNECT}s.sendall({sent.encode()!r}); import time; time.sleep(500)") + ' "$@"'

    async def attempt(limit: float) -> None:
        timeouts = dataclasses.replace(NO_TIMEOUTS, start=limit)
        record = await play(tmp_path, shell(script), "builtin:first", timeouts=timeouts)
        assert (record.verdict, record.offender, record.winner, record.is_counted) == (verdict, 0, 1, True)
        assert record.reason.startswith(reason)

    await retry_with_longer_limits(attempt, 0.5)


@pytest.mark.slow
async def test_a_program_that_takes_its_seat_and_ends_before_the_game_loses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spielleiter.match.referee.LEAVING_TIMEOUT", HANG_TIMEOUT)
    record = await play(tmp_path, python(LEAVES), shell("trap : TERM; sleep 500 & wait"))
    assert (record.verdict, record.offender, record.winner) == (Verdict.CRASH, 0, 1)
    assert record.reason == "ended with exit code 3"
    assert record.exit_codes == (3, None)


async def test_if_neither_program_can_play_nobody_wins_and_the_faults_of_both_are_recorded(tmp_path: Path) -> None:
    record = await play(tmp_path, shell("exit 3"), "/nowhere/bot")
    assert (record.verdict, record.offender, record.winner, record.is_counted) == (Verdict.NO_START, 0, None, False)
    assert record.remarks == ((), (f"{FAILED_AS_WELL}does not start, /nowhere/bot: there is no such program",))


@pytest.mark.slow
async def test_a_plain_join_takes_the_programs_own_seat(tmp_path: Path) -> None:
    plain = f"{LIGHT} first -h {{host}} -p {{port}}"
    record = await play(tmp_path, plain, plain)
    assert (record.verdict, record.offender) == (Verdict.REGULAR, None)
    assert record.remarks == (("took its seat by a plain join; the contest wants joinPrepared",),) * 2


async def test_a_program_for_another_season_is_told_at_once_what_is_played(tmp_path: Path) -> None:
    other = f"{LIGHT} first --edition hase-und-igel-2018 -h {{host}} -p {{port}}"
    record = await play(tmp_path, "builtin:first", other, timeouts=ProgramTimeouts(start=HANG_TIMEOUT))
    assert (record.verdict, record.offender, record.is_counted) == (Verdict.NEVER_JOINS, 1, True)
    assert f"{DEFAULT_GAME_TYPE} is played here, not swc_2018_hase_und_igel" in record.reason
    assert record.wall_seconds < HANG_TIMEOUT


# -- the surroundings of a program ------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_built_in_programs_ignore_modules_in_their_folder(tmp_path: Path) -> None:
    for name in ("game", "match", "client", "spielleiter"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    record = await play(tmp_path, "builtin:illegal", "builtin:first", cwd=str(tmp_path))
    assert (record.verdict, record.offender) == (Verdict.ILLEGAL_MOVE, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no folders without permissions")
async def test_a_program_that_fills_the_folder_of_its_game_breaks_nothing(tmp_path: Path) -> None:
    """As another user than root, nobody can look into the last folder; as every user, the path is too long."""
    nest = "import os, sys; os.makedirs(sys.argv[1]); os.chdir(sys.argv[1])\n"
    nest += "for _ in range(30): os.mkdir(200 * 'd'); os.chdir(200 * 'd')\nos.chmod('.', 0)"
    folder = shlex.quote(str(tmp_path / GAMES / "0001"))
    setup = setup_of(shell(f"{python(nest)} {folder}; exit 3"), "builtin:first")
    with trio.fail_after(HANG_TIMEOUT):
        record = await play_game(setup, setup.plan()[0], tmp_path, keep=KeepPolicy.NONE)
    assert (record.offender, record.is_counted) == (0, True)
    assert list((tmp_path / GAMES).iterdir()) == []


@pytest.mark.slow
@pytest.mark.usefixtures("players")
async def test_a_game_is_freed_without_the_garbage_collector(tmp_path: Path) -> None:
    """The collector runs rarely during a match, and a game has a megabyte of positions and packets."""

    def alive() -> Counter[type]:
        return Counter(type(each) for each in gc.get_objects() if isinstance(each, (Evidence, WireLog, Room, Peer)))

    openings = (Opening("late", str(write_late_replay(tmp_path))),)
    setup = setup_of("builtin:first", f"{LIGHT} first", run_id=str(tmp_path), openings=openings)
    first, second = setup.plan()
    with trio.fail_after(HANG_TIMEOUT):
        async with open_match_server(setup) as match_server:
            await play_game(setup, first, tmp_path, match_server=match_server)
            await trio.testing.wait_all_tasks_blocked()
            gc.collect()
            before = alive()
            gc.disable()
            try:
                record = await play_game(setup, second, tmp_path, match_server=match_server)
                for _ in range(1000):
                    if not alive() - before:
                        break
                    await trio.sleep(0.01)  # a thread that has written files of the game may keep it a moment longer
                assert not alive() - before
            finally:
                gc.enable()
    assert record.verdict == Verdict.REGULAR


@pytest.mark.parametrize("keep", [KeepPolicy.FAILED, KeepPolicy.NONE])
def test_a_folder_that_is_kept_after_a_fault_has_the_same_files(keep: KeepPolicy, tmp_path: Path) -> None:
    setup = setup_of(shell("echo lost >&2; exit 3"), "builtin:first")

    async def play_one() -> GameRecord:
        with trio.fail_after(HANG_TIMEOUT):
            return await play_game(setup, setup.plan()[0], tmp_path, keep=keep)

    record = trio.run(play_one)
    assert (record.offender, "lost" in record.reason) == (0, True)
    files = {path.name: path.stat().st_size > 0 for path in tmp_path.glob("games/*/*")}
    assert files == (
        {"program1.stdout.log": False, "program1.stderr.log": True}
        | dict.fromkeys((VERDICT, SERVER_LOG, WIRE_LOG), True)
        if keep is KeepPolicy.FAILED
        else {}
    )


async def test_a_program_has_its_own_directory_environment_and_memory(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    script = 'echo "$(pwd) $A $(ulimit -d)" >&2; exit 3'
    new = Entrant("new", shell(script), cwd=str(folder), environment={"A": "b"}, memory=77)
    record = await play(tmp_path, new, "builtin:first")
    assert f"{folder} b {77 * 1024}" in (tmp_path / record.folder / "program1.stderr.log").read_text()
    assert record.offender == 0
    assert "; it was allowed 77 MiB of data and had up to " in record.reason


async def test_files_that_cannot_be_written_are_a_machine_error(tmp_path: Path) -> None:
    (tmp_path / "games").touch()
    with pytest.raises(MachineError, match=r"games/0001: Not a directory"):
        await play(tmp_path, IDLE, IDLE)
    (tmp_path / "games").unlink()
    in_the_way = shlex.quote(str(tmp_path / GAMES / "0001" / REPLAY / "directory"))
    with pytest.raises(MachineError, match=r"games/0001: "):
        await play(tmp_path, shell(f'mkdir -p {in_the_way}; exec {LIGHT} illegal "$@"'), "builtin:first")


# -- after the game ---------------------------------------------------------------------------------------------------

LASTING = shell(f'{LIGHT} first "$@"; exec sleep 500')
LEAVING_BEHIND = shell(f'sleep 500 & exec {LIGHT} first "$@"')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second", "exit_limit", "verdict", "reason"),
    [
        (
            *(LEAVING_BEHIND, LASTING, 0.5, Verdict.LEFTOVERS),
            r"1 process outlived it: sleep \(\d+\); old had to be ended after the game",
        ),
        (LASTING, f"{LIGHT} first", 0.5, Verdict.NEVER_ENDS, r"it still ran [\d.]+ s after the end of the game"),
        # without time to end, it is not at fault
        (
            *(LASTING, LASTING, 0, Verdict.REGULAR),
            "new had to be ended after the game; old had to be ended after the game",
        ),
    ],
    ids=["leaves a process", "never ends", "had no time to end"],
)
async def test_a_program_that_does_not_end_or_leaves_processes_behind_is_named(
    first: str, second: str, exit_limit: float, verdict: str, reason: str, tmp_path: Path
) -> None:
    async def attempt(limit: float) -> None:
        record = await play(tmp_path, first, second, timeouts=dataclasses.replace(NO_TIMEOUTS, exit=limit))
        assert (record.verdict, record.is_counted) == (verdict, True)
        assert re.fullmatch(reason, record.reason)
        assert record.offender == (None if verdict == Verdict.REGULAR else 0)
        assert record.points != (None, None)

    await retry_with_longer_limits(attempt, exit_limit)


def program(**facts: Any) -> Any:
    """Return something with the attributes of a `Program`."""
    known = {"exceeded": "", "returncode": 0, "peak_memory": 0, "supervisor_stops": 0, "survivors": ()}
    return SimpleNamespace(**{**known, **facts})


@pytest.mark.parametrize(
    ("limit", "facts", "text"),
    [
        (None, {"returncode": 1}, ""),
        (100, {"returncode": 0}, ""),
        (
            100,
            {"returncode": 1, "peak_memory": 90 * MEBIBYTE},
            "it was allowed 100 MiB of data and had up to 90 MiB in memory",
        ),
        (None, {"exceeded": "memory"}, "it was killed because it used more than the contest's 1536 MiB of memory"),
        (None, {"exceeded": "processes"}, "it was killed because it had more than 512 processes and threads"),
        (
            None,
            {"exceeded": "disk"},
            "it was killed because it wrote more than 1024 MiB or 100,000 files, or hid them",
        ),
    ],
)
def test_the_limit_that_a_program_has_exceeded_is_named(limit: int | None, facts: dict[str, Any], text: str) -> None:
    assert memory_text(limit, program(**facts)) == text


def test_a_process_that_survives_is_a_remark() -> None:
    """One in a sandbox has no id."""
    survivors = ProcessInfo(3, "bot"), ProcessInfo(0, "java")
    remarks = remarks_on(program(survivors=survivors), None)
    assert remarks == ("could not be ended, not even by SIGKILL: bot (3), java",)
