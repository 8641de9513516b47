from __future__ import annotations

import dataclasses
import gzip
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import trio

import match.referee
from client.admin import AdminClient
from client.editions import DEFAULT_GAME_TYPE
from match.errors import MachineError
from match.game_log import SERVER_LOG
from match.processes import Usage, find_processes
from match.records import FAILED_AS_WELL, GameRecord, Verdict
from match.referee import VERDICT, play_game
from match.setup import Entrant, MatchSetup, Patience
from match.traces import REPLAY
from match.wire_log import WIRE_LOG
from server.editions import choose_editions
from server.replay import load_starting_states
from tests.interpreter import PYTHON
from tests.patience import PATIENCE, with_longer_limits
from tests.spielleiter.background import background_server

BUILTIN = f"{PYTHON} -m spielleiter play --game {DEFAULT_GAME_TYPE} --seed 1"

NO_LIMITS = {"soft_timeout": PATIENCE, "hard_timeout": PATIENCE}
ENDLESS = Patience(start=PATIENCE, exit=PATIENCE, game=PATIENCE)

REST = "sleep 500"
"""A program that does nothing at all."""


def setup_of(first: str, second: str, **changes: Any) -> MatchSetup:
    setup = MatchSetup(
        entrants=(Entrant("new", first), Entrant("old", second)),
        game_type=DEFAULT_GAME_TYPE,
        games=2,
        seed=1,
        run_id="",
        server_options=NO_LIMITS,
        patience=ENDLESS,
    )
    return dataclasses.replace(setup, **changes)


async def play(folder: Path, first: str, second: str, game: int = 1, **changes: Any) -> GameRecord:
    """The verdict on a game of two programs; afterwards neither lives."""
    setup = dataclasses.replace(setup_of(first, second, **changes), run_id=str(folder))
    with trio.fail_after(PATIENCE):
        record = await play_game(setup, setup.plan()[game - 1], folder)
    assert find_processes(str(folder)) == ()
    return record


def shell(script: str) -> str:
    """A program that is a script, with the usual options as its arguments."""
    return f"sh -c {shlex.quote(script)} bot"


JAVA = 'Exception in thread "main" java.lang.Error: no book\\n\\tat Bot.main(Bot.java:5)\\n'


@pytest.mark.slow
async def test_a_built_in_program_plays_in_a_folder_that_holds_modules_of_the_same_names(tmp_path: Path) -> None:
    for name in ("game", "match", "client", "spielleiter"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)\n")
    record = await play(tmp_path, "builtin:illegal", "builtin:first", cwd=str(tmp_path))
    assert (record.verdict, record.offender) == (Verdict.ILLEGAL_MOVE, 0)


# -- programs that never get as far as a game -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "verdict", "reason"),
    [
        ("/nowhere/bot", Verdict.NO_START, "/nowhere/bot: there is no such program"),
        (
            shell("echo no book >&2; exit 3"),
            Verdict.NO_START,
            "ended with exit code 3 and had not connected; its last words: no book",
        ),
        (
            shell(f"printf {shlex.quote(JAVA)} >&2; exit 1"),
            Verdict.NO_START,
            "ended with exit code 1 and had not connected; its last words: java.lang.Error: no book",
        ),
        (shell("echo bye"), Verdict.NO_START, "ended with exit code 0 and had not connected; its last words: bye"),
        (shell("kill -KILL $$"), Verdict.NO_START, "ended by signal 9 and had not connected"),
    ],
)
@pytest.mark.slow
async def test_a_program_that_does_not_start_loses(command: str, verdict: str, reason: str, tmp_path: Path) -> None:
    record = await play(tmp_path, f"{BUILTIN} -s first", command)
    assert (record.verdict, record.offender, record.winner, record.reason) == (verdict, 1, None, reason)
    assert not record.is_counted
    assert (record.points, record.causes, record.plies, record.replay) == ((None, None), ("", ""), 0, None)


async def test_where_neither_starts_nobody_wins(tmp_path: Path) -> None:
    record = await play(tmp_path, "/nowhere/bot", "/nowhere/too")
    assert (record.verdict, record.offender, record.winner, record.is_counted) == (Verdict.NO_START, 0, None, False)
    assert "old fails, too: does not start, /nowhere/too: there is no such program" in record.reason


NONSENSE = f"""{PYTHON} -c "
import socket, sys
s = socket.create_connection((sys.argv[2], int(sys.argv[4])))
s.sendall(WHAT)
while s.recv(1000): pass
s.close()
THEN" """.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "then", "verdict", "reason"),
    [
        ("b'GET / HTTP/1.1'", "", Verdict.NONSENSE, "The stream has to begin with <protocol>"),
        ("b'<protocol>'", "", Verdict.NEVER_JOINS, "it connected and then did not take its seat"),
        (
            "b'<protocol><joinPrepared reservationCode=\\\"x\\\"/>'",
            "import time; time.sleep(500)",
            Verdict.NEVER_JOINS,
            "the server refused: ",
        ),
    ],
)
async def test_a_program_that_does_not_take_its_seat_loses(
    what: str, then: str, verdict: str, reason: str, tmp_path: Path
) -> None:
    command = NONSENSE.replace("WHAT", what).replace("THEN", then)

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, command, "builtin:first", patience=dataclasses.replace(ENDLESS, start=limit))
        assert (record.verdict, record.offender, record.winner) == (verdict, 0, None)
        assert record.reason.startswith(reason)

    await with_longer_limits(attempt, 2)


@pytest.mark.slow
async def test_whoever_does_not_even_connect_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    command = shell("trap : TERM INT HUP; setsid sleep 500 & sleep 500 & wait; sleep 500")

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, "builtin:first", command, patience=dataclasses.replace(ENDLESS, start=limit))
        assert (record.verdict, record.offender, record.reason) == (Verdict.NEVER_JOINS, 1, "it did not connect")

    await with_longer_limits(attempt, 2)


# -- games ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_whole_game_leaves_a_folder(tmp_path: Path) -> None:
    (tmp_path / "games" / "0002").mkdir(parents=True)
    (tmp_path / "games" / "0002" / "of a run that was cut off").touch()
    record = await play(tmp_path, f"{BUILTIN} -s greedy", f"{BUILTIN} -s first", game=2)
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
async def test_each_way_to_misbehave_has_its_verdict(
    strategy: str,
    limits: dict[str, float],
    verdict: str,
    cause: str,
    is_own: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Usage, "seconds_lost", lambda *_: 0.0)  # however busy this machine is
    # only the one that misbehaves is held to the limits
    good = Entrant("new", f"{BUILTIN} -s first", can_timeout=False)
    bad = Entrant("old", f"{BUILTIN} -s {strategy} --delay 0.5")
    more: dict[str, Any] = {"entrants": (good, bad)}
    if is_own:
        record = await play(tmp_path, REST, REST, server_options={**NO_LIMITS, **limits}, **more)
    else:
        with background_server(**{**NO_LIMITS, **limits}) as server:
            place = ("127.0.0.1", server.port)
            record = await play(tmp_path, REST, REST, server=place, password="examplepassword", **more)
        if strategy == "garbage":  # an observer does not see bytes that mean nothing, only that the program left
            verdict = Verdict.CRASH
    assert (record.verdict, record.offender, record.winner) == (verdict, 1, 0)
    assert record.is_counted
    assert record.causes == ("REGULAR", cause)
    assert record.reason
    assert record.replay == REPLAY


@pytest.mark.slow
async def test_a_whole_game_at_a_server_that_runs_already(tmp_path: Path) -> None:
    with background_server(**NO_LIMITS) as server:
        place = ("127.0.0.1", server.port)
        record = await play(tmp_path, "builtin:first", "builtin:first", server=place, password="examplepassword")
    assert record.verdict == Verdict.REGULAR
    assert len(record.think_times[0]) + len(record.think_times[1]) == record.plies > 20
    assert (tmp_path / record.folder / REPLAY).exists()


@pytest.mark.slow
async def test_what_neither_program_could_have_played_is_told_of_both(tmp_path: Path) -> None:
    record = await play(tmp_path, shell("exit 3"), shell("exit 0"))
    assert (record.verdict, record.offender, record.is_counted) == (Verdict.NO_START, 0, False)
    assert record.remarks == ((), (f"{FAILED_AS_WELL}does not start, ended with exit code 0 and had not connected",))


@pytest.mark.slow
async def test_a_game_that_somebody_else_calls_off_counts_for_nobody(tmp_path: Path) -> None:
    """Several editions name a winner then, who has done nothing for it."""
    with background_server(**NO_LIMITS) as server:
        place = ("127.0.0.1", server.port)
        async with AdminClient.connect(*place, "examplepassword") as admin:

            async def call_off() -> None:
                rooms: list[dict[str, Any]] = []
                while not rooms or not rooms[0]["turn"]:
                    rooms = (await admin.status())["rooms"]
                await admin.cancel(rooms[0]["roomId"])

            async with trio.open_nursery() as nursery:
                nursery.start_soon(call_off)
                programs = f"{BUILTIN} -s first", f"{BUILTIN} -s silent"
                record = await play(tmp_path, *programs, server=place, password="examplepassword")
    assert (record.verdict, record.winner, record.is_counted) == (Verdict.CANCELLED, None, False)
    assert record.reason.startswith("the game was called off")


@pytest.mark.slow
async def test_a_server_that_is_not_there_is_the_machines_fault(tmp_path: Path) -> None:
    record = await play(tmp_path, REST, REST, server=("127.0.0.1", 1))
    assert (record.verdict, record.is_counted, record.offender) == (Verdict.SERVER_FAILED, False, None)
    assert "cannot connect to 127.0.0.1:1" in record.reason


async def test_a_program_has_its_own_directory_environment_and_memory(tmp_path: Path) -> None:
    place = tmp_path / "there"
    place.mkdir()
    script = 'echo "$(pwd) $A $(ulimit -d)" >&2; exit 3'
    new = Entrant("new", shell(script), cwd=str(place), environment={"A": "b"}, memory=77)
    with trio.fail_after(PATIENCE):
        setup = dataclasses.replace(
            setup_of("builtin:first", "builtin:first"), entrants=(new, Entrant("old", "builtin:first"))
        )
        record = await play_game(setup, setup.plan()[0], tmp_path)
    assert f"{place} b {77 * 1024}" in (tmp_path / record.folder / "program1.stderr.log").read_text()
    assert record.offender == 0
    assert "; it was allowed 77 MiB of data and had up to " in record.reason


@pytest.mark.slow
async def test_leftovers_and_those_who_stay_are_named(tmp_path: Path) -> None:
    first = shell(f'sleep 500 & exec {BUILTIN} -s first "$@"')
    second = shell(f'{BUILTIN} -s first "$@"; exec sleep 500')

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, first, second, patience=dataclasses.replace(ENDLESS, exit=limit))
        assert (record.verdict, record.offender) == (Verdict.LEFTOVERS, 0)
        assert record.is_counted
        assert record.reason.startswith("1 process outlived it: sleep (")
        assert record.reason.endswith("; old had to be ended after the game")

    await with_longer_limits(attempt, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patience", "verdict", "reason"),
    [
        (0.5, Verdict.NEVER_ENDS, "it still ran {limit:g} s after the end of the game"),
        (0, Verdict.REGULAR, "new had to be ended after the game; old had to be ended after the game"),
    ],
)
async def test_who_stays_is_at_fault_where_there_was_time_to_go(
    patience: float, verdict: str, reason: str, tmp_path: Path
) -> None:
    lasting = shell(f'{BUILTIN} -s first "$@"; exec sleep 500')
    other = lasting if patience == 0 else f"{BUILTIN} -s first"

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, lasting, other, patience=dataclasses.replace(ENDLESS, exit=limit))
        assert (record.verdict, record.reason, record.is_counted) == (verdict, reason.format(limit=limit), True)
        assert record.offender == (None if verdict == Verdict.REGULAR else 0)
        assert record.points != (None, None)

    await with_longer_limits(attempt, patience)


@pytest.mark.slow
@pytest.mark.parametrize("can_timeout", [True, False])
async def test_a_game_without_limits_ends_with_its_time(can_timeout: bool, tmp_path: Path) -> None:
    silent = Entrant("new", f"{BUILTIN} -s silent", can_timeout=can_timeout)
    record = await play(
        tmp_path,
        REST,
        REST,
        entrants=(silent, Entrant("old", f"{BUILTIN} -s first")),
        patience=dataclasses.replace(ENDLESS, game=1),
    )
    assert (record.verdict, record.offender, record.winner) == (Verdict.HANGS, 0, 1)
    assert record.reason == "it was on turn when the time for the game was over"


@pytest.mark.slow
async def test_a_loss_on_time_by_waiting_for_a_processor_is_nobodys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Usage, "seconds_lost", lambda _after, _before, seconds, _cores: seconds - 0.1)
    record = await play(
        tmp_path,
        REST,
        REST,
        entrants=(
            Entrant("new", f"{BUILTIN} -s slow --delay 0.5"),
            Entrant("old", f"{BUILTIN} -s first", can_timeout=False),
        ),
        server_options={**NO_LIMITS, "soft_timeout": 0.3},
    )
    assert (record.verdict, record.offender, record.is_counted) == (Verdict.OVERLOAD, None, False)
    assert re.match(r"new: \d+\.\d{3} s, allowed are 0\.3 s; ", record.reason)


@pytest.mark.slow
async def test_what_a_program_sends_is_its_own_affair_even_if_it_finds_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("server.room.Room._play", fail)
    record = await play(tmp_path, f"{BUILTIN} -s first", f"{BUILTIN} -s first")
    assert (record.verdict, record.offender, record.winner, record.is_counted) == (Verdict.BAD_MESSAGE, 0, 1, True)
    assert record.reason == "the server could not deal with what it sent: ZeroDivisionError: oh"
    assert '"internal_error"' in gzip.decompress((tmp_path / record.folder / SERVER_LOG).read_bytes()).decode()


@pytest.mark.slow
async def test_who_has_taken_its_seat_is_not_blamed_for_an_opponent_that_never_comes(tmp_path: Path) -> None:
    record = await play(tmp_path, "builtin:first", REST)
    assert (record.verdict, record.offender, record.winner) == (Verdict.NO_START, 1, None)
    assert record.reason.startswith("ended with exit code 1 and had not connected")
    assert not record.is_counted


QUITTER = f"""{PYTHON} -c "
import socket, sys, traceback
s = socket.create_connection((sys.argv[2], int(sys.argv[4])))
s.sendall(b'<protocol><joinPrepared reservationCode=\\"%s\\"/>' % sys.argv[6].encode())
heard = b''
while b'moveRequest' not in heard: heard = heard[-99:] + (s.recv(9999) or sys.exit('no request'))
try: raise ValueError('no book')
except ValueError: traceback.print_exc()
s.sendall(b'</protocol>')
while s.recv(1000): pass
" """.strip()


@pytest.mark.slow
async def test_the_last_words_of_a_program_that_gives_up_are_told_though_its_exit_code_is_0(tmp_path: Path) -> None:
    record = await play(tmp_path, QUITTER, "builtin:first")
    assert (record.verdict, record.offender, record.winner) == (Verdict.DIES, 0, 1)
    assert record.reason == "ended with exit code 0; its last words: ValueError: no book"


@pytest.mark.slow
async def test_a_plain_join_takes_the_programs_own_seat(tmp_path: Path) -> None:
    plain = f"{PYTHON} -m spielleiter play --seed 1 -s first -h {{host}} -p {{port}}"
    record = await play(tmp_path, f"{plain} --game {DEFAULT_GAME_TYPE}", plain)
    assert (record.verdict, record.offender) == (Verdict.REGULAR, None)
    assert record.remarks == (("took its seat by a plain join; the contest wants joinPrepared",),) * 2


@pytest.mark.slow
async def test_a_program_of_another_season_hears_at_once_what_is_played(tmp_path: Path) -> None:
    other = f"{PYTHON} -m spielleiter play --game swc_2018_hase_und_igel -h {{host}} -p {{port}}"
    record = await play(tmp_path, f"{BUILTIN} -s first", other, patience=Patience(start=PATIENCE))
    assert (record.verdict, record.offender, record.is_counted) == (Verdict.NEVER_JOINS, 1, False)
    assert f"{DEFAULT_GAME_TYPE} is played here, not swc_2018_hase_und_igel" in record.reason
    assert record.wall_seconds < PATIENCE


async def test_a_folder_that_cannot_be_is_the_machines_fault(tmp_path: Path) -> None:
    (tmp_path / "games").touch()
    with pytest.raises(MachineError, match=r"games/0001: Not a directory"):
        await play(tmp_path, REST, REST)


async def test_a_disk_that_is_full_in_the_end_of_a_game_is_the_machines_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(match.referee, "write_replay", fail)
    monkeypatch.setattr(match.referee._Referee, "_play", _see_something)
    with pytest.raises(MachineError, match=r"games/0001: No space left on device"):
        await play(tmp_path, REST, REST)


async def _see_something(referee: Any, _house: Any) -> None:
    referee._facts.has_begun = True


LEAVER = f"""{PYTHON} -c "
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(b'<protocol><join/>')
s.recv(1)
s.close()
sys.exit(3)" {{host}} {{port}}"""


@pytest.mark.slow
async def test_who_takes_its_seat_and_ends_before_the_game_has_lost_by_that(tmp_path: Path) -> None:
    waiting = shell("trap : TERM; sleep 500 & wait")
    record = await play(tmp_path, LEAVER, waiting)
    assert (record.verdict, record.offender, record.winner) == (Verdict.CRASH, 0, 1)
    assert record.reason == "ended with exit code 3"
    assert record.exit_codes == (3, None)


@pytest.mark.slow
async def test_another_edition_can_be_played(tmp_path: Path) -> None:
    setup = setup_of(
        "builtin:first", "builtin:illegal", game_type="swc_2021_blokus", edition="blokus-2021-r1", run_id=str(tmp_path)
    )
    record = await play_game(setup, setup.plan()[0], tmp_path)
    assert (record.verdict, record.offender) == (Verdict.ILLEGAL_MOVE, 1)
