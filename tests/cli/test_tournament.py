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
from tests.cli.background import run
from tests.cli.tournaments import FILE, STRENGTH, play_where_b_does_not_start
from tests.match.sample_records import fault, game

LINK = re.compile(r'href="\./([^"]*replay\.html)"')
LONG = FILE.replace("games = 4", "games = 200")
CUP = FILE.replace("games = 4", 'kind = "knock-out"\nseeding = "listed"\ngames = 4')
SWISS = FILE.replace("games = 4", 'kind = "swiss"\nseeding = "listed"\ngames = 4')
STRENGTHS = {"w": 4, "x": 3, "y": 2, "z": 1}


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "t.toml").write_text(FILE)
    return str(tmp_path / "t.toml")


@pytest.mark.usefixtures("faults")
def test_a_round_robin_is_played_and_rated(file: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("tournament", file, "--out", str(out))
    assert done.exit_code == 0, done.stderr
    table = (out / "table.md").read_text()
    assert done.stdout.endswith(table)
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
    assert [line.split(" | ")[1] for line in lines[14:17]] == ["a\\|b", "b", "c"]
    assert lines[18:] == [
        "## Head to head",
        "",
        "| against | a\\|b | b | c |",
        "|---|--:|--:|--:|",
        "| a\\|b | – | +4 =0 -0 | +4 =0 -0 |",
        "| b | +0 =0 -4 | – | +4 =0 -0 |",
        "| c | +0 =0 -4 | +0 =0 -4 | – |",
    ]
    assert [(line["name"], line["wins"], line["losses"]) for line in json.loads((out / "table.json").read_text())] == [
        ("a|b", 8, 0),
        ("b", 4, 4),
        ("c", 0, 8),
    ]
    folders = sorted((out / "matches").iterdir())
    assert [folder.name for folder in folders] == ["001_a_b_b", "002_a_b_c", "003_b_c"]
    assert all(len(read_journal(folder)) == 4 and (folder / "report.html").exists() for folder in folders)


def test_an_interrupted_tournament_is_resumed(file: str, faults: dict[str, GameRecord], tmp_path: Path) -> None:
    out = tmp_path / "out"
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
def test_each_pairing_ends_when_the_sequential_test_decides(tmp_path: Path) -> None:
    text = FILE.replace("games = 4", 'games = 200\nsprt = "elo0=0 elo1=200"')
    (tmp_path / "t.toml").write_text(text)
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    folders = sorted((tmp_path / "out" / "matches").iterdir())
    assert len(folders) == 3
    for folder in folders:
        assert 10 < len(read_journal(folder)) < 60
        assert json.loads((folder / "summary.json").read_text())["sprt"]["decision"] == "H1"


def test_a_program_that_cannot_play_does_not_stop_the_others(
    file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_where_b_does_not_start)
    done = run("tournament", file, "--out", str(tmp_path / "out"))
    assert done.exit_code == 5
    assert done.stderr.count("b cannot play: does not start") == 2
    played = [len(read_journal(folder)) for folder in sorted((tmp_path / "out" / "matches").iterdir())]
    assert played == [2, 4, 2]


@pytest.mark.usefixtures("faults")
def test_a_tournament_is_resumed_in_its_first_directory(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, other, out = tmp_path / "begun 🐢", tmp_path / "other", tmp_path / "out"
    original.mkdir()
    other.mkdir()
    file = shutil.copy(file, str(original))
    monkeypatch.chdir(original)
    assert run("tournament", file, "--out", str(out)).exit_code == 0
    shutil.rmtree(out / "matches" / "003_b_c")
    monkeypatch.chdir(other)
    assert run("tournament", "--resume", str(out)).exit_code == 0
    assert {load_setup(folder)["cwd"] for folder in (out / "matches").iterdir()} == {str(original)}


@pytest.mark.usefixtures("faults")
def test_a_locked_folder_is_misuse(file: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", file, "--out", str(out)).exit_code == 0
    with open_journal(out / "matches" / "001_a_b_b"):
        done = run("tournament", "--resume", str(out))
    assert done.exit_code == 2
    assert "another match is being played in this folder" in done.stderr


@pytest.mark.usefixtures("faults")
def test_names_stay_text_in_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "<b>`x`|\x1b[2J\u202e"
    monkeypatch.setitem(STRENGTH, name, 4)
    (tmp_path / "t.toml").write_text(FILE.replace('"a|b"', json.dumps(name)), encoding="utf-8")
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    for text in (done.stdout, (tmp_path / "out" / "table.md").read_text(encoding="utf-8")):
        assert "| 1 | &lt;b&gt;\\`x\\`\\|\\\\x1b\\[2J\\\\u202e | " in text
        assert text.replace("\n", "").isprintable()


def test_the_exit_code_depends_on_faults(file: str, faults: dict[str, GameRecord], tmp_path: Path) -> None:
    for number, (options, code) in enumerate([((), 0), (("--fail-on", "crash"), 3), (("--fail-on", "timeout"), 0)]):
        faults["b"] = fault(1, 1, Verdict.CRASH)
        assert run("tournament", file, "--out", str(tmp_path / str(number)), *options).exit_code == code


def test_a_program_that_cannot_be_started_is_refused_before_the_first_game(file: str, tmp_path: Path) -> None:
    described = Path(file)
    described.write_text(described.read_text().replace("builtin:first", "./no-such-bot", 1))
    done = run("tournament", file, "--out", str(tmp_path / "out"))
    assert done.exit_code == 2
    assert "program './no-such-bot': there is no file ./no-such-bot" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("faults")
def test_a_failing_machine_ends_the_tournament(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_setup: MatchSetup, planned: PlannedGame, *_: object) -> GameRecord:
        return game(planned.game, None, verdict=Verdict.SERVER_FAILED, is_counted=False)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", fail)
    done = run("tournament", file, "--out", str(tmp_path / "out"))
    assert done.exit_code == 4
    assert "server or machine failed; --resume" in done.stdout
    assert len(list((tmp_path / "out" / "matches").iterdir())) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((), "expected a FILE, or --resume DIR"),
        (("FILE", "--resume", "OUT"), "cannot be read"),
        (("BAD",), "games 'many': expected a whole number"),
        (("LATE",), "the soft time limit (20000 ms) is above the hard one (10000 ms)"),
        (("--resume", "OUT"), "cannot be read"),
        (("FILE", "--fail-on", "oh"), "--fail-on 'oh'"),
        (("FILE", "--out", "FILE"), "is a file, expected a folder"),
        (("FILE", "--out", "IN_FILE"), "cannot be written to"),
    ],
)
def test_misuse_is_one_line(options: tuple[str, ...], problem: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('games = "many"')
    (tmp_path / "late.toml").write_text(f"soft_timeout = 20000\n{FILE}")
    (tmp_path / "out").mkdir()
    places = {"FILE": file, "IN_FILE": f"{file}/out", "OUT": str(tmp_path / "out")}
    places |= {name.upper(): str(tmp_path / f"{name}.toml") for name in ("bad", "late")}
    done = run("tournament", *(places.get(option, option) for option in options))
    assert done.exit_code == 2
    assert problem in done.stderr.splitlines()[-1]


@pytest.mark.usefixtures("faults")
def test_the_copy_of_a_file_with_a_byte_order_mark_can_be_read(file: str, tmp_path: Path) -> None:
    Path(file).write_text(FILE, encoding="utf-8-sig")
    assert run("tournament", file, "--out", str(tmp_path / "out")).exit_code == 0
    assert run("tournament", "--resume", str(tmp_path / "out")).exit_code == 0


@pytest.mark.usefixtures("faults")
def test_a_folder_with_a_tournament_is_not_overwritten(file: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert run("tournament", file, "--out", out).exit_code == 0
    done = run("tournament", file, "--out", out)
    assert done.exit_code == 2
    assert "holds a tournament already" in done.stderr


@pytest.mark.usefixtures("faults", "book")
@pytest.mark.parametrize("key", ["book", "openings"])
def test_a_tournament_begins_from_a_book(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.toml").write_text(f'{key} = "book.txt"\norder = "random"\n{FILE}')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")  # the book's path is relative to the file
    out = tmp_path / "out"
    assert run("tournament", "../t.toml", "--out", str(out)).exit_code == 0
    openings = [load_setup(folder)["openings"] for folder in sorted((out / "matches").iterdir())]
    assert openings[0] == openings[1] == openings[2]
    turns = [opening["turn"] for opening in openings[0]]
    assert sorted(turns) == [0, 0, 0, 0, 1, 1, 1, 1] != turns != [0, 1] * 4
    (tmp_path / "t.toml").write_text(f'book = "none.txt"\n{FILE}')
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(out / "matches")
    assert run("tournament", "--resume", str(out)).exit_code == 0
    assert [load_setup(folder)["openings"] for folder in sorted((out / "matches").iterdir())] == openings
    done = run("tournament", "t.toml", "--out", str(tmp_path / "other"))
    assert done.exit_code == 2
    assert "none.txt: cannot be read (No such file or directory)" in done.stderr


@pytest.mark.usefixtures("faults")
def test_keep_in_a_file_is_overridden_by_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Conditions] = []
    original = spielleiter.match.runner.allocate_cores

    def allocate_cores(conditions: Conditions) -> Any:
        seen.append(conditions)
        return original(conditions)

    monkeypatch.setattr(spielleiter.match.runner, "allocate_cores", allocate_cores)
    settings = 'keep = "failed"\nrestart = "never"\nfail_on = ["crash"]\nreport_every = 2\nout = "result"\n'
    (tmp_path / "t.toml").write_text(settings + FILE)
    done = run("tournament", str(tmp_path / "t.toml"))
    assert done.exit_code == 0, done.stderr
    assert (seen[0].keep, seen[0].is_restarting) == (KeepPolicy.FAILED, False)
    assert "after 2 games" in done.stderr
    seen.clear()
    options = ("--keep", "all", "--restart", "always")
    assert run("tournament", *options, "--resume", str(tmp_path / "result")).exit_code == 0
    assert (seen[0].keep, seen[0].is_restarting) == (KeepPolicy.ALL, True)
    (tmp_path / "t.toml").write_text(f'keep = "some"\n{FILE}')
    assert "t.toml: keep 'some': expected none or failed or all" in run("tournament", str(tmp_path / "t.toml")).stderr


def test_a_tournament_file_has_a_key_for_every_shared_option(tmp_path: Path) -> None:
    where_played = {"cluster", "ship", "max_slowdown", "unencrypted"}  # is no part of a tournament
    of_this_run = {"file", "resume", *where_played}
    names = {str(each.name) for each in tournament.params} - of_this_run
    (tmp_path / "t.toml").write_text("no_such_key = 1\n")
    known = run("tournament", str(tmp_path / "t.toml")).stderr.partition("expected ")[2].strip().split(", ")
    assert names <= set(known)
    assert {"openings", "book"} <= set(known)


@pytest.mark.slow
def test_the_reports_link_to_the_pages_of_the_replays(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(
        'kind = "gauntlet"\ngames = 2\n[[program]]\nname = "a:b/c"\ncommand = "builtin:first"\n'
        '[[program]]\nname = "bad"\ncommand = "builtin:illegal"\n'
    )
    out = tmp_path / "out"
    options = ("tournament", str(tmp_path / "t.toml"), "--out", str(out))
    assert run(*options, "--pages", "none").exit_code == 0
    (match,) = (out / "matches").iterdir()
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
def test_pages_in_a_file_are_overridden_by_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def write_pages(_matches: object, choice: str, _command: str) -> list[Path]:
        seen.append(choice)
        return []

    monkeypatch.setattr("spielleiter.cli.tournament.write_pages", write_pages)
    (tmp_path / "t.toml").write_text(f'pages = "failed"\n{FILE}')
    out = str(tmp_path / "out")
    assert run("tournament", str(tmp_path / "t.toml"), "--out", out).exit_code == 0
    assert run("tournament", "--resume", out, "--pages", "all").exit_code == 0
    assert seen == ["failed", "all"]
    (tmp_path / "t.toml").write_text(f'pages = "some"\n{FILE}')
    assert "pages 'some': expected" in run("tournament", str(tmp_path / "t.toml")).stderr


@pytest.mark.usefixtures("faults")
def test_an_edition_is_saved_and_another_one_refused(file: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", file, "--out", str(out), "--edition", "blokus-2021-r1").exit_code == 0
    for folder in (out / "matches").iterdir():
        setup = load_setup(folder)
        assert (setup["edition"], setup["game_type"]) == ("blokus-2021-r1", "swc_2021_blokus")
    assert run("tournament", "--resume", str(out), "--edition", "blokus-2021-r1").exit_code == 0
    refused = run("tournament", "--resume", str(out), "--edition", "blokus-2021-r2")
    assert refused.exit_code == 2
    assert "--edition blokus-2021-r2 (begun with blokus-2021-r1)" in refused.stderr
    contradicting = run(
        "tournament", file, "--out", str(tmp_path), "--game", "swc_2018_hase_und_igel", "--edition", "blokus-2021-r1"
    )
    assert contradicting.exit_code == 2
    assert "that edition is of swc_2021_blokus" in contradicting.stderr


@pytest.mark.usefixtures("faults")
def test_a_command_is_run_at_the_end(file: str, tmp_path: Path) -> None:
    script = tmp_path / "on_end.py"
    script.write_text("import pathlib, sys; pathlib.Path(sys.argv[1], 'called').write_text(sys.argv[2]); sys.exit(9)")
    on_end = f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"
    for name, options, text in (
        ("a", ("--on-end", on_end), FILE),
        ("b", (), f"on_end = {json.dumps(on_end)}\n{FILE}"),
    ):
        Path(file).write_text(text)
        out = tmp_path / name
        done = run("tournament", file, "--out", str(out), *options)
        assert done.exit_code == 0
        assert f"--on-end {sys.executable}: ended with exit code 9" in done.stderr
        assert (out / "called").read_text() == str(out / "table.json")


@pytest.mark.usefixtures("faults")
def test_programs_have_settings_and_games_have_cores(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "usable_cores", lambda: [0, 1, 2])
    Path(file).write_text(f"cores_per_game = 2\nconcurrency = 2\n{FILE}time_factor = 2.0\nsoft_timeout = 700\n")
    done = run("tournament", file, "--out", str(tmp_path / "out"))
    assert done.exit_code == 0
    assert "3 processor cores, 2 for each game: 1 game at a time, not 2" in done.stderr
    last = load_setup(next((tmp_path / "out" / "matches").glob("*_c")))["entrants"][1]
    assert (last["time_factor"], last["soft_timeout"]) == (2.0, 0.7)
    refused = run("tournament", file, "--out", str(tmp_path / "other"), "--cores-per-game", "4")
    assert refused.exit_code == 2
    assert "each game needs 4 cores, there are 3" in refused.stderr


def write(folder: Path, text: str) -> str:
    (folder / "t.toml").write_text(text)
    return str(folder / "t.toml")


def matches_in(out: Path) -> list[Path]:
    return sorted((out / "matches").iterdir())


@pytest.mark.usefixtures("faults")
@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("", ("--significance", "0.05", "--min-tests", "30")),
        ("significance = 0.05\nmin_tests = 30\n", ()),
        ("significance = 0.05\n", ("--min-tests", "30")),
    ],
)
def test_each_match_ends_once_one_program_is_better(lines: str, options: tuple[str, ...], tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("tournament", write(tmp_path, lines + LONG), "--out", str(out), *options)
    assert done.exit_code == 0, done.stderr
    assert [len(read_journal(folder)) for folder in matches_in(out)] == [30] * 3
    for folder in matches_in(out):
        setup, summary = load_setup(folder), json.loads((folder / "summary.json").read_text())
        assert (setup["significance"], setup["min_games"]) == (0.05, 30)
        assert (summary["significance"]["risk"], summary["better"]) == (0.05, 0)
    table = (out / "table.md").read_text()
    assert table.count("of 20, risk 0.05: a\\|b is better") == 2
    assert "| match | games | score | Elo, 95 % | significance |" in table


@pytest.mark.usefixtures("faults")
def test_ratings_are_differences_from_the_program_that_an_option_names(tmp_path: Path) -> None:
    out, file = tmp_path / "out", write(tmp_path, FILE)
    done = run("tournament", file, "--out", str(out), "--anchor", "d")
    assert done.exit_code == 2
    assert "anchor 'd': expected the name of a program, 'a|b' or 'b' or 'c'" in done.stderr
    done = run("tournament", file, "--out", str(out), "--anchor", "b")
    assert done.exit_code == 0, done.stderr
    title, head = "## Ratings: difference from b", "|  | program | rating |"
    ratings = done.stdout.partition(title)[2]
    assert ratings.startswith(f"\n\n{head}")
    assert "| 2 | b | +0 |" in ratings
    assert title in run("tournament", "--resume", str(out)).stdout
    assert "## Ratings: difference from c" in run("tournament", "--resume", str(out), "--anchor", "c").stdout


@pytest.mark.usefixtures("faults")
def test_a_resumed_tournament_keeps_its_test_and_plays_no_decided_match_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write(tmp_path, LONG), "--out", str(out), "--significance", "0.05").exit_code == 0
    played = [len(read_journal(folder)) for folder in matches_in(out)]
    assert played == [20] * 3
    done = run("tournament", "--resume", str(out), "--significance", "0.05")
    assert done.exit_code == 0, done.stderr
    assert "game " not in done.stderr
    assert [len(read_journal(folder)) for folder in matches_in(out)] == played


@pytest.mark.usefixtures("faults")
def test_without_time_limits_no_program_has_any(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    assert run("tournament", write(tmp_path, FILE), "--out", str(out), "--no-timeout").exit_code == 0
    assert run("tournament", "--resume", str(out)).exit_code == 0
    assert run("tournament", write(tmp_path, "no_timeout = true\n" + FILE), "--out", str(other)).exit_code == 0
    for folder in (*matches_in(out), *matches_in(other)):
        assert not any(entrant["can_timeout"] for entrant in load_setup(folder)["entrants"])


@pytest.mark.parametrize(("lines", "options"), [("", ("--fail-fast",)), ("fail_fast = true\n", ())])
def test_with_fail_fast_the_first_fault_interrupts_the_tournament(
    lines: str, options: tuple[str, ...], faults: dict[str, GameRecord], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    faults["b"] = fault(1, 0, Verdict.CRASH)
    done = run("tournament", write(tmp_path, lines + FILE), "--out", str(out), "--fail-on", "crash", *options)
    assert done.exit_code == 3
    assert f"a program failed; --resume {out} continues" in done.stdout
    assert [len(read_journal(folder)) for folder in matches_in(out)] == [4, 4, 1]
    assert run("tournament", "--resume", str(out)).exit_code == 0
    assert [len(read_journal(folder)) for folder in matches_in(out)] == [4, 4, 4]


@pytest.mark.usefixtures("faults")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--significance", "0.1"), "--significance 0.1 (begun with 0.05)"),
        (("--min-tests", "50"), "--min-tests 50 (begun with 30)"),
        (("--no-timeout",), "--no-timeout (begun without)"),
        (("--game", "swc_2021_blokus"), "--game swc_2021_blokus (begun with swc_2027_blokus)"),
    ],
)
def test_a_resumed_tournament_refuses_other_tests_and_limits(
    options: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    file = write(tmp_path, "significance = 0.05\nmin_tests = 30\n" + FILE)
    assert run("tournament", file, "--out", str(out)).exit_code == 0
    refused = run("tournament", "--resume", str(out), *options)
    assert refused.exit_code == 2
    assert problem in refused.stderr


@pytest.mark.parametrize(
    ("lines", "options", "problem"),
    [
        ("significance = 0.1\n", ("--significance", "0.05"), "t.toml says significance = 0.1; leave one of them out"),
        ("min_tests = 30\n", (), "min_tests: has no effect without significance"),
        ("", ("--min-tests", "30"), "min_tests: has no effect without significance"),
        ("significance = 2\n", (), "significance 2: expected more than 0 and at most 0.5"),
        ('significance = "much"\n', (), "significance 'much': expected a number"),
        ('fail_fast = "yes"\n', (), "fail_fast 'yes': expected true or false"),
        ("no_timeout = 1\n", (), "no_timeout 1: expected true or false"),
    ],
)
def test_contradictions_are_refused(lines: str, options: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    refused = run("tournament", write(tmp_path, lines + FILE), "--out", str(tmp_path / "out"), *options)
    assert refused.exit_code == 2
    assert problem in refused.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("faults")
def test_a_knock_out_has_a_champion(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(CUP)
    out = tmp_path / "out"
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(out))
    assert done.exit_code == 0, done.stderr
    assert "swc_2027_blokus (blokus-2027), final: a|b against b, 4 games\n" in done.stdout
    lines = (out / "table.md").read_text().splitlines()
    assert lines[0] == "swc_2027_blokus (blokus-2027): knock-out of 3 programs, 4 games a match, seed 0"
    assert lines[4:9] == [
        "|  | program | reached | seeded |",
        "|--:|---|---|--:|",
        "| 1 | a\\|b | champion | 1 |",
        "| 2 | b | final | 2 |",
        "| 3 | c | semi-final | 3 |",
    ]
    assert lines[-2] == "| semi-final | a\\|b | bye | – | – | – | – |"
    assert lines[-1].startswith("| final | a\\|b – b | 4 | 4 : 0 | +∞ ")
    assert lines[-1].endswith(" | a\\|b | score |")
    report = json.loads((out / "tournament.json").read_text())
    assert report["season"] == "swc_2027_blokus (blokus-2027)"
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
    page = (out / "report.html").read_text()
    assert '<a href="./matches/002_a_b_b/report.html">a|b – b</a>' in page


@pytest.mark.usefixtures("faults")
def test_a_swiss_tournament_has_standings(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(SWISS)
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    lines = (tmp_path / "out" / "table.md").read_text().splitlines()
    assert lines[0] == ("swc_2027_blokus (blokus-2027): Swiss system, 2 rounds, of 3 programs, 4 games a match, seed 0")
    assert lines[6:9] == [
        "| 1 | a\\|b | 2 | 2 | 2 | 0 | 0 | 0 | 100.0 % | 1 |",
        "| 2 | b | 1 | 3 | 0 | 0 | 1 | 1 | 0.0 % | 2 |",
        "| 3 | c | 1 | 3 | 0 | 0 | 1 | 1 | 0.0 % | 3 |",
    ]


@pytest.mark.parametrize("text", [CUP, SWISS])
@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.usefixtures("faults")
def test_a_resumed_tournament_keeps_its_pairings(text: str, cut: int, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "t.toml").write_text(text)
    assert run("tournament", str(tmp_path / "t.toml"), "--out", str(out)).exit_code == 0
    reports = {name: (out / name).read_text() for name in ("table.md", "tournament.json", "report.html")}
    folders = sorted(folder.name for folder in (out / "matches").iterdir())
    # the state after an interruption in this match
    for folder in sorted((out / "matches").iterdir())[cut:]:
        shutil.rmtree(folder)
    journal = out / "matches" / folders[cut - 1] / "games.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:1]))
    done = run("tournament", "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("game ") == 3 + 4 * (2 - cut)
    assert sorted(folder.name for folder in (out / "matches").iterdir()) == folders
    assert {name: (out / name).read_text() for name in reports} == reports
    # there is nothing left to play
    again = run("tournament", "--resume", str(out))
    assert (again.exit_code, again.stderr) == (0, "")
    assert {name: (out / name).read_text() for name in reports} == reports


def test_a_program_that_cannot_play_is_eliminated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_where_b_does_not_start)
    (tmp_path / "t.toml").write_text(CUP)
    out = tmp_path / "out"
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(out))
    assert done.exit_code == 5
    assert "b cannot play: does not start" in done.stderr
    text = (out / "table.md").read_text()
    assert r"| semi-final | b – c | 2 of 4: b cannot play | 0 : 2 | −∞ \[−∞, +∞\] | c | the other cannot play |" in text
    again = run("tournament", "--resume", str(out))
    assert again.exit_code == 5
    assert "b cannot play: does not start" in again.stderr
    assert again.stdout.splitlines()[-1] == done.stdout.splitlines()[-1]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The programs of each game, in the order of playing; the stronger one wins."""
    games: list[tuple[str, str]] = []

    async def play_game(setup: MatchSetup, planned: PlannedGame, _folder: Path, *_more: object) -> GameRecord:
        games.append(setup.names)
        first, second = (STRENGTHS[name] for name in setup.names)
        return game(planned.game, int(second > first), names=setup.names, pair=planned.pair, seats=planned.seats)

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
    (folder / "t.toml").write_text(text)
    return str(folder / "t.toml")


def table(out: Path) -> dict[str, tuple[int, int]]:
    """Wins and losses by program."""
    lines: list[dict[str, Any]] = json.loads((out / "table.json").read_text())
    return {line["name"]: (line["wins"], line["losses"]) for line in lines}


def left_out(out: Path) -> list[tuple[list[str], int, str]]:
    found = json.loads((out / "tournament.json").read_text())["left_out"]
    return [(each["programs"], each["games"], each["reason"]) for each in found]


def test_a_program_joins_a_tournament(played: list[tuple[str, str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write_file(tmp_path, "xz"), "--out", str(out)).exit_code == 0
    # at the beginning and in the middle, so that all numbers change
    done = run("tournament", write_file(tmp_path, "wxyz"), "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert played.count(("x", "z")) == 2
    assert len(played) == 2 * 6
    assert table(out) == {"w": (6, 0), "x": (4, 2), "y": (2, 4), "z": (0, 6)}
    assert done.stdout.endswith(report := (out / "table.md").read_text())
    again = run("tournament", "--resume", str(out))
    assert (again.exit_code, len(played)) == (0, 12)
    assert again.stdout.endswith(report)


def test_a_program_leaves_a_tournament_and_comes_back(played: list[tuple[str, str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write_file(tmp_path, "wxyz"), "--out", str(out)).exit_code == 0
    done = run("tournament", write_file(tmp_path, "xyz"), "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert len(played) == 12
    assert table(out) == {"x": (4, 0), "y": (2, 2), "z": (0, 4)}
    assert left_out(out) == [([first, second], 2, "w no longer takes part") for first, second in ("wx", "wy", "wz")]
    assert "## Not counted" in done.stdout
    assert run("tournament", write_file(tmp_path, "wxyz"), "--resume", str(out)).exit_code == 0
    assert len(played) == 12
    assert table(out)["w"] == (6, 0)
    assert left_out(out) == []


def test_the_order_of_the_programs_does_not_matter(played: list[tuple[str, str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write_file(tmp_path, "xyz"), "--out", str(out)).exit_code == 0
    assert run("tournament", write_file(tmp_path, "zyx"), "--resume", str(out)).exit_code == 0
    assert len(played) == 6
    assert table(out) == {"x": (4, 0), "y": (2, 2), "z": (0, 4)}
    # what is added to a match has the order of that match
    assert run("tournament", write_file(tmp_path, "zyx", "games = 4"), "--resume", str(out)).exit_code == 0
    assert len(played) == 12
    assert table(out) == {"x": (8, 0), "y": (4, 4), "z": (0, 8)}
    assert sorted(load_setup(each)["games"] for each in (out / "matches").iterdir()) == [4, 4, 4]
    assert {record.names for each in (out / "matches").iterdir() for record in read_journal(each)} == {
        ("x", "y"),
        ("x", "z"),
        ("y", "z"),
    }


def test_a_new_version_of_a_program_plays_its_matches_again(played: list[tuple[str, str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write_file(tmp_path, "xyz"), "--out", str(out)).exit_code == 0
    file = write_file(tmp_path, "xyz", contents={"y": "another version"})
    done = run("tournament", file, "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert played[6:] == [("x", "y")] * 2 + [("y", "z")] * 2
    assert table(out) == {"x": (4, 0), "y": (2, 2), "z": (0, 4)}
    assert left_out(out) == [(["x", "y"], 2, "y has changed since"), (["y", "z"], 2, "y has changed since")]
    assert len(list((out / "matches").iterdir())) == 5


@pytest.mark.usefixtures("played")
@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ("games = 2\nseed = 3", "other values of seed"),
        ("games = 2\nkind = 'swiss'", "other values of kind"),
        ("games = 2\nsoft_timeout = 500", "other values of time limits or rules"),
        ("games = 2\nsprt = 'elo0=0 elo1=5'", "other values of sprt"),
        ("games = 1", "other values of games"),
    ],
)
def test_matches_that_could_not_be_compared_are_refused(head: str, problem: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("tournament", write_file(tmp_path, "xy"), "--out", str(out)).exit_code == 0
    kept = (out / "tournament.toml").read_text()
    done = run("tournament", write_file(tmp_path, "xyz", head), "--resume", str(out))
    assert done.exit_code == 2
    assert problem in done.stderr
    assert (out / "tournament.toml").read_text() == kept


def test_rounds_are_paired_anew_and_no_match_is_lost(played: list[tuple[str, str]], tmp_path: Path) -> None:
    head = "games = 2\nkind = 'knock-out'\nseeding = 'listed'"
    out = tmp_path / "out"
    assert run("tournament", write_file(tmp_path, "wxyz", head), "--out", str(out)).exit_code == 0
    assert played[::2] == [("w", "z"), ("x", "y"), ("w", "x")]
    done = run("tournament", write_file(tmp_path, "wxz", head), "--resume", str(out))
    assert done.exit_code == 0, done.stderr
    assert played[6::2] == [("x", "z")]  # the final of w and x is known
    assert "champion" in done.stdout
    assert left_out(out) == [(["w", "z"], 2, "this pairing is not played"), (["x", "y"], 2, "y no longer takes part")]
