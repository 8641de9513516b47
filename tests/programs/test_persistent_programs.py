"""Programs that play several games are started once; those that cannot are started anew, without blame."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from spielleiter.match.game_folder import KeepPolicy
from spielleiter.match.match_server import open_match_server
from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.match.records import GameRecord
from spielleiter.match.referee import play_game
from spielleiter.match.verdict import Verdict
from spielleiter.programs.persistent_programs import PersistentPrograms, open_persistent_programs
from spielleiter.programs.platform_api import ProcessSpec
from spielleiter.programs.program import Program
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.interpreter import PYTHON
from tests.match.conftest import players, short_games
from tests.match.players import LIGHT
from tests.timeouts import HANG_TIMEOUT

__all__ = ["players", "short_games"]  # fixtures of these tests, too

VALUES = {"host": "127.0.0.1", "port": "4711", "reservation": "code", "seed": "7", "more": "not sent"}


class ShellProgram:
    """A shell script that runs as a program, and what it has written."""

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder
        self._script = script
        self.starts = 0

    def make(self, stdin: int) -> Program:
        self.starts += 1
        command = ["sh", "-c", self._script]
        return Program(command, f"{self.folder}/1/1", *self.files("first"), stdin=stdin)

    def files(self, name: str) -> tuple[Path, Path]:
        return self.folder / f"{name}.out", self.folder / f"{name}.err"

    def written(self, name: str) -> str:
        path = self.files(name)[0]
        return path.read_text() if path.exists() else ""

    async def wait_until_written(self, program: Program) -> bool:
        """Wait for output, which stands for a connection in these tests."""
        while not self.written("second") and not program.exited.is_set():  # noqa: ASYNC110 - writing to a file wakes no task
            await trio.sleep(0.005)
        return bool(self.written("second"))

    async def reuse(self, persistent_programs: PersistentPrograms) -> Program | None:
        def prepare(program: Program) -> None:
            program.redirect_outputs(*self.files("second"))

        return await persistent_programs.reuse(0, VALUES, prepare, self.wait_until_written)


async def test_a_program_receives_its_next_game_in_one_line(tmp_path: Path) -> None:
    script = ShellProgram(tmp_path, "while read line; do echo $line; done; exit 3")
    with trio.fail_after(HANG_TIMEOUT):
        async with open_persistent_programs(set(), HANG_TIMEOUT) as persistent_programs:
            program = await persistent_programs.start(0, script.make)
            assert persistent_programs.retain(0)
            await persistent_programs.end_game()
            assert await script.reuse(persistent_programs) is program
            assert persistent_programs.retain(0)
    assert script.written("second")[11:] == "127.0.0.1 4711 code 7\n"
    assert program.returncode == 3  # its input has ended, and it had time to end


@pytest.mark.parametrize(("line", "is_retained"), [("exit 0", True), ("while read line; do echo $line; done", False)])
async def test_a_program_that_has_ended_or_is_not_retained_is_started_anew_without_blame(
    line: str, is_retained: bool, tmp_path: Path
) -> None:
    script = ShellProgram(tmp_path, line)
    excluded: set[int] = set()
    with trio.fail_after(HANG_TIMEOUT):
        async with open_persistent_programs(excluded, HANG_TIMEOUT) as persistent_programs:
            program = await persistent_programs.start(0, script.make)
            if is_retained:
                await program.gone.wait()
                assert persistent_programs.retain(0)
            await persistent_programs.end_game()
            assert await script.reuse(persistent_programs) is None
            assert program.gone.is_set()
    assert not excluded


async def play_games(folder: Path, first: str, second: str, timeouts: ProgramTimeouts, games: int) -> list[GameRecord]:
    setup = MatchSetup(
        entrants=(Entrant("new", first), Entrant("old", second)),
        game_type=DEFAULT_GAME_TYPE,
        games=games,
        seed=1,
        run_id=str(folder),
        timeouts=timeouts,
        server_options={"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT},
    )
    with trio.fail_after(HANG_TIMEOUT):
        async with (
            open_match_server(setup) as match_server,
            open_persistent_programs(set(), timeouts.exit) as persistent_programs,
        ):
            return [
                await play_game(
                    setup,
                    planned,
                    folder,
                    match_server=match_server,
                    keep=KeepPolicy.NONE,
                    persistent_programs=persistent_programs,
                )
                for planned in setup.plan()
            ]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line of each process that was started."""
    if sys.platform != "linux":
        pytest.skip("only Linux has this")
    starts: list[str] = []
    start = PLATFORM.start

    async def record_start(spec: ProcessSpec) -> Any:
        starts.append(" ".join(spec.arguments))
        return await start(spec)

    monkeypatch.setattr(PLATFORM, "start", record_start)
    return starts


@pytest.mark.slow
@pytest.mark.usefixtures("players", "short_games")
async def test_a_persistent_player_plays_all_games_in_one_process_and_leaves_no_file_open(
    tmp_path: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each game has files of its own, whose folder may be removed after it. Windows could not remove an open file."""
    outputs: list[str] = []
    still_open: list[str] = []

    def note(folder: Path) -> None:
        outputs.append("".join(path.read_text() for path in folder.glob("program1.*")))
        for path in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # another thread has just closed it
                if (file := str(path.readlink())).startswith(str(folder)):
                    still_open.append(file)

    monkeypatch.setattr("spielleiter.match.referee.remove_game_folder", note)
    timeouts = ProgramTimeouts(HANG_TIMEOUT, HANG_TIMEOUT, HANG_TIMEOUT)
    staying = f"{PYTHON} -m spielleiter play -s first --stay"
    records = await play_games(tmp_path, staying, f"{LIGHT} first", timeouts, 2)
    assert [record.verdict for record in records] == [Verdict.REGULAR] * 2
    assert [record.plies for record in records] == [12, 12]
    # of the process that stays, only the start takes more than a clock tick for certain
    assert min(*records[0].cpu_seconds, records[1].cpu_seconds[1]) > 0
    assert len([line for line in started if "--stay" in line]) == 1
    assert len(started) == 3
    assert ["room " in output for output in outputs] == [True] * 2
    assert still_open == []


@pytest.mark.slow
@pytest.mark.usefixtures("players", "short_games")
async def test_a_program_that_hangs_after_a_game_is_started_anew_without_blame(
    tmp_path: Path, started: list[str]
) -> None:
    script = f'{LIGHT} first "$@"; exec sleep 1000'
    hanging = f"sh -c {shlex.quote(script)} bot"
    records = await play_games(tmp_path, hanging, "builtin:first", ProgramTimeouts(HANG_TIMEOUT, 0.5, HANG_TIMEOUT), 2)
    assert records[0].verdict == Verdict.REGULAR
    assert records[1].causes == ("REGULAR", "REGULAR")
    # from the second game on, it is treated as with --restart always
    assert records[1].verdict == Verdict.NEVER_ENDS
    assert len(started) == 2
