"""Programs that never begin a game, or that take their seats in another way than by joinPrepared."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path

import pytest

from spielleiter.match.plan import ProgramTimeouts
from spielleiter.match.verdict import FAILED_AS_WELL, Verdict
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.interpreter import PYTHON
from tests.match.players import LIGHT
from tests.match.refereed import IDLE, NO_TIMEOUTS, play, shell
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits

pytestmark = pytest.mark.usefixtures("players")

JAVA = 'Exception in thread "main" java.lang.Error: no book\\n\\tat Bot.main(Bot.java:5)\\n'


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
    record = await play(tmp_path, f"{LIGHT} first", command)
    is_lost = not command.startswith("/nowhere")  # otherwise this machine could not start it
    assert (record.verdict, record.offender, record.reason) == (verdict, 1, reason)
    assert (record.winner, record.is_counted) == (0 if is_lost else None, is_lost)
    assert (record.points, record.causes, record.plies, record.replay) == ((None, None), ("", ""), 0, None)


async def test_nobody_wins_if_neither_program_starts(tmp_path: Path) -> None:
    record = await play(tmp_path, "/nowhere/bot", "/nowhere/too")
    assert (record.verdict, record.offender, record.winner, record.is_counted) == (Verdict.NO_START, 0, None, False)
    assert "old fails, too: does not start, /nowhere/too: there is no such program" in record.reason


BAD_STARTER = f"""{PYTHON} -c "
import socket, sys
s = socket.create_connection((sys.argv[2], int(sys.argv[4])))
s.sendall(SENT)
while s.recv(1000): pass
s.close()
THEN" """.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sent", "then", "verdict", "reason"),
    [
        ("b'GET / HTTP/1.1'", "", Verdict.NONSENSE, "The stream has to begin with <protocol>"),
        (
            "b'<protocol>hello'",
            "",
            Verdict.NONSENSE,
            "it sent something that is not a message: <protocol>hello",
        ),
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
    sent: str, then: str, verdict: str, reason: str, tmp_path: Path
) -> None:
    command = BAD_STARTER.replace("SENT", sent).replace("THEN", then)

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, command, "builtin:first", timeouts=dataclasses.replace(NO_TIMEOUTS, start=limit))
        assert (record.verdict, record.offender, record.winner) == (verdict, 0, 1)
        assert record.is_counted
        assert record.reason.startswith(reason)

    await retry_with_longer_limits(attempt, 2)


@pytest.mark.slow
async def test_waiting_for_a_program_to_connect_has_a_time_limit(tmp_path: Path) -> None:
    command = shell("trap : TERM INT HUP; setsid sleep 500 & sleep 500 & wait; sleep 500")

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, "builtin:first", command, timeouts=dataclasses.replace(NO_TIMEOUTS, start=limit))
        reason = "it did not connect to the host and port that it was given (-h, -p)"
        assert (record.verdict, record.offender, record.reason) == (Verdict.NEVER_JOINS, 1, reason)

    await retry_with_longer_limits(attempt, 2)


@pytest.mark.slow
async def test_if_neither_program_can_play_the_faults_of_both_are_recorded(tmp_path: Path) -> None:
    record = await play(tmp_path, shell("exit 3"), shell("exit 0"))
    assert (record.verdict, record.offender, record.is_counted) == (Verdict.NO_START, 0, False)
    assert record.remarks == ((), (f"{FAILED_AS_WELL}does not start, ended with exit code 0 and had not connected",))


@pytest.mark.slow
async def test_a_program_with_a_seat_is_not_blamed_for_a_missing_opponent(tmp_path: Path) -> None:
    record = await play(tmp_path, "builtin:first", IDLE)
    assert (record.verdict, record.offender, record.winner) == (Verdict.NO_START, 1, 0)
    assert record.reason.startswith("ended with exit code 1 and had not connected")
    assert record.is_counted


LEAVER = f"""{PYTHON} -c "
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(b'<protocol><join/>')
s.recv(1)
s.close()
sys.exit(3)" {{host}} {{port}}"""


@pytest.mark.slow
async def test_a_program_that_takes_its_seat_and_ends_before_the_game_loses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spielleiter.match.referee._EXIT_TIMEOUT", HANG_TIMEOUT)
    waiting = shell("trap : TERM; sleep 500 & wait")
    record = await play(tmp_path, LEAVER, waiting)
    assert (record.verdict, record.offender, record.winner) == (Verdict.CRASH, 0, 1)
    assert record.reason == "ended with exit code 3"
    assert record.exit_codes == (3, None)


@pytest.mark.slow
async def test_a_plain_join_takes_the_programs_own_seat(tmp_path: Path) -> None:
    plain = f"{LIGHT} first -h {{host}} -p {{port}}"
    record = await play(tmp_path, plain, plain)
    assert (record.verdict, record.offender) == (Verdict.REGULAR, None)
    assert record.remarks == (("took its seat by a plain join; the contest wants joinPrepared",),) * 2


@pytest.mark.slow
async def test_a_program_for_another_season_is_told_at_once_what_is_played(tmp_path: Path) -> None:
    other = f"{LIGHT} first --edition hase-und-igel-2018 -h {{host}} -p {{port}}"
    record = await play(tmp_path, f"{LIGHT} first", other, timeouts=ProgramTimeouts(start=HANG_TIMEOUT))
    assert (record.verdict, record.offender, record.is_counted) == (Verdict.NEVER_JOINS, 1, True)
    assert f"{DEFAULT_GAME_TYPE} is played here, not swc_2018_hase_und_igel" in record.reason
    assert record.wall_seconds < HANG_TIMEOUT
