"""`spielleiter match`: options, what it prints and saves, exit codes, combining and the pages of replays."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import spielleiter.match.runner
from spielleiter.cli import match_and_tournament
from spielleiter.cli.match import match_command
from spielleiter.cli.match_and_tournament import (
    CONDITION_NAMES,
    FEW_GAMES,
    PAGE_CHOICES,
    conditions_of,
    exit_code_of_games,
    fault_kinds,
    run_on_end,
    write_pages,
)
from spielleiter.cli.tournament import tournament
from spielleiter.common.errors import MachineError
from spielleiter.match.game_folder import REPLAY_PAGE
from spielleiter.match.records import GameRecord, load_setup, read_journal
from spielleiter.match.runner import Conditions, EndReason
from spielleiter.match.tournament import PAGES
from spielleiter.match.verdict import Verdict
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.protocol.defaults import DEFAULT_PASSWORD
from spielleiter.viewer.page import SCRIPT
from tests.cli.background import misuse, run
from tests.cli.matches import play, setup_of
from tests.interpreter import PYTHON
from tests.match.sample_records import absence, fault, game
from tests.viewer.replay_files import replay_of

REPORTS = {"games.csv", "games.jsonl", "junit.xml", "match.json", "report.html", "summary.json", "summary.md"}
NOT_COUNTED = {"is_counted": False}
SERVER_FAILED = game(1, None, verdict=Verdict.SERVER_FAILED, **NOT_COUNTED)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--no-browser"], "--no-browser has no effect without --live"),
        (["--live", "--server", "127.0.0.1:1"], "--live shows the games of the match's own server"),
        (["--live", "--cluster", "local:1"], "--live shows games that are played on this machine"),
    ],
)
def test_pages_of_running_games_are_refused_where_there_are_none(options: list[str], why: str, tmp_path: Path) -> None:
    done = play(tmp_path, *options)
    assert (done.exit_code, why in done.stderr) == (2, True), done.output


def test_a_match_is_printed_and_saved(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games[1] = game(1, 0, reason="", machine="pc01")
    games[3] = fault(3, 1, Verdict.CRASH, reason="ended by signal 11")
    done = play(tmp_path, "--seed", "7", "--name2", "日本語")
    assert done.exit_code == 0
    first = f"swc_2027_blokus (blokus-2027): greedy against 日本語, 4 games, seed 7, into {tmp_path / 'out'}"
    assert done.stdout.splitlines()[0] == first
    assert "game 1: greedy - 日本語 80:60, greedy wins\n" in done.stderr
    assert "game 3: greedy - 日本語 -:-, greedy wins (日本語 crash: ended by signal 11)\n" in done.stderr
    assert "game 1" not in done.stdout
    assert "4 of 4 games played, 4 counted, 2 complete pairs" in done.stdout
    assert "日本語: +0 =0 -4, points" in done.stdout
    faults = "1 crash, 0 timeouts, 0 illegal moves, 0 bad messages, 0 times left running after the game"
    assert f"\n        {faults}\n" in done.stdout  # a wide character takes two columns
    assert "pc01 1 game" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} - {".lock"} == REPORTS
    assert [record.game for record in read_journal(tmp_path / "out")] == [1, 2, 3, 4]
    games[1] = game(1, 1)
    done = play(tmp_path)
    assert done.exit_code == 2
    assert "holds a match already" in done.stderr
    assert read_journal(tmp_path / "out")[0].winner == 0


@pytest.mark.usefixtures("games")
def test_options_of_the_official_test_client_are_understood(tmp_path: Path) -> None:
    done = run(
        "match", "--tests", "4", "--player1", "builtin:first", "--player2", "builtin:first", "--name1", "new",
        "--name2", "old", "--no-timeout1", "--start-server", "--server", "server.jar", "--host", "localhost",
        "--port", "13051", "--loglevel", "DEBUG", "--significance", "0.05", "--min-tests", "30",
        "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    setup = setup_of(tmp_path)
    assert [(each["name"], each["can_timeout"]) for each in setup["entrants"]] == [("new", False), ("old", True)]
    assert (setup["games"], setup["server"], setup["significance"], setup["min_games"]) == (4, None, 0.05, 30)


@pytest.mark.usefixtures("games")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"server": None, "game_type": DEFAULT_GAME_TYPE, "openings": [], "server_options": {}, "sprt": None}),
        (("--server", "[::1]:7"), {"server": ["::1", 7]}),
        (("--host", "example.org"), {"server": ["example.org", 13050]}),
        (("-p", "7"), {"server": ["127.0.0.1", 7]}),
        (
            ("--soft-timeout", "1500", "--hard-timeout", "3000", "--start-piece", "PENTO_Y"),
            {"server_options": {"soft_timeout": 1.5, "hard_timeout": 3.0, "start_piece": "PENTO_Y"}},
        ),
        (("--soft-timeout", "20000", "--no-timeout"), {"server_options": {"soft_timeout": 20.0}}),
        (("--sprt", "elo0=0 elo1=50"), {"sprt": "elo0=0 elo1=50"}),
        (("--start-timeout", "1", "--game-timeout", "9"), {"timeouts": {"start": 1.0, "exit": 5.0, "game": 9.0}}),
        (("--edition", "blokus-2021-r1"), {"game_type": "swc_2021_blokus", "edition": "blokus-2021-r1"}),
    ],
)
def test_options_are_saved_for_resuming(options: tuple[str, ...], expected: dict[str, Any], tmp_path: Path) -> None:
    assert play(tmp_path, *options).exit_code == 0
    setup = setup_of(tmp_path)
    assert {key: setup[key] for key in expected} == expected
    assert DEFAULT_PASSWORD not in json.dumps(setup)


@pytest.mark.usefixtures("games")
def test_programs_are_named_after_their_files(tmp_path: Path) -> None:
    bot, other = tmp_path / "my bot.py", tmp_path / "other" / "my bot.py"
    other.parent.mkdir()
    for path in (bot, other):
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    for number, (first, second, *names) in enumerate(
        [
            ("builtin:first", "builtin:first", "first (1)", "first (2)"),
            (str(bot), "sh --fast", "my bot", "sh"),
            (str(bot), str(other), f"{tmp_path.name}/my bot", "other/my bot"),
        ]
    ):
        out = tmp_path / str(number)
        assert run("match", "--player1", first, "--player2", second, "-n", "2", "--out", str(out)).exit_code == 0
        assert [each["name"] for each in load_setup(out)["entrants"]] == names


@pytest.mark.usefixtures("games")
def test_a_book_is_played_in_its_order_or_in_a_random_one(book: Path, tmp_path: Path) -> None:
    orders = []
    for number, options in enumerate([("--book", str(book)), ("--openings", str(book), "--order", "random")]):
        assert play(tmp_path / str(number), "--seed", "7", *options).exit_code == 0
        orders.append([opening["turn"] for opening in setup_of(tmp_path / str(number))["openings"]])
    assert orders[0] == [0, 1] * 4 != orders[1]
    again = run("match", "--resume", str(tmp_path / "1" / "out"), "--book", str(book), "--order", "random")
    assert again.exit_code == 0
    resumed = ("--resume", str(tmp_path / "1" / "out"))
    assert "--order sequential (begun with random)" in misuse("match", *resumed, "--order", "sequential")


@pytest.mark.usefixtures("games")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--player2", ""), "expected a command line"),
        (("--order", "random"), "--order has no effect without --book"),
        (("--openings", str(Path(__file__).parent)), "holds no replay"),
        (("--player1", "builtin:clever"), "there is no such strategy"),
        (("--player1", "./no-such-bot"), "program './no-such-bot': there is no file ./no-such-bot"),
        (("--player1", "sleep 1", "--cwd1", "no-such-folder"), "that sleep is started in does not exist"),
        (("--server", "example.org"), "expected HOST:PORT"),
        (("--port", "7", "--soft-timeout", "9"), "set by the running server"),
        (("--time-factor1", "2", "--server", "localhost:1"), "greedy: time limits are set by the running server"),
        (("--sprt", "elo0=9 elo1=0"), "SPRT"),
        (("--fail-on", "crash,oh"), "--fail-on 'oh': expected crash, timeout, illegal, message, exit, any"),
        (("--start-piece", "PENTO_V", "--game", "swc_2018_hase_und_igel"), "has no option startPiece"),
        (("--edition", "blokus-2021-r1", "--game", "swc_2027_blokus"), "that edition is of swc_2021_blokus"),
        (("--soft-timeout", "10001"), "the soft time limit (10001 ms) is above the hard one (10000 ms)"),
        (("--soft-timeout2", "20000"), "the soft time limit (20000 ms) is above the hard one (10000 ms)"),
        (("-n", "9" * 9), "999999999 games cannot be played, expected 1 to 1000000"),
        (("--pin", "-j", "1000"), "need 2000 cores"),
        (("--cores-per-game", "1000"), "each game needs 1000 cores"),
        (("--on-end", "no-such-program"), "there is no program no-such-program"),
        (("--on-end", ""), "expected a command"),
        (("--on-end", "a 'b"), "quotation"),
        (("--on-end", "~nobody-of-this-name/Notify"), "there is no program ~nobody-of-this-name/Notify, "),
        (("--env1", "A"), "'A': expected NAME=VALUE"),
        (("--pass-env2", "A,"), "'': expected NAME, or NAME,NAME"),
        (("--pass-env2", "A=b"), "'A=b': expected NAME, or NAME,NAME"),
        (("--cwd1", "here"), "builtin:greedy plays without a process of its own"),
        (("--require", "better", "-n", "11"), "11 games cannot show which program is better, expected at least -n 12"),
    ],
)
def test_misuse_is_one_line_before_anything_is_written(options: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    done = play(tmp_path, *options)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert problem in done.stderr
    assert not (tmp_path / "out").exists()


def test_both_programs_are_needed() -> None:
    assert "--player2 is missing" in run("match", "--player1", "builtin:first").stderr


@pytest.mark.usefixtures("games")
def test_conditions_that_distort_a_match_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert play(tmp_path / "many", "-j", "1000").stderr.startswith("1000 games at a time are too many for ")
    monkeypatch.setattr(PLATFORM, "usable_cores", lambda: [0, 1])
    done = play(tmp_path, "-j", "3", games=3)
    assert "3 games at a time on 2 processor cores" in done.stderr
    assert "the last one has no counterpart" in done.stderr
    assert all(line.startswith("game ") for line in play(tmp_path / "two", "-j", "2").stderr.splitlines())


@pytest.mark.usefixtures("games")
def test_a_command_is_run_at_the_end_without_a_shell_and_changes_no_exit_code(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "on_end.py"
    script.write_text(
        "import os, pathlib, sys\n"
        "pathlib.Path(sys.argv[2], 'called').write_text(repr((sys.argv[1:], os.environ['MATCH_EXIT_CODE'])))\n"
        "sys.exit(9)\n"
    )
    done = play(tmp_path, "--on-end", f"{PYTHON} {shlex.quote(str(script))} '$0'")
    assert done.exit_code == 0
    assert done.stderr.splitlines()[-1] == f"--on-end {sys.executable}: ended with exit code 9"
    out = tmp_path / "out"
    assert (out / "called").read_text() == repr((["$0", str(out), str(out / "summary.json")], "0"))
    for command, line in (
        ([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"], "was ended by signal 9\n"),
        ([sys.executable, "-c", "print('out')"], "out\n"),
        ([str(tmp_path / "gone")], "gone: cannot be started (No such file or directory)\n"),
    ):
        run_on_end(command, tmp_path / "summary.json", 0)
        output = capfd.readouterr()
        assert output.out == ""
        assert output.err.endswith(line)


# -- exit codes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "options", "code"),
    [
        ([fault(1, 0, Verdict.CRASH)], (), 0),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-on", "crash"), 3),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-on", "timeout,message"), 0),
        ([fault(1, 1, Verdict.HANGS)], ("--fail-on", "timeout", "--fail-on", "message"), 3),
        ([fault(1, 1, Verdict.NONSENSE)], ("--fail-on", "timeout,message"), 3),
        ([fault(1, 1, Verdict.NEVER_ENDS)], ("--fail-on", "crash,timeout,illegal,message"), 0),
        ([fault(1, 1, Verdict.NEVER_ENDS)], ("--fail-on", "exit"), 3),
        ([fault(1, 1, Verdict.LEFTOVERS)], ("--fail-on", "any"), 3),
        ([SERVER_FAILED], ("--fail-on", "any"), 4),
        ([game(1, None, verdict=Verdict.OVERLOAD, **NOT_COUNTED)], ("--fail-on", "any"), 0),
        ([game(number, None, verdict=Verdict.OVERLOAD, **NOT_COUNTED) for number in range(1, 5)], (), 4),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-fast",), 0),
        ([fault(1, 0, Verdict.CRASH)], ("--fail-on", "any", "--faults-of", "player1"), 3),
        ([fault(1, 1, Verdict.CRASH)], ("--fail-on", "any", "--faults-of", "player1"), 0),
    ],
)
def test_the_exit_code_depends_on_faults(
    records: list[GameRecord], options: tuple[str, ...], code: int, games: dict[int, GameRecord], tmp_path: Path
) -> None:
    games |= {record.game: record for record in records}
    assert play(tmp_path, *options).exit_code == code
    assert len(read_journal(tmp_path / "out")) == (1 if "--fail-fast" in options else 4)


@pytest.mark.parametrize(
    ("winner", "options", "code", "played"),
    [
        (0, ("--require", "better"), 0, 40),
        (None, ("--require", "better"), 1, 40),
        (None, ("--require", "not-worse"), 0, 40),
        (1, ("--require", "not-worse"), 1, 40),
        (1, (), 0, 40),
        (0, ("--sprt", "elo0=0 elo1=200"), 0, 16),
        (1, ("--sprt", "elo0=0 elo1=200"), 1, 10),
        (1, ("--significance", "0.05", "--min-tests", "10"), 0, 16),
    ],
)
def test_the_exit_code_depends_on_the_better_program(
    winner: int | None,
    options: tuple[str, ...],
    code: int,
    played: int,
    games: dict[int, GameRecord],
    tmp_path: Path,
) -> None:
    games |= {number: game(number, winner) for number in range(1, 41)}
    done = play(tmp_path, *options, games=40)
    assert done.exit_code == code
    assert len(read_journal(tmp_path / "out")) == played
    assert ("SPRT accepted" in done.stdout) == ("--sprt" in options)
    assert ("decided before all games were played" in done.stdout) == (played < 40)


def test_a_requirement_is_not_met_if_too_few_games_count(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games |= {number: game(number, 0) for number in range(1, 12)}
    games[12] = game(12, None, is_counted=False, verdict=Verdict.OVERLOAD)
    done = play(tmp_path, "--require", "not-worse", games=12)
    assert done.exit_code == 1
    assert "too few pairs to tell (5 complete pairs, at least 6 are needed)" in done.stdout


def test_the_standing_is_printed_after_every_n_games(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games |= {number: game(number, 0) for number in range(1, 7)}
    done = play(tmp_path, "--report-every", "4", "--sprt", "elo0=0 elo1=5 model=normalized", games=6)
    interim = [line for line in done.stderr.splitlines() if line.startswith("after ")]
    assert interim == ["after 4 games: +4 =0 -0  LLR +0.04 (-2.94, +2.94)  Elo +∞ [−389.6, +∞]"]


def test_a_machine_that_fails_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> GameRecord:
        raise MachineError("no space left")

    monkeypatch.setattr(spielleiter.match.runner, "play_game", fail)
    done = play(tmp_path)
    assert (done.exit_code, done.stderr) == (4, "spielleiter match: no space left\n")
    assert (tmp_path / "out" / "summary.json").exists()


def test_a_program_that_cannot_play_ends_the_match_unless_all_games_are_asked_for(
    games: dict[int, GameRecord], tmp_path: Path
) -> None:
    reason = "/nowhere/bot: there is no such program"
    games |= {number: absence(number, 1, reason=reason) for number in range(1, 13)}
    done = play(tmp_path, "--require", "not-worse", games=12)
    assert done.exit_code == 5
    assert len(read_journal(tmp_path / "out")) == 2
    assert "random cannot play: does not start in game 2 (/nowhere/bot: there is no such program)" in done.stderr
    assert "it was started as: builtin:random" in done.stderr
    done = run("match", "--resume", str(tmp_path / "out"), "--keep-playing")
    assert done.exit_code == 0, done.stderr
    assert "greedy: +12 =0 -0" in done.stdout
    assert "random: +0 =0 -12" in done.stdout


@pytest.mark.parametrize(
    ("end", "records", "code"),
    [
        (EndReason.INTERRUPTED, [SERVER_FAILED], 130),
        (EndReason.MACHINE_FAILURE, [], 4),
        (EndReason.COMPLETED, [SERVER_FAILED], 4),
    ],
)
def test_interruption_machine_failure_and_faults_count_in_this_order(
    end: EndReason, records: list[GameRecord], code: int
) -> None:
    assert exit_code_of_games(end, [fault(2, 0, Verdict.CRASH), *records], fault_kinds(["any"])) == code


# -- combining --------------------------------------------------------------------------------------------------------

Played = Callable[..., str]


@pytest.fixture
def played(games: dict[int, GameRecord], tmp_path: Path) -> Played:
    """Play a match whose games differ from those of all others, and return its folder."""

    def play_match(
        *options: str, winner: int = 0, count: int = 4, first: str = "greedy", second: str = "random"
    ) -> str:
        number = len(list(tmp_path.glob("match*")))
        folder = tmp_path / f"match{number}"
        for each in range(1, count + 1):
            games.setdefault(each, game(each, winner, seed=10 * number + each))
        words = ("--player1", f"builtin:{first}", "--player2", f"builtin:{second}", "-n", str(count), *options)
        done = run("match", *words, "--seed", str(number), "--out", str(folder))
        assert done.exit_code == 0, done.stderr
        games.clear()
        return str(folder)

    return play_match


def combine(out: Path, *words: str) -> Any:
    return run("match", "--combine", *words, "--out", str(out))


def test_the_games_of_all_matches_count(games: dict[int, GameRecord], played: Played, tmp_path: Path) -> None:
    one = played("--edition", "blokus-2027", count=3)  # the default, which need not be named
    two = played(first="random", second="greedy", winner=1)
    games[2] = fault(2, 0, Verdict.CRASH, seed=22)
    three = played(winner=1)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    out = tmp_path / "all"
    done = combine(out, one, two, three)
    assert done.exit_code == 0, done.stderr
    found = json.loads((out / "summary.json").read_text())
    assert (found["names"], found["planned"], found["played"]) == (["greedy", "random"], 11, 11)
    assert found["results"] == {"wins": 7, "draws": 0, "losses": 4}
    assert [each["crashes"] for each in found["programs"]] == [1, 0]
    assert sum(found["pairs"]) == 5  # half a pair of the first match stays alone
    assert "greedy: +7 =0 -4" in done.stdout
    assert (out / "report.html").exists()
    assert {file: file.read_bytes() for file in before} == before
    lines = (out / "games.csv").read_text().splitlines()
    assert len(lines) == 12
    assert "../match2/games/" in lines[-1]
    assert combine(tmp_path / "b", one, two, three, "--fail-on", "crash").exit_code == 3
    assert combine(tmp_path / "c", one, three, "--require", "better").exit_code == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"options": ("--soft-timeout", "900")}, "they differ in time limits or rules"),
        ({"options": ("--edition", "blokus-2021-r1")}, "they differ in game"),
        ({"options": (), "second": "first"}, "is a match of greedy and first"),
        ({"options": ("--no-timeout1",)}, "greedy is another program there, or has other settings"),
    ],
)
def test_matches_that_cannot_be_compared_are_refused(
    options: dict[str, Any], problem: str, played: Played, tmp_path: Path
) -> None:
    one, other = played(), played(*options.pop("options"), **options)
    done = combine(tmp_path / "all", one, other)
    assert (done.exit_code, done.stdout) == (2, "")
    assert problem in done.stderr
    assert not (tmp_path / "all").exists()


def test_the_contents_of_programs_are_compared(played: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those at the beginning of each match, wherever the files are now."""
    monkeypatch.chdir(tmp_path)
    bot = tmp_path / "bot"
    folders = []
    for content in ("", "", "# better\n"):
        bot.write_text(f"#!/bin/sh\n{content}")
        bot.chmod(0o755)
        folders.append(played("--player1", "./bot"))
    bot.unlink()
    done = combine(tmp_path / "all", *folders[:2])
    assert done.exit_code == 0, done.stderr
    assert "is not known" not in done.stderr
    done = combine(tmp_path / "none", *folders)
    assert done.exit_code == 2
    assert "bot is another program there" in done.stderr
    done = combine(tmp_path / "unknown", *(played("--player1", "sh -c true", "--name1", "sh") for _ in range(2)))
    assert done.exit_code == 0
    assert "whether sh was the same program in all matches is not known" in done.stderr


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--combine",), "at least two matches"),
        (("--combine", "ONE"), "at least two matches"),
        (("ONE", "TWO"), "need --combine"),
        (("--combine", "ONE", "NONE"), "is there a match?"),
        (("--combine", "ONE", "ONE"), "hold the same games"),
        (("--combine", "ONE", "TWO", "--out", "ONE"), "holds a match"),
        (("--combine", "ONE", "TWO", "--resume", "ONE"), "--resume"),
        (("--combine", "ONE", "TWO", "--player1", "builtin:first"), "--player1"),
    ],
)
def test_misuse_of_combining_is_one_line(
    words: tuple[str, ...], problem: str, played: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(played()).rename("ONE")
    done = run("match", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert problem in done.stderr


# -- the pages of replays ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_report_links_to_the_pages_of_the_games_that_are_kept(tmp_path: Path) -> None:
    result = play(tmp_path, games=2)
    assert result.exit_code == 0, result.output
    report = (tmp_path / "out" / "report.html").read_text()
    for number in (1, 2):
        page = f"games/{number:04d}/{REPLAY_PAGE}"
        assert (tmp_path / "out" / page).stat().st_size < 60_000
        assert f'href="./{page}"' in report
    assert (tmp_path / "out" / SCRIPT).exists()
    short = ("--game", "swc_2018_hase_und_igel", "--player1", "builtin:hui-greedy", "--player2", "builtin:hui-random")
    assert play(tmp_path / "none", *short, "--keep", "none", games=1).exit_code == 0
    assert REPLAY_PAGE not in (tmp_path / "none" / "out" / "report.html").read_text()
    assert not (tmp_path / "none" / "out" / SCRIPT).exists()


def records_with_replays(folder: Path, count: int) -> list[GameRecord]:
    content = replay_of("blokus-2027", plies=1)
    records = [game(number) for number in range(1, count + 1)]
    for record in records:
        assert record.replay is not None
        path = folder / record.folder / record.replay
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return records


@pytest.mark.parametrize(
    ("choice", "games", "with_pages"),
    [
        ("auto", FEW_GAMES, range(1, FEW_GAMES + 1)),
        ("auto", FEW_GAMES + 1, [2]),
        ("all", FEW_GAMES + 1, range(1, FEW_GAMES + 2)),
        ("failed", 3, [2]),
        ("none", 3, []),
    ],
)
def test_which_games_have_a_page(
    choice: str, games: int, with_pages: Iterable[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def write(_folder: Path, replays: Iterable[str]) -> Iterator[str]:
        for replay in replays:
            written.append(replay)
            yield replay

    monkeypatch.setattr("spielleiter.viewer.page.write_match_pages", write)
    records = [fault(n, 0, Verdict.CRASH) if n == 2 else game(n) for n in range(1, games + 1)]
    assert write_pages({tmp_path: records}, choice) == ([tmp_path] if written else [])
    assert [int(Path(replay).parent.name) for replay in written] == list(with_pages)


def test_many_pages_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(match_and_tournament, "MANY_PAGES", 2)
    assert write_pages({tmp_path: records_with_replays(tmp_path, 2)})
    assert capsys.readouterr().err == "making the pages of 2 replays; Ctrl-C leaves out the rest\n"
    assert write_pages({tmp_path: [game(1), game(2)]})
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (KeyboardInterrupt(), "left out; `tournament --resume` makes the missing pages\n"),
        (OSError(28, "No space left on device"), "pages of the replays: No space left on device\n"),
    ],
)
def test_pages_that_cannot_be_made_are_one_line(
    error: BaseException,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr("spielleiter.viewer.page.write_whole", fail)
    assert write_pages({tmp_path: records_with_replays(tmp_path, 1)}, command="tournament")
    assert capsys.readouterr().err == line
    assert write_pages({tmp_path: [game(2, folder="", replay=None)]}) == []


def test_the_games_of_all_matches_decide_whether_there_are_few(tmp_path: Path) -> None:
    half = FEW_GAMES // 2 + 1
    matches = {tmp_path / name: [game(number) for number in range(half)] for name in ("a", "b")}
    assert write_pages(matches) == []
    for folder in matches:
        records_with_replays(folder, 1)
    assert write_pages({folder: [game(1)] for folder in matches}) == list(matches)
    for folder in matches:
        assert (folder / game(1).folder / REPLAY_PAGE).exists()
        assert (folder / SCRIPT).exists()  # the folder of a match can be copied alone


@pytest.mark.parametrize("command", [match_command, tournament], ids=["match", "tournament"])
def test_both_commands_have_the_defaults_of_the_runner_and_the_choices_of_a_file(command: click.Command) -> None:
    options = {parameter.name: parameter for parameter in command.params}
    assert Conditions(**conditions_of({name: options[name].default for name in CONDITION_NAMES})) == Conditions()
    assert PAGES == PAGE_CHOICES
