"""`spielleiter play --strategy gtp`: whole games over TCP with a real engine's process, and wrong engines."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.server.editions import EDITIONS
from tests.cli.background import background_server, run
from tests.interpreter import PYTHON
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests/client/blokus_engine.py"
ENGINE = f"{PYTHON} {shlex.quote(str(PROGRAM))}"
PATIENT = ("--engine-timeout", str(HANG_TIMEOUT))
PENTOBI = "pentobi-gtp"
BLOKUS = [name for name, edition in EDITIONS.items() if "blokus" in edition.game.name]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("room ", "waiting ", "the game begins"))]


@pytest.fixture(autouse=True)
def _imports_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))


@pytest.mark.parametrize("edition", BLOKUS)
def test_a_whole_game_is_played(edition: str) -> None:
    with background_server(editions={EDITIONS[edition].game_type: edition}) as server:
        server.add_player("random", edition=edition)
        result = server.run("play", "-s", "gtp", "--engine", ENGINE, *PATIENT, "--json", "--edition", edition)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["end"], report["cause"], report["errors"]) == ("result", "REGULAR", [])
    note, summary = _lines(result.stderr)
    prescribed = "the contest prescribes the first piece of each colour, which GTP cannot express"
    assert note == f"not the engine's move: {prescribed}"
    moves = report["movesPlayed"]
    assert summary == (
        f"Test engine 1.0 chose {moves - 2} of {moves} moves, the strategy greedy 2: 2 because {prescribed}"
    )


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("die", "the engine cannot be used any more (it ended with exit code 3 (out of memory))"),
        ("endless", "the engine cannot be used any more (it wrote more than"),
        ("refuse", "the engine refused a command (it refused reg_genmove: no search tree)"),
        ("unreadable", "the engine's answer is not a move (not a list of cells: 'q16 or so')"),
        ("resign", "the engine passed or resigned, but the game goes on (resign)"),
    ],
)
def test_a_failing_engine_does_not_lose_the_game(fault: str, said: str) -> None:
    with background_server() as server:
        server.add_player("random")
        engine = f"{ENGINE} --fault {fault} --at 3"
        result = server.run("play", "-s", "gtp", "--engine", engine, *PATIENT, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["cause"] == "REGULAR"
    lines = _lines(result.stderr)
    assert sum(f"not the engine's move: {said}" in line for line in lines) == 1
    assert lines[-1].startswith("Test engine 1.0 chose 2 of ")


def test_an_engine_that_hangs_does_not_lose_the_game() -> None:
    with background_server() as server:
        server.add_player("random")
        result = server.run(
            "play", "-s", "gtp", "--engine", f"{ENGINE} --fault hang --at 3", "--engine-timeout", "1", "--json"
        )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["cause"] == "REGULAR"
    assert "not the engine's move: the engine did not answer in time (limit: 1 s)" in result.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("-s", "gtp"), 'the strategy gtp needs --engine, such as --engine "pentobi-gtp --game classic_2"'),
        (("--engine", "x"), "the strategy greedy has no engine; add --strategy gtp"),
        (("--engine-timeout", "1"), "the strategy greedy has no engine; add --strategy gtp"),
        (("-s", "gtp", "--engine", "no-such-engine -x"), "there is no command no-such-engine on the PATH"),
        (("-s", "gtp", "--engine", ""), "expected a command line"),
        (("-s", "gtp", "--engine", "'"), "no closing quotation"),
        (("-s", "gtp", "--engine", "builtin:greedy"), "a built-in strategy is no engine; choose it with --strategy"),
        (("-s", "gtp", "--engine", f"{ENGINE} --is-not-gtp"), "it ended with exit code 1 (usage: chess)"),
        (("-s", "gtp", "--engine", f"{ENGINE} --without play"), "it does not know the command play"),
        (("-s", "gtp", "--engine", ENGINE, "--game", "swc_2018_hase_und_igel"), "gtp does not play swc_2018"),
    ],
)
def test_an_engine_that_cannot_be_used_is_misuse_and_takes_no_seat(options: tuple[str, ...], text: str) -> None:
    result = run("play", *options, "--port", "1")  # where no server listens
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert text in line
    assert result.stdout == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that interrupts another process")
def test_the_engine_ends_with_an_interrupted_player(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    starter = tmp_path / "engine.py"
    starter.write_text(
        "import os, runpy, sys\n"
        f"open({str(noted)!r}, 'w').write(str(os.getpid()))\n"
        f"sys.argv = [{str(PROGRAM)!r}]\n"
        f"runpy.run_path({str(PROGRAM)!r}, run_name='__main__')\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "spielleiter", "play", "-s", "gtp"]
    with background_server() as server:
        player = subprocess.Popen(
            [*command, "--engine", f"{PYTHON} {shlex.quote(str(starter))}", "--port", str(server.port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert player.stderr is not None
        for line in player.stderr:
            if line.startswith("room "):
                break
        player.send_signal(signal.SIGINT)
        player.communicate(timeout=HANG_TIMEOUT)
    assert player.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text("utf-8")), 0)


@pytest.mark.skipif(shutil.which(PENTOBI) is None, reason="pentobi-gtp is not on the PATH (docs/players.md builds it)")
@pytest.mark.parametrize("edition", ["blokus-2021-r3", "blokus-2027"])
def test_pentobi_plays_whole_games(edition: str) -> None:
    with background_server(editions={EDITIONS[edition].game_type: edition}) as server:
        server.add_player("random", edition=edition)  # which starts where no symmetry fits
        engine = f"{PENTOBI} --quiet --nobook --level 1 --seed 1"
        result = server.run("play", "-s", "gtp", "--engine", engine, *PATIENT, "--json", "--edition", edition)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["cause"] == "REGULAR"
    moves = json.loads(result.stdout)["movesPlayed"]
    assert f"chose {moves - 2} of {moves} moves" in result.stderr
