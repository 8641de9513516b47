"""How games and their programs end."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from spielleiter.match.records.game_record import Verdict
from spielleiter.match.setup import Entrant
from tests.interpreter import PYTHON
from tests.match.players import LIGHT
from tests.match.refereed import ENDLESS, REST, play, shell
from tests.patience import with_longer_limits

pytestmark = pytest.mark.usefixtures("players")


@pytest.mark.slow
async def test_leftovers_and_those_who_stay_are_named(tmp_path: Path) -> None:
    first = shell(f'sleep 500 & exec {LIGHT} first "$@"')
    second = shell(f'{LIGHT} first "$@"; exec sleep 500')

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, first, second, timeouts=dataclasses.replace(ENDLESS, exit=limit))
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
    lasting = shell(f'{LIGHT} first "$@"; exec sleep 500')
    other = lasting if patience == 0 else f"{LIGHT} first"

    async def attempt(limit: float) -> None:
        record = await play(tmp_path, lasting, other, timeouts=dataclasses.replace(ENDLESS, exit=limit))
        assert (record.verdict, record.reason, record.is_counted) == (verdict, reason.format(limit=limit), True)
        assert record.offender == (None if verdict == Verdict.REGULAR else 0)
        assert record.points != (None, None)

    await with_longer_limits(attempt, patience)


@pytest.mark.slow
@pytest.mark.parametrize("can_timeout", [True, False])
async def test_a_game_without_limits_ends_with_its_time(can_timeout: bool, tmp_path: Path) -> None:
    silent = Entrant("new", f"{LIGHT} silent", can_timeout=can_timeout)
    record = await play(
        tmp_path,
        REST,
        REST,
        entrants=(silent, Entrant("old", f"{LIGHT} first")),
        timeouts=dataclasses.replace(ENDLESS, game=1),
    )
    assert (record.verdict, record.offender, record.winner) == (Verdict.HANGS, 0, 1)
    assert record.reason == "it was on turn when the time for the game was over"


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
