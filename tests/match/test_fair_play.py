"""The attacks of docs/fair-play.md, tried by real programs: none of them gives a program an advantage."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spielleiter.match.plan import Entrant
from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import Attempt, Verdict
from spielleiter.programs.linux_processes import still_running
from spielleiter.programs.outputs import OUTPUT_LIMIT
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.interpreter import PYTHON
from tests.match.bots.ports import ports_of
from tests.match.players import LIGHT, PORT_FILE
from tests.match.refereed import play, write_late_replay
from tests.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("players")]

OPTIONS = "--game {game} -h {host} -p {port} -r {reservation}"
PROJECT = Path(__file__).parents[2]
EARLIER_GAME = "swc_2021_blokus"
HONEST = f"{LIGHT} greedy {OPTIONS}"
WAYS = [
    "visibly",
    "by-mapped-address",
    "hidden",
    "in-flight",
    "from-name-spaces",
    "while-moving",
    "while-passing",
    "in-thread",
    "in-memory",
    "by-asynchronous-request",
]
"""How the attacker connects to the opponent's port (`WAYS` in attacker.py)."""


def attacker(attack: str, options: str = "") -> str:
    """Return the command line of a program that tries `attack`."""
    module = f"{PYTHON} -P -m tests.match.bots.attacker {attack} --players {shlex.quote(str(PORT_FILE))}"
    return f"env PYTHONPATH={shlex.quote(str(PROJECT))} {module} {options} {OPTIONS}"


def honest_after(mark: Path) -> str:
    """Return the command line of a program that takes its seat when the file `mark` exists."""
    return f"{LIGHT} greedy --after {shlex.quote(str(mark))} {OPTIONS}"


def hidden_after(mark: Path) -> str:
    """Return the command line of such a program that hides its open files before."""
    return attacker("honest-hidden", f"--after {shlex.quote(str(mark))}")


async def play_against_attack(
    folder: Path,
    attack: str,
    game_type: str = DEFAULT_GAME_TYPE,
    honest: str | Callable[[Path], str] = honest_after,
    *,
    has_remarks: bool = False,
) -> GameRecord:
    """Play a game in which program 0 tries `attack`; assert that program 1 is not blamed for anything.

    A function `honest` gets the file that exists as soon as the attack has reached the server, and returns a command.
    With `has_remarks`, a connection of program 0 that is taken for one of program 1 may be in the remarks.
    """
    mark = folder / "attacked"
    command = honest if isinstance(honest, str) else honest(mark)
    players = Entrant("attacker", attacker(attack, f"--mark {shlex.quote(str(mark))}")), Entrant("honest", command)
    record = await play(folder, *players, game_type=game_type)
    assert isinstance(honest, str) or mark.exists()
    assert record.offender != 1
    assert has_remarks or record.remarks[1] == ()
    return record


@pytest.mark.parametrize("attack", ["cancel", "pause", "observe"])
async def test_no_program_can_become_an_administrator(attack: str, tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, attack, honest=HONEST)
    # this edition only refuses the request, so the game continues
    assert (record.verdict, record.winner) == (Verdict.REGULAR, 1)
    assert record.attempts[0][Attempt.ADMINISTRATE] > 0
    assert record.attempts[1] == {}


@pytest.mark.parametrize("attack", ["cancel", "undeclared-prefix"])
async def test_a_forbidden_request_loses_the_game_in_editions_that_end_the_connection(
    attack: str, tmp_path: Path
) -> None:
    record = await play_against_attack(tmp_path, attack, EARLIER_GAME, honest=HONEST)
    assert (record.verdict, record.offender, record.winner) == (Verdict.BAD_MESSAGE, 0, 1)
    assert record.is_counted


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells apart the processes of one user")
@pytest.mark.parametrize("game_type", [DEFAULT_GAME_TYPE, EARLIER_GAME])
def test_what_a_program_tries_is_told_everywhere_in_plain_words(game_type: str, tmp_path: Path) -> None:
    """In the earlier season it even loses the game, and the reason is told in plain words as well."""
    book = str(write_late_replay(tmp_path, game_type))
    words = [sys.executable, "-m", "spielleiter", "match", "-n", "1", "--game", game_type, "--book", book]
    words += ["--player1", attacker("everything"), "--name1", "attacker", "--player2", HONEST, "--name2", "honest"]
    words += ["--out", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=HANG_TIMEOUT)
    told = {
        name: (tmp_path / "out" / name).read_text()
        for name in ("report.html", "summary.md", "summary.json", "junit.xml")
    }
    for name, text in {**told, "terminal": done.stdout}.items():
        for attempt in (Attempt.ADMINISTRATE, Attempt.SEAT):
            assert attempt in text, (name, text)
        # the earlier season ends the game at once, maybe before the connection's owner is found
        assert Attempt.PORT in text or game_type == EARLIER_GAME, (name, text)
    everything = "".join((*told.values(), done.stdout, (tmp_path / "out" / "games.jsonl").read_text()))
    assert re.search(r"\bsc\.|Exception|Request\(", everything) is None
    game = json.loads((tmp_path / "out" / "games.jsonl").read_text())
    assert (game["offender"], game["is_counted"]) == (0 if game_type == EARLIER_GAME else None, True)
    assert game["attempts"][1] == {}


async def test_no_program_can_take_its_opponents_seat(tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, "steal")
    assert (record.verdict, record.winner) == (Verdict.REGULAR, 1)
    assert set(record.attempts[0]) & {Attempt.SEAT, Attempt.PORT}
    assert record.think_times[1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lists the sockets of a process")
def test_the_attacks_of_these_tests_spare_other_servers_of_this_machine() -> None:
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); input()"
    with (
        socket.create_server(("127.0.0.1", 0)) as own,
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other,
    ):
        assert other.stdout
        foreign = int(other.stdout.readline())
        found = list(ports_of([os.getpid()]))
        other.communicate("\n")
        assert own.getsockname()[1] in found
        assert foreign not in found


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells apart the processes of one user")
@pytest.mark.parametrize("attack", [*(f"join-{way}" for way in WAYS), "flood-elsewhere"])
async def test_no_program_can_take_its_opponents_seat_by_a_plain_join(attack: str, tmp_path: Path) -> None:
    """Run as root, the match sees what the program hides; as another user, it does not."""
    record = await play_against_attack(tmp_path, attack)
    assert record.offender in {None, 0}
    assert record.think_times[1]
    assert record.is_counted


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells apart the processes of one user")
@pytest.mark.parametrize(
    "attack",
    ["join-hidden", "join-in-flight", "join-from-name-spaces", "join-by-asynchronous-request", "flood-elsewhere"],
)
async def test_nobody_loses_for_a_connection_of_the_opponent_although_he_hides_his_own(
    attack: str, tmp_path: Path
) -> None:
    record = await play_against_attack(tmp_path, attack, honest=hidden_after, has_remarks=True)
    assert record.offender in {None, 0}
    assert record.think_times[1] or not record.is_counted


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells apart the processes of one user")
@pytest.mark.parametrize("attack", ["close-elsewhere", "flood-visibly"])
async def test_an_opponent_that_hides_nothing_cannot_take_or_block_a_seat(attack: str, tmp_path: Path) -> None:
    """Run as root, the match sees what the honest program hides; as another user, it does not."""
    record = await play_against_attack(tmp_path, attack, honest=hidden_after)
    assert record.offender in {None, 0}
    assert record.is_counted
    assert record.think_times[1]
    assert record.foreign_connections or record.attempts[0]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hides the open files of a process")
@pytest.mark.parametrize(
    "honest", [honest_after, hidden_after, lambda _: attacker("nothing")], ids=["visible", "hidden", "other"]
)
async def test_honest_programs_may_hide_their_open_files(honest: Callable[[Path], str], tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, "honest-hidden", honest=honest)
    assert (record.verdict, record.is_counted) == (Verdict.REGULAR, True)
    assert record.attempts == ({}, {})
    assert record.remarks == ((), ())


async def test_endless_connections_affect_only_the_program_that_opens_them(tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, "sockets", honest=HONEST)
    assert record.offender in {None, 0}
    assert record.winner in {None, 1}
    assert any("connections at a time" in remark for remark in record.remarks[0])


def error_output(folder: Path) -> bytes:
    """What is kept of program 0's standard error."""
    return next(folder.rglob("program1.stderr.log")).read_bytes()


def hidden(folder: Path) -> int:
    """The process that program 0 says it has hidden."""
    return int(error_output(folder).decode().split("hidden ")[1].split()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
@pytest.mark.parametrize("attack", ["hide", "frame"])
async def test_no_process_can_outlive_its_game(attack: str, tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, attack)
    assert (record.verdict, record.offender) == (Verdict.LEFTOVERS, 0)
    pid = hidden(tmp_path)
    assert f"sleep ({pid})" in record.reason
    assert still_running([pid]) == ()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
@pytest.mark.parametrize("attack", ["kill-parent", "garble-reports"])
async def test_a_program_that_attacks_its_supervisor_loses(attack: str, tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, attack, honest=HONEST)
    assert record.offender == 0
    assert not record.is_counted or record.winner == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
async def test_a_program_that_keeps_stopping_its_supervisor_loses(tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, "stop-parent-for-ever", honest=HONEST)
    assert (record.verdict, record.offender, record.winner) == (Verdict.TAMPERS, 0, 1)
    assert record.is_counted
    assert "stopped the process that watches over it" in record.reason
    assert record.remarks[0] == ("stopped the process that watches over it",)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
async def test_a_supervisor_that_was_stopped_once_is_resumed(tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, "stop-parent", honest=HONEST)
    assert (record.verdict, record.winner) == (Verdict.REGULAR, 1)
    assert record.remarks[0] == ("stopped the process that watches over it",)


async def test_no_program_can_guess_a_code(tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, "guess", honest=HONEST)
    assert record.attempts == ({Attempt.SEAT: 3}, {})
    assert record.is_counted
    assert record.winner == 1
    assert record.think_times[1]


async def test_a_flood_affects_only_its_sender(tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, "flood", honest=HONEST)
    assert (record.verdict, record.offender, record.winner) == (Verdict.BAD_MESSAGE, 0, 1)
    assert record.is_counted


async def test_the_endless_output_of_a_program_is_cut(tmp_path: Path) -> None:
    record = await play_against_attack(tmp_path, "noise", honest=HONEST)
    assert (record.verdict, record.winner) == (Verdict.REGULAR, 1)
    output = error_output(tmp_path)
    assert OUTPUT_LIMIT <= len(output) < OUTPUT_LIMIT + 200_000
    assert output.endswith(b"(the rest was not kept)\n")
