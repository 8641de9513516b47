"""Tests for games whose programs run on helpers' PCs: a real gate, real PCs in this process, real games."""

from __future__ import annotations

import shlex
import signal
import sys
from pathlib import Path

import psutil
import pytest
import trio

from spielleiter.league.gate_client import PairLostError
from spielleiter.league.remote_seat import EXIT_LOST
from spielleiter.match.verdict import Verdict
from spielleiter.programs.sandbox.containers import ENGINES
from spielleiter.programs.sandbox.pythons import python_inside
from spielleiter.programs.sandbox.sandbox import BUBBLEWRAP, NONE
from tests.contest.packages import Planted
from tests.league.remote_league import Cable, RemoteLeague, open_remote_league, play_pair
from tests.programs.sandbox.sandboxes import KINDS, make_sandbox

pytestmark = pytest.mark.slow  # real processes and games


def sound_in(kind: str, end: str = "") -> Planted:
    """A sound program for this sandbox; the image of a container has no Python, so it uses that of spielleiter."""
    if kind not in ENGINES:
        return Planted(end=end)
    inside = python_inside()
    assert inside is not None
    words = inside.command[: inside.command.index("-I")]
    return Planted(end=end, script=f'exec {shlex.join(words)} -IS player.py "$@"')


@pytest.mark.parametrize("kind", KINDS)
async def test_both_programs_of_a_pair_run_on_a_pc(tmp_path: Path, kind: str) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper(make_sandbox(kind), may_run_unconfined=kind == NONE)
        first, second = league.program("first", sound_in(kind)), league.program("second", sound_in(kind, "sys.exit(3)"))
        [helper] = league.gate.helpers()
        assert helper.free == 1
        assert league.gate.run_problem(helper.id, first) == ""
        async with league.gate.lease(helper.id, [first, second]) as lease:
            assert league.gate.helpers()[0].free == 0
            records = await play_pair(lease, tmp_path)
        assert league.gate.helpers()[0].free == 2
    assert [each.verdict for each in records] == ["regular", "regular"], records
    assert [each.exit_codes for each in records] == [(0, 3), (0, 3)]
    assert all(each.plies > 4 for each in records)


HANGING = Planted(move="time.sleep(500)")


async def test_a_program_that_is_played_here_meets_one_that_runs_on_a_pc(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        async with league.gate.lease(1, [None, league.program("bot")]) as lease:
            records = await play_pair(lease, tmp_path, games=1)
    assert [each.verdict for each in records] == [Verdict.REGULAR], records


@pytest.mark.parametrize(
    "script",
    [
        'set -e; /nowhere/java -jar bot.jar "$@"',
        "printf '/nowhere/java: not found' >&2; sleep 0.2; echo >&2; exit 127",  # some shells write a line in pieces
    ],
)
async def test_a_program_that_lacks_something_on_a_pc_loses_nothing(tmp_path: Path, script: str) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        lacking = league.program("bot", Planted(script=script))
        with pytest.raises(PairLostError, match="/nowhere/java"):
            async with league.gate.lease(1, [lacking, None]) as lease:
                await play_pair(lease, tmp_path, games=1)
        assert league.gate.run_problem(1, lacking) == "it could not start this program"
        assert league.gate.helpers()[0].problem == ""


async def test_what_a_program_writes_and_how_it_ends_is_its_own(tmp_path: Path) -> None:
    crashing = Planted(
        start="print('to the output', flush=True)",
        move=f"if moves > 3: print('I am lost', file=sys.stderr); os._exit({EXIT_LOST})",
    )
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        async with league.gate.lease(1, [league.program("bot", crashing), None]) as lease:
            [record] = await play_pair(lease, tmp_path, games=1)
    assert record.verdict == Verdict.CRASH
    assert record.offender == 0
    assert "I am lost" in record.reason
    folder = tmp_path / record.folder
    assert "I am lost" in (folder / "program1.stderr.log").read_text()
    assert "to the output" in (folder / "program1.stdout.log").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
async def test_a_program_that_a_signal_ends_is_ended_by_it_here_too(tmp_path: Path) -> None:
    killed = Planted(move="os.kill(os.getpid(), 11)")
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        async with league.gate.lease(1, [league.program("bot", killed), None]) as lease:
            [record] = await play_pair(lease, tmp_path, games=1)
    assert record.exit_codes[0] == -signal.SIGSEGV
    assert record.verdict == Verdict.CRASH


HOSTILE = {
    "connects without end": "for _ in range(200): socket.create_connection((options['host'], int(options['port'])))",
    "keeps many connections": "kept = []\n"
    "for _ in range(200): kept.append(socket.create_connection((options['host'], int(options['port']))))",
    "writes without end": "for _ in range(400): os.write(2, b'x' * 100_000)",
    "sends garbage": "socket.create_connection((options['host'], int(options['port']))).sendall(b'\\xff' * 1_000_000)",
}


@pytest.mark.parametrize("attack", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_program_cannot_make_its_game_void(tmp_path: Path, attack: str) -> None:
    ending = Planted(start=attack, move="sys.exit('I give up')")
    async with open_remote_league(tmp_path) as league:
        await league.start_helper(make_sandbox(BUBBLEWRAP))
        async with league.gate.lease(1, [league.program("bot", ending), None]) as lease:
            [record] = await play_pair(lease, tmp_path, games=1)
    assert record.offender == 0, record
    assert record.winner == 1


async def test_a_program_that_writes_much_and_ends_is_judged_over_a_slow_line_too(tmp_path: Path) -> None:
    ending = Planted(start="for _ in range(40): os.write(2, b'x' * 100_000)\nos._exit(3)")
    async with open_remote_league(tmp_path) as league:
        line = Cable(league.gate.port, pause=0.01)
        await league.nursery.start(line.run)
        league.port = line.port
        await league.start_helper()
        async with league.gate.lease(1, [league.program("bot", ending), None]) as lease:
            [record] = await play_pair(lease, tmp_path, games=1)
    assert record.offender == 0, record
    assert record.exit_codes[0] == 3


async def play_until_lost(league: RemoteLeague, folder: Path) -> str:
    """Begin a game in which both programs hang on a PC; return why it does not count."""
    hanging = league.program("hanging", HANGING)
    with pytest.raises(PairLostError) as caught:
        async with league.gate.lease(league.gate.helpers()[0].id, [hanging, hanging]) as lease:
            await play_pair(lease, folder)
    return str(caught.value)


async def test_a_pc_that_is_switched_off_loses_no_game_and_pauses(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        code = league.add_code()
        scope = await league.start_helper(code=code)
        reasons: list[str] = []

        async def play() -> None:
            reasons.append(await play_until_lost(league, tmp_path))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(play)
            await league.wait_until(lambda: league.running == 2)
            scope.cancel()
        assert "lost" in reasons[0]
        await league.wait_until(lambda: not league.gate.helpers())
        await league.start_helper(code=code)
        [helper] = league.gate.helpers()
        assert "pauses" in helper.problem
        assert helper.free == 0


async def test_a_gate_that_is_killed_loses_no_game_and_comes_back(tmp_path: Path) -> None:
    async with open_remote_league(tmp_path) as league:
        await league.start_helper()
        reasons: list[str] = []

        async def play() -> None:
            reasons.append(await play_until_lost(league, tmp_path))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(play)
            await league.wait_until(lambda: league.running == 2)
            [gate] = [each for each in psutil.Process().children() if "spielleiter.league.gate" in each.cmdline()]
            gate.kill()
        assert reasons == ["the gate was started again"]
        await league.wait_until(lambda: not league.gate.problem)
