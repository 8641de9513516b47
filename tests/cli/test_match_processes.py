"""Matches with real processes, contest packages, several machines and systems that lack something."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spielleiter.cli.cli import cli
from spielleiter.match.records import load_setup, read_journal
from spielleiter.match.verdict import Verdict
from spielleiter.programs.platform_api import common_gaps
from spielleiter.programs.this_platform import PLATFORM
from tests.cli.background import background_server, run
from tests.cli.matches import ENDLESS, FILE, MATCH
from tests.match.players import LIGHT, listening_players
from tests.programs.packages.broken_packages import BROKEN
from tests.programs.packages.making import zipped
from tests.programs.packages.official_packages import python_package
from tests.timeouts import HANG_TIMEOUT

PLAYER = f"""#!/bin/sh
ls > files.txt
cat files.txt >&2
exec {LIGHT} hui-greedy --edition hase-und-igel-2018 "$@"
"""
GATE = f"""\
[ -e begun ] && until [ -e open ]; do sleep 0.05; done
touch begun
exec {LIGHT} hui-greedy --edition hase-und-igel-2018 "$@"
"""
"""A program whose second game, and each further one, begins when there is a file `open`."""
_LIBRARY = """\
import os, sys

def play():
    words = [sys.executable, "-P", "-m", "spielleiter", "play", "-s", "first", *sys.argv[1:]]
    os.environ.pop("PYTHONPATH")  # where this module is
    os.execv(sys.executable, words)
"""
FIRST_MATCH = ("match", "--player1", "builtin:first", "--player2", "builtin:random", "-n", "2", "--seed", "1")
SHORT_MATCH = (
    *("match", "--game", "swc_2018_hase_und_igel", "-n", "2"),
    *("--player1", "builtin:hui-greedy", "--player2", "builtin:hui-random"),
)
PLATFORM_GAPS = "Not possible on this operating system"
GAPS = common_gaps("<Minix>")
"""The sentences of a system whose name has to be escaped."""


@pytest.fixture(scope="module", autouse=True)
def _players() -> Iterator[None]:
    with listening_players():
        yield


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "spielleiter", *SHORT_MATCH, *ENDLESS, "--out", "out", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_game(process: subprocess.Popen[str]) -> None:
    """Wait until a line reports the end of the first game."""
    assert process.stderr
    output = []
    for line in process.stderr:
        if line.startswith("game "):
            return
        output.append(line)
    raise AssertionError(f"no game was played: {''.join(output)}")


def processes_of(folder: Path) -> list[str]:
    return [process.name for process in PLATFORM.find_tagged(f"{load_setup(folder)['run_id']}/")]


@pytest.mark.slow
def test_two_programs_play_as_processes(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(*SHORT_MATCH, *ENDLESS, "-n", "4", "-j", "2", "--seed", "3", "--out", str(out))
    assert done.exit_code == 0, done.stderr
    records = read_journal(out)
    assert [record.game for record in records] == [1, 2, 3, 4]
    assert {record.verdict for record in records} == {Verdict.REGULAR}
    if sys.platform == "linux":  # other systems have gaps
        assert PLATFORM_GAPS not in (out / "report.html").read_text("utf-8")
    for first, second in zip(records[::2], records[1::2], strict=True):
        assert (first.start, first.seed) == (second.start, second.seed)
        assert (first.seats, second.seats) == ((0, 1), (1, 0))
    assert processes_of(out) == []


@pytest.mark.slow
def test_two_programs_play_on_a_running_server(tmp_path: Path) -> None:
    options = (*ENDLESS[1:], "-n", "1", "--out", str(tmp_path / "out"))
    with background_server() as server:
        first = f"{LIGHT} hui-greedy --edition hase-und-igel-2018"
        done = run(*SHORT_MATCH, *options, "--player1", first, "--port", str(server.port))
    assert done.exit_code == 0, done.stderr
    assert {record.verdict for record in read_journal(tmp_path / "out")} == {Verdict.REGULAR}


@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [True, False])
def test_an_interrupted_match_is_resumed(is_killed: bool, tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    out = tmp_path / "out"
    (tmp_path / "gate.sh").write_text(GATE)
    games = 2 if is_killed else 4
    with start(tmp_path, "--player1", "sh gate.sh", "-n", str(games)) as process:
        wait_for_game(process)
        process.send_signal(signal.SIGKILL if is_killed else signal.SIGINT)
        if is_killed:
            process.wait(HANG_TIMEOUT)
        (tmp_path / "open").touch()  # without SIGKILL the running game goes on
        assert process.wait(HANG_TIMEOUT) == (-signal.SIGKILL if is_killed else 130)
    earlier = {record.game: record for record in read_journal(out)}
    assert list(earlier) == ([1] if is_killed else [1, 2])
    if not is_killed:
        assert processes_of(out) == []
    done = run("match", "--resume", str(out), "-j", "2")
    assert done.exit_code == 0, done.stderr
    records = {record.game: record for record in read_journal(out)}
    assert sorted(records) == list(range(1, games + 1))
    assert {number: records[number] for number in earlier} == earlier
    assert len((out / "games.jsonl").read_text().splitlines()) == games
    assert processes_of(out) == []


@pytest.mark.slow
def test_the_second_signal_ends_the_games_at_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start(tmp_path, "--player2", "builtin:silent", "-n", "6", "-j", "2") as process:
        deadline = time.monotonic() + HANG_TIMEOUT
        while len(list(out.glob("games/*/program2.stdout.log"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        assert any("finishing the running games" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        assert process.wait(HANG_TIMEOUT) == 130
    assert read_journal(out) == ()
    assert processes_of(out) == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "player.zip").write_bytes(zipped({"start.sh": PLAYER, "data/book.txt": "x"}))
    (tmp_path / "broken.zip").write_bytes(BROKEN["line ends of Windows"].content)
    return tmp_path


@pytest.mark.slow
def test_a_package_plays_a_match_and_resumes_it(folder: Path) -> None:
    done = run(*SHORT_MATCH, "--player1", "player.zip --seed 3", "--out", "out", *ENDLESS)
    assert done.exit_code == 0, done.stderr
    records = read_journal(folder / "out")
    assert [record.verdict for record in records] == ["regular", "regular"]
    setup = json.loads((folder / "out" / "match.json").read_text())
    assert (setup["entrants"][0]["name"], setup["entrants"][0]["command"]) == ("player", "player.zip --seed 3")
    assert not (folder / "files.txt").exists()
    (log,) = (folder / "out" / "games").glob("*2/program*.stderr.log")
    assert [line.split()[-1] for line in log.read_text().splitlines()[:3]] == ["data", "files.txt", "start.sh"]
    journal = folder / "out" / "games.jsonl"
    journal.write_text(journal.read_text().splitlines(keepends=True)[0])
    assert run("match", "--resume", "out").exit_code == 0
    assert [record.verdict for record in read_journal(folder / "out")] == ["regular", "regular"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot start a shell script by itself")
def test_a_package_of_the_official_builder_for_python_plays_as_it_comes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its script is in a folder, is started above it, and installs the wheels that are beside it."""
    tools = folder / "tools"
    tools.mkdir()
    for name, module in {"pip": "-m pip", "python3": ""}.items():
        (tools / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n')
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    source = "from socha.starter import play\n\nplay()\n"
    (folder / "built.zip").write_bytes(python_package(source, {"socha/starter.py": _LIBRARY}))
    programs = ("--player1", "built.zip", "--player2", "builtin:random", "-n", "2", "--out", "out")
    done = run("match", *programs, *ENDLESS)
    assert done.exit_code == 0, done.stderr
    assert [record.verdict for record in read_journal(folder / "out")] == ["regular", "regular"]


TOURNAMENT = '[[program]]\nname = "a"\ncommand = "broken.zip"\n[[program]]\nname = "b"\ncommand = "builtin:first"\n'
MATCH_FILE = '[[program]]\ncommand = "player.zip"\nmain = "star.sh"\n[[program]]\ncommand = "builtin:first"\n'


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        ((*MATCH, "--player1", "broken.zip"), 2, "broken.zip: start.sh has the line ends of Windows (CR LF), so Linux"),
        (("tournament", "tournament.toml"), 2, "broken.zip: start.sh has the line ends"),
        ((*MATCH, "--player1", "player.zip", "--main1", "data"), 2, "data is a folder"),
        (("match", "match.toml"), 2, "there is no file star.sh in the ZIP file (did you mean 'start.sh'?)"),
        (("lend", "player.zip"), 2, "a ZIP file cannot be started here; unpack it"),
        # the exit code 1 of `match` would mean that the first program is worse
        ((*MATCH, "--player1", "deep.zip"), 2, "has a path of more than 2048 bytes or 64 folders"),
        (("check", "deep.zip"), 3, "has a path of more than 2048 bytes or 64 folders"),
    ],
)
def test_a_package_that_cannot_be_started_is_a_sentence(
    words: tuple[str, ...], code: int, text: str, folder: Path
) -> None:
    (folder / "tournament.toml").write_text(TOURNAMENT)
    (folder / "match.toml").write_text(MATCH_FILE)
    (folder / "deep.zip").write_bytes(BROKEN["1,800 nested folders"].content)
    done = run(*words, *(("--out", "out") if words[0] != "lend" else ()))
    assert done.exit_code == code
    assert text in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert (folder / "out").exists() == (words[0] == "check")


def test_warnings_are_printed(folder: Path) -> None:
    (folder / "yellow.zip").write_bytes(BROKEN["unusual interpreter"].content)
    options = ("--player1", "yellow.zip", "--player2", "yellow.zip", "--out", "out")
    done = run("match", *options, "--require", "better", "-n", "2")
    assert done.exit_code == 2  # too few games for that, so that nothing is played
    assert done.stderr.count("yellow.zip: warning: main.jl names the interpreter julia") == 1


Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(cli, words)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--cluster", "pc01:8786"), "cluster 'pc01:8786': expected tcp://HOST:PORT"),
        (("--cluster", "tcp://10.0.0.7:8786"), "use tls:// (docs/cluster.md), or add --unencrypted"),
        (("--ship", "."), "--ship has no effect without --cluster"),
        (("--unencrypted",), "--unencrypted has no effect without --cluster"),
        (("--max-slowdown", "2"), "--max-slowdown has no effect without --cluster"),
        (("--max-slowdown", "0.5"), "'--max-slowdown'"),
        (("--cluster", "local:1", "--ship", "nothing"), "--ship nothing: there is no such file or folder"),
        (("--cluster", "local:1", "--server", "127.0.0.1:1"), "on a cluster each machine has a server of its own"),
    ],
)
def test_misuse_is_refused_before_anything_is_started(words: tuple[str, ...], text: str, invoke: Invoke) -> None:
    result = invoke(*FIRST_MATCH, *words)
    assert result.exit_code == 2
    assert text in result.stderr


def test_without_the_extra_one_line_says_what_to_install(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    Path("file.toml").write_text(TOURNAMENT.replace("broken.zip", "builtin:first"), encoding="utf-8")
    for words in (FIRST_MATCH, ("tournament", "file.toml")):
        result = invoke(*words, "--cluster", "tcp://127.0.0.1:1")
        assert result.exit_code == 2
        [line] = [each for each in result.stderr.splitlines() if "install" in each]
        assert "pip install 'spielleiter[cluster]'" in line
        assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_scheduler_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    patch = "import spielleiter.cluster.dask_engine as engine; engine.CONNECT_TIMEOUT = 0.5; "
    patch += "from spielleiter.cli.__main__ import main; main()"
    address = "tcp://127.0.0.1:1"
    command = [sys.executable, "-c", patch, *FIRST_MATCH, "--cluster", address, "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert done.stderr.startswith(f"spielleiter match: {address}: no Dask scheduler can be reached there")


@pytest.mark.slow
def test_a_tournament_keeps_its_workers_for_all_matches(tmp_path: Path) -> None:
    file = tmp_path / "file.toml"
    programs = [f'[[program]]\nname = "{name}"\ncommand = "builtin:first"\n' for name in "abc"]
    file.write_text("games = 2\n" + "".join(programs), encoding="utf-8")
    folder = tmp_path / "tournament"
    command = [sys.executable, "-m", "spielleiter", "tournament", str(file), "--cluster", "local:1"]
    done = subprocess.run([*command, "--out", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith("game ")] == []  # nothing of Dask
    journals = list(folder.rglob("games.jsonl"))
    assert len(journals) == 3
    machines = {json.loads(line)["machine"] for each in journals for line in each.read_text().splitlines()}
    assert len(machines) == 1
    assert machines != {""}
    assert "<caption>Machines</caption>" in (journals[0].parent / "report.html").read_text()


@pytest.fixture
def on_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLATFORM, "gaps", GAPS)


@pytest.mark.usefixtures("on_another_system", "games")
def test_a_match_names_the_gaps_of_its_platform_once(tmp_path: Path) -> None:
    done = run(*MATCH, "-n", "2", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0
    for gap in GAPS:
        assert done.stderr.count(gap) == 1
    texts = {name: (tmp_path / "out" / name).read_text("utf-8") for name in ("summary.md", "report.html")}
    assert all(PLATFORM_GAPS in text for text in texts.values())
    assert all("Minix" in text and "<Minix>" not in text for text in texts.values())
    assert json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))["platform_gaps"] == list(GAPS)


@pytest.mark.usefixtures("on_another_system", "faults")
def test_a_tournament_names_the_gaps_of_its_platform_once(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(FILE)
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(tmp_path / "out"))
    assert done.exit_code == 0
    for gap in GAPS:
        assert done.stderr.count(gap) == 1
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert PLATFORM_GAPS in page
    assert "<Minix>" not in page


@pytest.mark.usefixtures("on_another_system")
def test_a_check_names_the_gaps_of_its_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    async def check_program(*_: object) -> list[object]:
        return []

    monkeypatch.setattr("spielleiter.contest.check.check_program", check_program)
    assert GAPS[0] in run("check", "builtin:first").stderr
