"""Programs that play several games in a row are not started anew; those that cannot are, and nobody is blamed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import trio

import spielleiter.match.programs.program
from spielleiter.match.games.match_server import open_match_server
from spielleiter.match.games.referee import play_game
from spielleiter.match.programs.kept_process import Start
from spielleiter.match.programs.processes import find_processes
from spielleiter.match.programs.program import Program
from spielleiter.match.programs.residents import Residents, open_residents
from spielleiter.match.records.game_record import GameRecord, Verdict
from spielleiter.match.setup import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.interpreter import PYTHON
from tests.patience import PATIENCE

PLAYER = f"{PYTHON} -m spielleiter play -s first"
PLACES = {"host": "127.0.0.1", "port": "4711", "reservation": "code", "seed": "7", "more": "not told"}


class Echo:
    """A program of the shell, and what it has written."""

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder
        self.script = script
        self.starts = 0

    def make(self, stdin: int) -> Program:
        self.starts += 1
        command = ["sh", "-c", self.script]
        return Program(command, f"{self.folder}/1/1", *self.files("first"), stdin=stdin)

    def files(self, name: str) -> tuple[Path, Path]:
        return self.folder / f"{name}.out", self.folder / f"{name}.err"

    def written(self, name: str) -> str:
        path = self.files(name)[0]
        return path.read_text() if path.exists() else ""

    async def until_written(self, program: Program) -> bool:
        """Stands for "has connected"."""
        while not self.written("second") and not program.exited.is_set():  # noqa: ASYNC110 - a file wakes nobody
            await trio.sleep(0.005)
        return bool(self.written("second"))

    async def invite(self, residents: Residents) -> Program | None:
        def prepare(program: Program) -> None:
            program.turn_outputs(*self.files("second"))

        return await residents.invite(0, PLACES, prepare, self.until_written)


async def test_a_program_is_told_of_its_next_game_in_one_line(tmp_path: Path) -> None:
    echo = Echo(tmp_path, "while read line; do echo $line; done; exit 3")
    with trio.fail_after(PATIENCE):
        async with open_residents(set(), PATIENCE) as residents:
            program = await residents.start(0, echo.make)
            assert residents.keep(0)
            await residents.end_game()
            assert await echo.invite(residents) is program
            assert residents.keep(0)
    assert echo.written("second")[11:] == "127.0.0.1 4711 code 7\n"
    assert program.returncode == 3  # its input had ended, and it was given time


async def test_a_program_that_has_ended_is_started_anew_and_may_be_kept_again(tmp_path: Path) -> None:
    echo = Echo(tmp_path, "exit 0")
    unable: set[int] = set()
    with trio.fail_after(PATIENCE):
        async with open_residents(unable, PATIENCE) as residents:
            program = await residents.start(0, echo.make)
            await program.gone.wait()
            assert residents.keep(0)
            assert await echo.invite(residents) is None
            assert not unable


async def test_a_program_that_does_not_come_is_ended_and_not_asked_again(tmp_path: Path) -> None:
    echo = Echo(tmp_path, "sleep 1000")
    unable: set[int] = set()
    with trio.fail_after(PATIENCE):
        async with open_residents(unable, 0.05) as residents:
            program = await residents.start(0, echo.make)
            assert residents.keep(0)
            assert await echo.invite(residents) is None
            assert program.gone.is_set()
            assert unable == {0}
            await residents.start(0, echo.make)
            assert not residents.keep(0)
            await residents.end_game()
    assert not find_processes(str(tmp_path))


async def test_a_program_that_is_not_to_stay_ends_with_its_game(tmp_path: Path) -> None:
    echo = Echo(tmp_path, "while read line; do echo $line; done")
    with trio.fail_after(PATIENCE):
        async with open_residents(set(), PATIENCE) as residents:
            program = await residents.start(0, echo.make)
            await residents.end_game()
            assert program.gone.is_set()
            assert await echo.invite(residents) is None


async def play_three(folder: Path, first: str, second: str, patience: ProgramTimeouts) -> list[GameRecord]:
    setup = MatchSetup(
        entrants=(Entrant("new", first), Entrant("old", second)),
        game_type=DEFAULT_GAME_TYPE,
        games=3,
        seed=1,
        run_id=str(folder),
        timeouts=patience,
        server_options={"soft_timeout": PATIENCE, "hard_timeout": PATIENCE},
    )
    with trio.fail_after(PATIENCE):
        async with open_match_server(setup) as match_server, open_residents(set(), patience.exit) as residents:
            return [
                await play_game(setup, planned, folder, match_server=match_server, residents=residents)
                for planned in setup.plan()
            ]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs' first arguments after the module, one for each start of a process."""
    starts: list[str] = []
    begin = spielleiter.match.programs.program.start_process

    def note(start: Start) -> Any:
        starts.append(" ".join(start.arguments))
        return begin(start)

    monkeypatch.setattr(spielleiter.match.programs.program, "start_process", note)
    return starts


@pytest.mark.slow
async def test_a_player_that_stays_plays_all_games_in_one_process(tmp_path: Path, started: list[str]) -> None:
    records = await play_three(tmp_path, f"{PLAYER} --stay", PLAYER, ProgramTimeouts(PATIENCE, PATIENCE, PATIENCE))
    assert [record.verdict for record in records] == [Verdict.REGULAR] * 3
    assert all(record.plies > 20 and min(record.cpu_seconds) > 0 for record in records)
    assert len([line for line in started if "--stay" in line]) == 1
    assert len(started) == 4
    for record in records:
        words = (tmp_path / record.folder / "program1.stdout.log").read_text()
        assert words.count("as player") <= 1  # each game has its own outputs
    assert "room " in (tmp_path / records[2].folder / "program1.stderr.log").read_text()


@pytest.mark.slow
async def test_who_hangs_after_a_game_is_started_anew_without_blame(tmp_path: Path, started: list[str]) -> None:
    script = f'{PLAYER} "$@"; exec sleep 1000'
    hanging = f"sh -c {shlex.quote(script)} bot"
    records = await play_three(tmp_path, hanging, "builtin:first", ProgramTimeouts(PATIENCE, 0.5, PATIENCE))
    assert records[0].verdict == Verdict.REGULAR
    assert records[1].causes == records[2].causes == ("REGULAR", "REGULAR")
    # from the second game on it is treated as with --restart always
    assert {record.verdict for record in records[1:]} == {Verdict.NEVER_ENDS}
    assert len(started) == 3
