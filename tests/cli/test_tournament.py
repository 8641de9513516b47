"""`spielleiter tournament`: playing, options, files, rounds and resuming."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import spielleiter.match.runner
from spielleiter.cli.tournament import tournament
from spielleiter.match.game_folder import KeepPolicy
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.match.records import GameRecord, load_setup, open_journal, read_journal
from spielleiter.match.runner import Conditions
from spielleiter.match.verdict import Verdict
from spielleiter.programs.this_platform import PLATFORM
from tests.cli.background import misuse, run
from tests.cli.matches import FILE, STRENGTH, play_where_b_does_not_start
from tests.match.sample_records import fault, game

LINK = re.compile(r'href="\./([^"]*replay\.html)"')
PAIR = FILE.rpartition("[[program]]")[0]
"""A tournament of one match."""
LONG = FILE.replace("games = 4", "games = 200")
CUP = FILE.replace("games = 4", 'kind = "knock-out"\nseeding = "listed"\ngames = 4')
SWISS = FILE.replace("games = 4", 'kind = "swiss"\nseeding = "listed"\ngames = 4')


def write(folder: Path, text: str) -> str:
    (folder / "t.toml").write_text(text, encoding="utf-8")
    return str(folder / "t.toml")


@pytest.fixture
def file(tmp_path: Path) -> str:
    return write(tmp_path, FILE)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def play(file: str, out: Path, *options: str) -> str:
    """Play a tournament that succeeds, and return its output."""
    done = run("tournament", file, "--out", str(out), *options)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def matches_in(out: Path) -> list[Path]:
    return sorted((out / "matches").iterdir())


def played_in(out: Path) -> list[int]:
    return [len(read_journal(folder)) for folder in matches_in(out)]


@pytest.mark.usefixtures("faults")
def test_a_round_robin_is_played_and_rated(file: str, out: Path) -> None:
    output = play(file, out)
    table = (out / "table.md").read_text()
    assert output.endswith(table)
    lines = table.splitlines()
    assert lines[0] == "swc_2027_blokus (blokus-2027): round robin of 3 programs, 4 games a match, seed 0"
    assert lines[2:9] == [
        "## Points",
        "",
        "|  | program | points | of | won | drawn | lost | points in a game, mean |",
        "|--:|---|--:|--:|--:|--:|--:|--:|",
        "| 1 | a\\|b | 16 | 16 | 8 | 0 | 0 | 80.0 |",
        "| 2 | b | 8 | 16 | 4 | 0 | 4 | 70.0 |",
        "| 3 | c | 0 | 16 | 0 | 0 | 8 | 60.0 |",
    ]
    assert [(line["name"], line["wins"], line["losses"]) for line in json.loads((out / "table.json").read_text())] == [
        ("a|b", 8, 0),
        ("b", 4, 4),
        ("c", 0, 8),
    ]
    assert [folder.name for folder in matches_in(out)] == ["001_a_b_b", "002_a_b_c", "003_b_c"]
    assert played_in(out) == [4, 4, 4]
    assert all((folder / "report.html").exists() for folder in matches_in(out))
    assert "holds a tournament already" in misuse("tournament", file, "--out", str(out))
    with open_journal(out / "matches" / "001_a_b_b"):
        locked = run("tournament", "--resume", str(out))
    assert locked.exit_code == 2
    assert "another match is being played in this folder" in locked.stderr


def test_an_interrupted_tournament_is_resumed(file: str, faults: dict[str, GameRecord], out: Path) -> None:
    faults["b"] = game(1, None, verdict=Verdict.SERVER_FAILED, is_counted=False)
    assert run("tournament", file, "--out", str(out)).exit_code == 4
    journal = out / "matches" / "002_a_b_c" / "games.jsonl"
    before = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(before[:2]))
    done = run("tournament", "--resume", str(out), "-j", "2")
    assert done.exit_code == 4  # the failed game stays in the journal
    assert sorted(journal.read_text().splitlines(keepends=True)) == sorted(before)
    assert done.stderr.count("game ") == 2


@pytest.mark.usefixtures("faults")
def test_each_pairing_ends_when_the_sequential_test_decides(tmp_path: Path, out: Path) -> None:
    play(write(tmp_path, f'sprt = "elo0=0 elo1=200"\n{LONG}'), out)
    for folder, played in zip(matches_in(out), played_in(out), strict=True):
        assert 10 < played < 60
        assert json.loads((folder / "summary.json").read_text())["sprt"]["decision"] == "H1"


def test_a_program_that_cannot_play_does_not_stop_the_others(
    file: str, monkeypatch: pytest.MonkeyPatch, out: Path
) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_where_b_does_not_start)
    done = run("tournament", file, "--out", str(out))
    assert done.exit_code == 5
    assert done.stderr.count("b cannot play: does not start") == 2
    assert played_in(out) == [2, 4, 2]


@pytest.mark.usefixtures("faults")
def test_a_tournament_is_resumed_in_its_first_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original, other, out = tmp_path / "begun 🐢", tmp_path / "other", tmp_path / "out"
    original.mkdir()
    other.mkdir()
    (original / "t.toml").write_text(PAIR, encoding="utf-8-sig")  # the copy has the byte order mark, too
    monkeypatch.chdir(original)
    play("t.toml", out)
    shutil.rmtree(out / "matches")
    monkeypatch.chdir(other)
    assert run("tournament", "--resume", str(out)).exit_code == 0
    assert [load_setup(folder)["cwd"] for folder in matches_in(out)] == [str(original)]


@pytest.mark.usefixtures("faults")
def test_names_stay_text_in_the_table(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "<b>`x`|\x1b[2J\u202e"
    monkeypatch.setitem(STRENGTH, name, 4)
    output = play(write(tmp_path, PAIR.replace('"a|b"', json.dumps(name))), out)
    for text in (output, (out / "table.md").read_text(encoding="utf-8")):
        assert "| 1 | &lt;b&gt;\\`x\\`\\|\\\\x1b\\[2J\\\\u202e | " in text
        assert text.replace("\n", "").isprintable()


def test_the_exit_code_depends_on_faults(faults: dict[str, GameRecord], tmp_path: Path) -> None:
    file = write(tmp_path, PAIR)
    for number, (options, code) in enumerate([((), 0), (("--fail-on", "crash"), 3), (("--fail-on", "timeout"), 0)]):
        faults["a|b"] = fault(1, 1, Verdict.CRASH)
        assert run("tournament", file, "--out", str(tmp_path / str(number)), *options).exit_code == code


@pytest.mark.usefixtures("faults")
def test_a_failing_machine_ends_the_tournament(file: str, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_setup: MatchSetup, planned: PlannedGame, *_: object) -> GameRecord:
        return game(planned.game, None, verdict=Verdict.SERVER_FAILED, is_counted=False)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", fail)
    done = run("tournament", file, "--out", str(out))
    assert done.exit_code == 4
    assert "server or machine failed; --resume" in done.stdout
    assert len(matches_in(out)) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((), "expected a FILE, or --resume DIR"),
        (("t.toml", "--resume", "."), "cannot be read"),
        (("--resume", "."), "cannot be read"),
        (("t.toml", "--fail-on", "oh"), "--fail-on 'oh'"),
        (("t.toml", "--out", "t.toml"), "is a file, expected a folder"),
        (("t.toml", "--out", "t.toml/out"), "cannot be written to"),
        (("t.toml", "--anchor", "d"), "anchor 'd': expected the name of a program, 'a|b' or 'b' or 'c'"),
        (("t.toml", "--min-tests", "30"), "min_tests: has no effect without significance"),
        (
            ("t.toml", "--edition", "blokus-2021-r1", "--game", "swc_2018_hase_und_igel"),
            "that edition is of swc_2021_blokus",
        ),
    ],
)
def test_misuse_is_one_line(options: tuple[str, ...], problem: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(file).parent)
    done = run("tournament", *options)
    assert done.exit_code == 2
    assert problem in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("change", "options", "problem"),
    [
        (("games = 4", "games = 'many'"), (), "games 'many': expected a whole number"),
        (("games = 4", "soft_timeout = 20000"), (), "the soft time limit (20000 ms) is above the hard one (10000 ms)"),
        (("builtin:first", "./no-such-bot"), (), "program './no-such-bot': there is no file ./no-such-bot"),
        (("games = 4", 'keep = "some"'), (), "t.toml: keep 'some': expected none or failed or all"),
        (("games = 4", 'pages = "some"'), (), "pages 'some': expected"),
        (("games = 4", 'on_end = "no-such-program"'), (), "on_end 'no-such-program': there is no program"),
        (("games = 4", 'book = "none.txt"'), (), "none.txt: cannot be read (No such file or directory)"),
        (
            ("games = 4", "significance = 0.1"),
            ("--significance", "0.05"),
            "t.toml says significance = 0.1; leave one of them out",
        ),
        (("games = 4", "significance = 2"), (), "significance 2: expected more than 0 and at most 0.5"),
        (("games = 4", 'fail_fast = "yes"'), (), "fail_fast 'yes': expected true or false"),
    ],
)
def test_errors_in_a_file_are_misuse(
    change: tuple[str, str], options: tuple[str, ...], problem: str, tmp_path: Path, out: Path
) -> None:
    done = run("tournament", write(tmp_path, FILE.replace(*change)), "--out", str(out), *options)
    assert done.exit_code == 2
    assert problem in done.stderr
    assert not out.exists()


@pytest.mark.usefixtures("faults", "book")
def test_a_tournament_begins_from_a_book(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, f'openings = "book.txt"\norder = "random"\n{FILE}')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # the book's path is relative to the file
    play("../t.toml", out)
    openings = [load_setup(folder)["openings"] for folder in matches_in(out)]
    assert openings[0] == openings[1] == openings[2]
    turns = [opening["turn"] for opening in openings[0]]
    assert sorted(turns) == [0, 0, 0, 0, 1, 1, 1, 1] != turns != [0, 1] * 4
    shutil.rmtree(out / "matches")
    assert run("tournament", "--resume", str(out)).exit_code == 0
    assert [load_setup(folder)["openings"] for folder in matches_in(out)] == openings


@pytest.mark.usefixtures("faults")
def test_options_take_precedence_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Conditions] = []
    pages: list[str] = []
    original = spielleiter.match.runner.allocate_cores

    def allocate_cores(conditions: Conditions) -> Any:
        seen.append(conditions)
        return original(conditions)

    def write_pages(_matches: object, choice: str, _command: str) -> list[Path]:
        pages.append(choice)
        return []

    monkeypatch.setattr(spielleiter.match.runner, "allocate_cores", allocate_cores)
    monkeypatch.setattr("spielleiter.cli.tournament.write_pages", write_pages)
    settings = 'keep = "failed"\nrestart = "never"\nfail_on = ["crash"]\nreport_every = 2\npages = "failed"\n'
    done = run("tournament", write(tmp_path, f'out = "result"\n{settings}{PAIR}'))
    assert done.exit_code == 0, done.stderr
    assert (seen[0].keep, seen[0].is_restarting, pages[0]) == (KeepPolicy.FAILED, False, "failed")
    assert "after 2 games" in done.stderr
    options = ("--keep", "all", "--restart", "always", "--pages", "all")
    assert run("tournament", *options, "--resume", str(tmp_path / "result")).exit_code == 0
    assert (seen[-1].keep, seen[-1].is_restarting, pages[-1]) == (KeepPolicy.ALL, True, "all")


def test_a_tournament_file_has_a_key_for_every_shared_option(tmp_path: Path) -> None:
    where_played = {"cluster", "ship", "max_slowdown", "unencrypted"}  # is no part of a tournament
    names = {str(each.name) for each in tournament.params} - {"file", "resume", *where_played}
    refused = run("tournament", write(tmp_path, "no_such_key = 1\n")).stderr
    assert names | {"openings", "book"} <= set(refused.partition("expected ")[2].strip().split(", "))


@pytest.mark.slow
def test_the_reports_link_to_the_pages_of_the_replays(tmp_path: Path, out: Path) -> None:
    text = 'kind = "gauntlet"\ngames = 2\n[[program]]\nname = "a:b/c"\ncommand = "builtin:first"\n'
    play(write(tmp_path, f'{text}[[program]]\nname = "bad"\ncommand = "builtin:illegal"\n'), out, "--pages", "none")
    (match,) = matches_in(out)
    assert LINK.findall((out / "report.html").read_text()) == []
    assert LINK.findall((match / "report.html").read_text()) == []
    assert run("tournament", "--resume", str(out)).exit_code == 0
    report = (out / "report.html").read_text()
    assert report.count("(illegal move)</a>") == 2
    linked = [out / unquote(path) for path in LINK.findall(report)]
    assert sorted(linked) == sorted(match.glob("games/*/replay.html"))
    assert len(linked) == 2
    assert {match / unquote(path) for path in LINK.findall((match / "report.html").read_text())} == set(linked)
    assert b'data-script="../../replay-page.js"' in linked[0].read_bytes()
    assert (match / "replay-page.js").exists()


@pytest.mark.usefixtures("faults")
def test_a_command_is_run_at_the_end(tmp_path: Path) -> None:
    script = tmp_path / "on_end.py"
    script.write_text("import pathlib, sys; pathlib.Path(sys.argv[1], 'called').write_text(sys.argv[2]); sys.exit(9)")
    on_end = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    for name, options, text in (
        ("a", ("--on-end", on_end), PAIR),
        ("b", (), f"on_end = {json.dumps(on_end)}\n{PAIR}"),
    ):
        out = tmp_path / name
        done = run("tournament", write(tmp_path, text), "--out", str(out), *options)
        assert done.exit_code == 0
        assert f"--on-end {sys.executable}: ended with exit code 9" in done.stderr
        assert (out / "called").read_text() == str(out / "table.json")


@pytest.mark.usefixtures("faults")
def test_programs_have_settings_and_games_have_cores(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PLATFORM, "usable_cores", lambda: [0, 1, 2])
    settings = "cores_per_game = 2\nconcurrency = 2\nno_timeout = true\n"
    file = write(tmp_path, f"{settings}{PAIR}time_factor = 2.0\nsoft_timeout = 700\n")
    done = run("tournament", file, "--out", str(out))
    assert done.exit_code == 0
    assert "3 processor cores, 2 for each game: 1 game at a time, not 2" in done.stderr
    (match,) = matches_in(out)
    last = load_setup(match)["entrants"][1]
    assert (last["time_factor"], last["soft_timeout"], last["can_timeout"]) == (2.0, 0.7, False)
    assert "each game needs 4 cores, there are 3" in misuse(
        "tournament", file, "--out", str(tmp_path / "other"), "--cores-per-game", "4"
    )


@pytest.mark.usefixtures("faults")
@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("", ("--significance", "0.05", "--min-tests", "30")),
        ("significance = 0.05\n", ("--min-tests", "30")),
    ],
)
def test_each_match_ends_once_one_program_is_better(
    lines: str, options: tuple[str, ...], tmp_path: Path, out: Path
) -> None:
    play(write(tmp_path, lines + PAIR.replace("games = 4", "games = 200")), out, *options)
    assert played_in(out) == [30]
    (folder,) = matches_in(out)
    setup, summary = load_setup(folder), json.loads((folder / "summary.json").read_text())
    assert (setup["significance"], setup["min_games"]) == (0.05, 30)
    assert (summary["significance"]["risk"], summary["better"]) == (0.05, 0)
    table = (out / "table.md").read_text()
    assert table.count("of 20, risk 0.05: a\\|b is better") == 1
    assert "| match | games | score | Elo, 95 % | significance |" in table
    done = run("tournament", "--resume", str(out), "--significance", "0.05")
    assert done.exit_code == 0, done.stderr
    assert "game " not in done.stderr
    assert played_in(out) == [30]


@pytest.mark.usefixtures("faults")
def test_ratings_are_differences_from_the_program_that_an_option_names(tmp_path: Path, out: Path) -> None:
    title, head = "## Ratings: difference from b", "|  | program | rating |"
    ratings = play(write(tmp_path, PAIR), out, "--anchor", "b").partition(title)[2]
    assert ratings.startswith(f"\n\n{head}")
    assert "| 2 | b | +0 |" in ratings
    assert title in run("tournament", "--resume", str(out)).stdout
    assert "## Ratings: difference from a" in run("tournament", "--resume", str(out), "--anchor", "a|b").stdout


@pytest.mark.parametrize(("lines", "options"), [("", ("--fail-fast",)), ("fail_fast = true\n", ())])
def test_with_fail_fast_the_first_fault_interrupts_the_tournament(
    lines: str, options: tuple[str, ...], faults: dict[str, GameRecord], tmp_path: Path, out: Path
) -> None:
    faults["a|b"] = fault(1, 0, Verdict.CRASH)
    done = run("tournament", write(tmp_path, lines + FILE), "--out", str(out), "--fail-on", "crash", *options)
    assert done.exit_code == 3
    assert f"a program failed; --resume {out} continues" in done.stdout
    assert played_in(out) == [1]
    assert run("tournament", "--resume", str(out)).exit_code == 0
    assert played_in(out) == [4, 4, 4]


@pytest.mark.usefixtures("faults")
def test_a_resumed_tournament_refuses_another_game_and_other_tests_and_limits(tmp_path: Path, out: Path) -> None:
    edition = ("--edition", "blokus-2021-r1")
    play(write(tmp_path, "significance = 0.05\nmin_tests = 30\n" + PAIR), out, *edition)
    for folder in matches_in(out):
        setup = load_setup(folder)
        assert (setup["edition"], setup["game_type"]) == ("blokus-2021-r1", "swc_2021_blokus")
        assert all(entrant["can_timeout"] for entrant in setup["entrants"])
    assert run("tournament", "--resume", str(out), *edition).exit_code == 0
    for options, problem in (
        (("--significance", "0.1"), "--significance 0.1 (begun with 0.05)"),
        (("--min-tests", "50"), "--min-tests 50 (begun with 30)"),
        (("--no-timeout",), "--no-timeout (begun without)"),
        (("--game", "swc_2027_blokus"), "--game swc_2027_blokus (begun with swc_2021_blokus)"),
        (("--edition", "blokus-2021-r2"), "--edition blokus-2021-r2 (begun with blokus-2021-r1)"),
    ):
        assert problem in misuse("tournament", "--resume", str(out), *options)


# -- rounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("faults")
def test_a_knock_out_has_a_champion(tmp_path: Path, out: Path) -> None:
    output = play(write(tmp_path, CUP), out)
    assert "swc_2027_blokus (blokus-2027), final: a|b against b, 4 games\n" in output
    lines = (out / "table.md").read_text().splitlines()
    assert lines[0] == "swc_2027_blokus (blokus-2027): knock-out of 3 programs, 4 games a match, seed 0"
    assert "| 1 | a\\|b | champion | 1 |" in lines
    report = json.loads((out / "tournament.json").read_text())
    assert [line["name"] for line in report["standings"]] == ["a|b", "b", "c"]
    assert report["rounds"][1]["matches"] == [
        {
            "programs": ["a|b", "b"],
            "folders": ["matches/002_a_b_b"],
            "score": [4.0, 0.0],
            "winner": "a|b",
            "reason": "score",
        }
    ]
    assert '<a href="./matches/002_a_b_b/report.html">a|b – b</a>' in (out / "report.html").read_text()


@pytest.mark.usefixtures("faults")
def test_a_swiss_tournament_has_standings(tmp_path: Path, out: Path) -> None:
    lines = play(write(tmp_path, SWISS), out).splitlines()
    assert "swc_2027_blokus (blokus-2027): Swiss system, 2 rounds, of 3 programs, 4 games a match, seed 0" in lines
    assert "| 1 | a\\|b | 2 | 2 | 2 | 0 | 0 | 0 | 100.0 % | 1 |" in lines


@pytest.mark.parametrize(("text", "cut"), [(CUP, 1), (SWISS, 2)])
@pytest.mark.usefixtures("faults")
def test_a_resumed_tournament_keeps_its_pairings(text: str, cut: int, tmp_path: Path, out: Path) -> None:
    play(write(tmp_path, text), out)
    reports = {name: (out / name).read_text() for name in ("table.md", "tournament.json", "report.html")}
    folders = matches_in(out)
    # the state after an interruption in this match
    for folder in folders[cut:]:
        shutil.rmtree(folder)
    journal = folders[cut - 1] / "games.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:1]))
    done = run("tournament", "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("game ") == 3 + 4 * (2 - cut)
    assert matches_in(out) == folders
    assert {name: (out / name).read_text() for name in reports} == reports
    # there is nothing left to play
    again = run("tournament", "--resume", str(out))
    assert (again.exit_code, again.stderr) == (0, "")
    assert {name: (out / name).read_text() for name in reports} == reports


def test_a_program_that_cannot_play_is_eliminated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, out: Path) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_where_b_does_not_start)
    done = run("tournament", write(tmp_path, CUP), "--out", str(out))
    assert done.exit_code == 5
    assert "b cannot play: does not start" in done.stderr
    text = (out / "table.md").read_text()
    assert r"| semi-final | b – c | 2 of 4: b cannot play | 0 : 2 | −∞ \[−∞, +∞\] | c | the other cannot play |" in text
    again = run("tournament", "--resume", str(out))
    assert again.exit_code == 5
    assert "b cannot play: does not start" in again.stderr
    assert again.stdout.splitlines()[-1] == done.stdout.splitlines()[-1]


# -- resuming with other programs -------------------------------------------------------------------------------------


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The programs of each game, in the order of playing; the first one in the alphabet wins."""
    games: list[tuple[str, str]] = []

    async def play_game(setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object) -> GameRecord:
        games.append(setup.names)
        winner = setup.names.index(min(setup.names))
        return game(planned.game, winner, names=setup.names, pair=planned.pair, seats=planned.seats)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    return games


def write_file(folder: Path, names: Sequence[str], head: str = "games = 2", contents: Mapping[str, str] = {}) -> str:
    """Write the file of a tournament and its programs, and return the path of the file."""
    text = f"{head}\n"
    for name in names:
        bot = folder / f"bot-{name}"
        bot.write_text(f"#!/bin/sh\n# {contents.get(name, name)}\n")
        bot.chmod(0o755)
        text += f'[[program]]\nname = "{name}"\ncommand = "{bot}"\n'
    return write(folder, text)


def resume(file: str, out: Path) -> str:
    done = run("tournament", file, "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    return done.stdout


def table(out: Path) -> dict[str, tuple[int, int]]:
    """Wins and losses by program."""
    lines: list[dict[str, Any]] = json.loads((out / "table.json").read_text())
    return {line["name"]: (line["wins"], line["losses"]) for line in lines}


def left_out(out: Path) -> list[tuple[str, int, str]]:
    found = json.loads((out / "tournament.json").read_text())["left_out"]
    return [("".join(each["programs"]), each["games"], each["reason"]) for each in found]


def test_programs_join_and_leave_a_tournament_and_come_back(
    played: list[tuple[str, str]], tmp_path: Path, out: Path
) -> None:
    play(write_file(tmp_path, "xz"), out)
    # at the beginning and in the middle, so that all numbers change
    output = resume(write_file(tmp_path, "wxyz"), out)
    assert played.count(("x", "z")) == 2
    assert len(played) == 2 * 6
    assert table(out) == {"w": (6, 0), "x": (4, 2), "y": (2, 4), "z": (0, 6)}
    assert output.endswith(report := (out / "table.md").read_text())
    again = run("tournament", "--resume", str(out))
    assert (again.exit_code, len(played)) == (0, 12)
    assert again.stdout.endswith(report)
    assert "## Not counted" in resume(write_file(tmp_path, "xyz"), out)
    assert table(out) == {"x": (4, 0), "y": (2, 2), "z": (0, 4)}
    assert sorted(left_out(out)) == [(pair, 2, "w no longer takes part") for pair in ("wx", "wy", "wz")]
    resume(write_file(tmp_path, "wxyz"), out)
    assert len(played) == 12
    assert (table(out)["w"], left_out(out)) == ((6, 0), [])


def test_the_order_of_the_programs_does_not_matter(played: list[tuple[str, str]], tmp_path: Path, out: Path) -> None:
    play(write_file(tmp_path, "xyz"), out)
    resume(write_file(tmp_path, "zyx"), out)
    assert len(played) == 6
    assert table(out) == {"x": (4, 0), "y": (2, 2), "z": (0, 4)}
    # what is added to a match has the order of that match
    resume(write_file(tmp_path, "zyx", "games = 4"), out)
    assert table(out) == {"x": (8, 0), "y": (4, 4), "z": (0, 8)}
    assert [load_setup(each)["games"] for each in matches_in(out)] == [4, 4, 4]
    assert set(played) == {("x", "y"), ("x", "z"), ("y", "z")}


def test_a_new_version_of_a_program_plays_its_matches_again(
    played: list[tuple[str, str]], tmp_path: Path, out: Path
) -> None:
    play(write_file(tmp_path, "xyz"), out)
    resume(write_file(tmp_path, "xyz", contents={"y": "another version"}), out)
    assert played[6:] == [("x", "y")] * 2 + [("y", "z")] * 2
    assert table(out) == {"x": (4, 0), "y": (2, 2), "z": (0, 4)}
    assert left_out(out) == [("xy", 2, "y has changed since"), ("yz", 2, "y has changed since")]
    assert len(matches_in(out)) == 5


@pytest.mark.usefixtures("played")
def test_matches_that_could_not_be_compared_are_refused(tmp_path: Path, out: Path) -> None:
    play(write_file(tmp_path, "xy"), out)
    kept = (out / "tournament.toml").read_text()
    for head, problem in (
        ("games = 2\nseed = 3", "other values of seed"),
        ("games = 2\nkind = 'swiss'", "other values of kind"),
        ("games = 2\nsoft_timeout = 500", "other values of time limits or rules"),
        ("games = 2\nsprt = 'elo0=0 elo1=5'", "other values of sprt"),
        ("games = 1", "other values of games"),
    ):
        assert problem in misuse("tournament", write_file(tmp_path, "xyz", head), "--resume", str(out))
        assert (out / "tournament.toml").read_text() == kept


def test_rounds_are_paired_anew_and_no_match_is_lost(played: list[tuple[str, str]], tmp_path: Path, out: Path) -> None:
    head = "games = 2\nkind = 'knock-out'\nseeding = 'listed'"
    play(write_file(tmp_path, "wxyz", head), out)
    assert played[::2] == [("w", "z"), ("x", "y"), ("w", "x")]
    assert "champion" in resume(write_file(tmp_path, "wxz", head), out)
    assert played[6::2] == [("x", "z")]  # the final of w and x is known
    assert left_out(out) == [("wz", 2, "this pairing is not played"), ("xy", 2, "y no longer takes part")]
