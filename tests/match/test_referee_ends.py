"""How games and their programs end."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from spielleiter.match.plan import Entrant
from spielleiter.match.verdict import Verdict
from tests.interpreter import PYTHON
from tests.match.players import LIGHT
from tests.match.refereed import IDLE, NO_TIMEOUTS, play, shell
from tests.timeouts import retry_with_longer_limits

pytestmark = pytest.mark.usefixtures("players")


@pytest.mark.slow
async def test_leftovers_and_programs_that_had_to_be_ended_are_named(tmp_path: Path) -> None:
    first = shell(f'sleep 500 & exec {LIGHT} first "$@"')
    second = shell(f'{LIGHT} first "$@"; exec sleep 500')

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, first, second, timeouts=dataclasses.replace(NO_TIMEOUTS, exit=limit))
        assert (record.verdict, record.offender) == (Verdict.LEFTOVERS, 0)
        assert record.is_counted
        assert record.reason.startswith("1 process outlived it: sleep (")
        assert record.reason.endswith("; old had to be ended after the game")

    await retry_with_longer_limits(attempt, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patience", "verdict", "reason"),
    [
        (0.5, Verdict.NEVER_ENDS, "it still ran {limit:g} s after the end of the game"),
        (0, Verdict.REGULAR, "new had to be ended after the game; old had to be ended after the game"),
    ],
)
async def test_a_program_that_does_not_end_is_at_fault_if_it_had_time_to(
    patience: float, verdict: str, reason: str, tmp_path: Path
) -> None:
    lasting = shell(f'{LIGHT} first "$@"; exec sleep 500')
    other = lasting if patience == 0 else f"{LIGHT} first"

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, lasting, other, timeouts=dataclasses.replace(NO_TIMEOUTS, exit=limit))
        assert (record.verdict, record.reason, record.is_counted) == (verdict, reason.format(limit=limit), True)
        assert record.offender == (None if verdict == Verdict.REGULAR else 0)
        assert record.points != (None, None)

    await retry_with_longer_limits(attempt, patience)


@pytest.mark.slow
@pytest.mark.parametrize("can_timeout", [True, False])
async def test_a_game_without_time_limits_ends_when_its_own_time_is_over(can_timeout: bool, tmp_path: Path) -> None:
    silent = Entrant("new", f"{LIGHT} silent", can_timeout=can_timeout)
    record = await play(
        tmp_path,
        IDLE,
        IDLE,
        entrants=(silent, Entrant("old", f"{LIGHT} first")),
        timeouts=dataclasses.replace(NO_TIMEOUTS, game=1),
    )
    assert (record.verdict, record.offender, record.winner) == (Verdict.HANGS, 0, 1)
    assert record.reason == "it was on turn when the time for the game was over"


QUITTER = f"""{PYTHON} -c "
import socket, sys, traceback
s = socket.create_connection((sys.argv[2], int(sys.argv[4])))
s.sendall(b'<protocol><joinPrepared reservationCode=\\"%s\\"/>' % sys.argv[6].encode())
received = b''
while b'moveRequest' not in received: received = received[-99:] + (s.recv(9999) or sys.exit('no request'))
try: raise ValueError('no book')
except ValueError: traceback.print_exc()
s.sendall(b'</protocol>')
while s.recv(1000): pass
" """.strip()


@pytest.mark.slow
async def test_the_exception_of_a_program_that_gives_up_is_reported_although_its_exit_code_is_0(tmp_path: Path) -> None:
    record = await play(tmp_path, QUITTER, "builtin:first")
    assert (record.verdict, record.offender, record.winner) == (Verdict.DIES, 0, 1)
    assert record.reason == "ended with exit code 0; its last words: ValueError: no book"
