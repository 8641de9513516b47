"""`spielleiter match --resume` and `match FILE`: the folder of a match and its options."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import spielleiter.match.runner
from spielleiter.cli.match import match_command
from spielleiter.cli.match_options import refuse_changed_options
from spielleiter.cli.running import Misuse
from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant, MatchSetup, Opening, PlannedGame, ProgramTimeouts
from spielleiter.match.records import GameRecord, load_setup, open_journal, read_journal
from spielleiter.match.verdict import Verdict
from spielleiter.programs.command import Command
from spielleiter.programs.this_platform import PLATFORM
from tests.cli.background import misuse, run
from tests.cli.matches import MATCH, play, setup_of
from tests.documents import blocks
from tests.match.sample_records import fault, game

pytestmark = pytest.mark.usefixtures("games")
FOLDER = Path("result")
PLAN: dict[str, Any] = {
    "entrants": (Entrant("new", "./new --fast", can_timeout=False), Entrant("old", "old.jar")),
    "game_type": "chess",
    "games": 100,
    "seed": 7,
    "run_id": "0123",
}
OWN = MatchSetup(
    **PLAN,
    server_options={"soft_timeout": 1.5, "start_piece": "PENTO_Y"},
    timeouts=ProgramTimeouts(10, 2, 60),
    sprt="elo0=0 elo1=50",
    significance=0.05,
    min_games=30,
)
ELSEWHERE = MatchSetup(**PLAN, server=("example.org", 7))
APART = MatchSetup(
    **{
        **PLAN,
        "entrants": (
            Entrant(
                "new",
                "./new",
                cwd="there",
                environment={"A": "b"},
                passed_variables=("C", "D"),
                memory=9,
                time_factor=2.0,
                soft_timeout=0.7,
            ),
            Entrant("old", "old.jar"),
        ),
    }
)
FILE = """
games = 4
seed = 7
soft_timeout = 1500
fail_on = ["crash", "illegal"]
start_server = true

[[program]]
name = "new"
command = "builtin:greedy"
timeout = false

[[program]]
command = "builtin:random"
time_factor = 2.5
hard_timeout = 20000
"""


def test_a_resumed_match_plays_the_missing_games(games: dict[int, GameRecord], tmp_path: Path) -> None:
    assert play(tmp_path, "--seed", "7").exit_code == 0
    journal = tmp_path / "out" / "games.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join([lines[0], lines[2], lines[3][:40]]))
    games |= {number: game(number, 1) for number in range(1, 5)}
    done = run("match", "--resume", str(tmp_path / "out"))
    assert done.exit_code == 0
    assert "greedy against random, 4 games, seed 7" in done.stdout
    assert {record.game: record.winner for record in read_journal(tmp_path / "out")} == {1: 0, 2: 1, 3: 0, 4: 1}


def test_a_resumed_match_refuses_changed_options(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    assert play(tmp_path, "--seed", "7").exit_code == 0
    done = run(*MATCH, "--resume", out, "-n", "2", "--seed", "7", "--soft-timeout", "9", "-j", "2")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"spielleiter: --resume {out}: the match was begun with other options: --games 2 (begun with 4), "
        "--soft-timeout 9 (begun with 2000); leave those options out to continue it, "
        "or begin another match in another folder\n"
    )
    again = run(*MATCH, "--resume", out, "--out", out, "-n", "4", "--seed", "7", "-j", "2", "--fail-on", "any")
    assert again.exit_code == 0
    assert len(read_journal(tmp_path / "out")) == 4


def test_a_match_is_extended_by_a_higher_number_of_games(games: dict[int, GameRecord], tmp_path: Path) -> None:
    assert play(tmp_path, "--seed", "7", games=3).exit_code == 0
    games |= {number: game(number, 1) for number in range(1, 9)}
    done = run("match", "--resume", str(tmp_path / "out"), "-n", "8")
    assert done.exit_code == 0, done.stderr
    assert "extended from 3 to 8 games" in done.stderr
    assert [record.winner for record in read_journal(tmp_path / "out")] == [0, 0, 0, 1, 1, 1, 1, 1]
    assert setup_of(tmp_path)["games"] == 8


def test_a_match_is_not_resumed_with_another_version_of_a_program(tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    bot.write_text("#!/bin/sh\n# one")
    bot.chmod(0o755)
    options = ("--player1", str(bot), "--player2", "builtin:first", "--out", str(tmp_path / "out"))
    assert run("match", *options, "-n", "4").exit_code == 0
    bot.write_text("#!/bin/sh\n# two")
    done = run("match", "--resume", str(tmp_path / "out"), "-n", "8")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "has changed since the match" in done.stderr
    assert setup_of(tmp_path)["games"] == 4
    bot.write_text("#!/bin/sh\n# one")
    assert run("match", "--resume", str(tmp_path / "out"), "-n", "8").exit_code == 0


def test_a_journal_that_a_program_changes_during_the_match_is_restored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    journal = tmp_path / "out" / "games.jsonl"

    async def play_game(setup: MatchSetup, planned: PlannedGame, *_: object) -> GameRecord:
        if planned.game == 3:
            journal.write_text(journal.read_text().replace('"winner": 0', '"winner": 1'))
        return game(planned.game, 0, names=setup.names, seats=planned.seats, pair=planned.pair)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    done = play(tmp_path)
    assert done.exit_code == 0
    assert "was changed by another program" in done.stderr
    assert "greedy: +4 =0 -0" in done.stdout
    assert [record.winner for record in read_journal(tmp_path / "out")] == [0, 0, 0, 0]


def test_a_resumed_match_starts_its_programs_where_it_was_begun(
    games: dict[int, GameRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, other = tmp_path / "begun", tmp_path / "other"
    original.mkdir()
    other.mkdir()
    (original / "my bot").touch(0o755)
    monkeypatch.chdir(original)
    assert run("match", "--player1", "my bot", "--player2", "builtin:first", "-n", "2", "--out", "out").exit_code == 0
    seen: list[tuple[str, ...]] = []

    async def play_game(setup: MatchSetup, planned: PlannedGame, *_: object) -> GameRecord:
        seen.append((setup.cwd, Command.parse(setup.entrants[0].command, setup.cwd).words[0]))
        return game(planned.game, 0)

    monkeypatch.setattr(spielleiter.match.runner, "play_game", play_game)
    (original / "out" / "games.jsonl").write_text("")
    monkeypatch.chdir(other)
    done = run("match", "--resume", "../begun/out")
    assert done.exit_code == 0, done.stderr
    assert seen == [(str(original), "./my bot")] * 2

    (original / "out").rename(other / "out")
    (original / "my bot").unlink()
    original.rmdir()
    done = run("match", "--resume", "out")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"spielleiter: {original}: the directory that the programs are started in does not exist\n"


def test_a_folder_that_cannot_be_used_is_misuse_before_the_first_game(tmp_path: Path) -> None:
    assert play(tmp_path).exit_code == 0
    out = tmp_path / "out"
    assert "is there a match?" in run("match", "--resume", str(tmp_path)).stderr
    with open_journal(out):
        done = run("match", "--resume", str(out))
    assert (done.exit_code, done.stderr) == (2, f"spielleiter: {out}: another match is being played in this folder\n")
    (tmp_path / "file").touch()
    done = run(*MATCH, "--out", str(tmp_path / "file" / "out"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "cannot be written (Not a directory)" in done.stderr


def test_control_characters_in_names_are_escaped(games: dict[int, GameRecord], tmp_path: Path) -> None:
    games[1] = fault(1, 1, Verdict.CRASH, reason="\x1b[2J")
    done = play(tmp_path, "--name1", "a\x1b[2J\u202e", games=2)
    assert done.exit_code == 0
    assert done.stdout.replace("\n", "").isprintable()
    assert done.stderr.replace("\n", "").isprintable()
    assert r"a\x1b[2J\u202e: +2 =0 -0" in done.stdout


def test_every_option_is_either_changeable_or_compared() -> None:
    for name in {str(each.name) for each in match_command.params if each.expose_value} - {"combine", "resume"}:
        with suppress(Misuse, SetupError, TypeError, AttributeError):  # this is no value of an option
            refuse_changed_options(FOLDER, OWN, {name: object()})
    with pytest.raises(AssertionError, match="neither fixed nor changeable"):
        refuse_changed_options(FOLDER, OWN, {"new_option": 1})


@pytest.mark.parametrize(
    ("setup", "asked"),
    [
        (OWN, {"player1": "./new --fast", "name1": "new", "player2": "old.jar", "name2": "old"}),
        (OWN, {"games": 200, "game": "chess", "seed": 7, "opening_turn": 0, "start_piece": "PENTO_Y"}),
        (OWN, {"soft_timeout": 1500, "hard_timeout": 10_000, "no_timeout1": True}),
        (OWN, {"start_timeout": 10.0, "exit_timeout": 2.0, "game_timeout": 60.0}),
        (OWN, {"sprt": "elo1=50,elo0=0", "significance": 0.05, "min_tests": 30}),
        (OWN, {"start_server": True, "server": "example.org:9"}),
        (OWN, {"concurrency": 3, "pin": True, "fail_fast": True, "fail_on": ("any",), "require": "better"}),
        (OWN, {"password": "secret", "out": Path("other") / ".." / "result", "on_end": ["true"], "cores_per_game": 2}),
        (ELSEWHERE, {"server": "example.org:7"}),
        (ELSEWHERE, {"host": "example.org", "min_tests": 20}),
        (ELSEWHERE, {"port": 7}),
        (OWN, {"cwd1": None, "env1": None, "memory2": None, "time_factor1": 1.0}),
        (APART, {"pass_env1": ("C", "D"), "pass_env2": None}),
        (APART, {"cwd1": "there", "env1": {"A": "b"}, "memory1": 9, "time_factor1": 2.0, "soft_timeout1": 700}),
    ],
)
def test_options_that_agree_with_the_plan_or_do_not_affect_it_are_accepted(
    setup: MatchSetup, asked: dict[str, Any]
) -> None:
    refuse_changed_options(FOLDER, setup, asked)


@pytest.mark.parametrize(
    ("setup", "asked", "difference"),
    [
        (OWN, {"player1": "./newer"}, "--player1 ./newer (begun with ./new --fast)"),
        (OWN, {"name2": "older"}, "--name2 older (begun with old)"),
        (OWN, {"games": 50}, "--games 50 (begun with 100)"),
        (OWN, {"game": "go"}, "--game go (begun with chess)"),
        (OWN, {"start_piece": "MONO"}, "--start-piece MONO (begun with PENTO_Y)"),
        (OWN, {"game_end": "noMovesLeft"}, "--game-end noMovesLeft (begun without)"),
        (OWN, {"hard_timeout": 3000}, "--hard-timeout 3000 (begun with 10000)"),
        (ELSEWHERE, {"soft_timeout": 2000}, "--soft-timeout 2000 (begun without)"),
        (OWN, {"no_timeout": True}, "--no-timeout (begun without)"),
        (OWN, {"no_timeout2": True}, "--no-timeout2 (begun without)"),
        (OWN, {"exit_timeout": 5.0}, "--exit-timeout 5.0 (begun with 2)"),
        (OWN, {"sprt": "elo0=0 elo1=10"}, "--sprt elo0=0 elo1=10 (begun with elo0=0 elo1=50)"),
        (OWN, {"significance": 0.01}, "--significance 0.01 (begun with 0.05)"),
        (OWN, {"min_tests": 20}, "--min-tests 20 (begun with 30)"),
        (OWN, {"host": "example.org"}, "--host example.org (begun with the match's own server)"),
        (ELSEWHERE, {"port": 8}, "--port 8 (begun with example.org:7)"),
        (ELSEWHERE, {"start_server": True}, "--start-server (begun with example.org:7)"),
        (OWN, {"opening_turn": 3}, "--opening-turn 3 (begun with 0)"),
        (OWN, {"openings": Path("one.xml")}, "--openings one.xml (begun without)"),
        (APART, {"memory1": 8}, "--memory1 8 (begun with 9)"),
        (APART, {"soft_timeout1": 800}, "--soft-timeout1 800 (begun with 700)"),
        (APART, {"cwd2": "there"}, "--cwd2 there (begun without)"),
        (APART, {"env1": {"A": "c"}}, "--env1 A=c (begun with A=b)"),
        (APART, {"pass_env1": ("C",)}, "--pass-env1 C (begun with C,D)"),
        (OWN, {"out": Path("other")}, "--out other (begun in result)"),
    ],
)
def test_options_that_differ_from_the_plan_are_refused(
    setup: MatchSetup, asked: dict[str, Any], difference: str
) -> None:
    with pytest.raises(Misuse) as refused:
        refuse_changed_options(FOLDER, setup, asked)
    assert refused.value.message == (
        f"--resume result: the match was begun with other options: {difference}; "
        "leave that option out to continue it, or begin another match in another folder"
    )


def test_programs_with_equal_names_are_recognised() -> None:
    one, two = "bot (1)", "bot (2)"
    setup = MatchSetup(**{**PLAN, "entrants": (Entrant(one, "a"), Entrant(two, "b"))})
    refuse_changed_options(FOLDER, setup, {"name1": "bot", "name2": "bot"})
    with pytest.raises(Misuse, match=f"--name1 {re.escape(two)}"):
        refuse_changed_options(FOLDER, setup, {"name1": two})


def test_openings_are_compared_by_their_files(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.xml", "b.xml")]
    for file in files:
        file.touch()
    setup = MatchSetup(**PLAN, openings=tuple(Opening(file.name, str(file), 3) for file in files))
    refuse_changed_options(FOLDER, setup, {"openings": tmp_path, "opening_turn": 3})
    with pytest.raises(Misuse) as refused:
        refuse_changed_options(FOLDER, setup, {"openings": files[0], "opening_turn": 3})
    assert f"--openings {files[0]} (begun with 2 of {tmp_path})" in refused.value.message
    one = MatchSetup(**PLAN, openings=(Opening("a.xml", str(files[0])),))
    with pytest.raises(Misuse) as refused:
        refuse_changed_options(FOLDER, one, {"openings": tmp_path})
    assert f"--openings {tmp_path} (begun with {files[0]})" in refused.value.message


@pytest.mark.parametrize(
    ("asked", "problem"), [({"sprt": "oh"}, "SPRT"), ({"openings": Path(__file__).parent}, "holds no replay")]
)
def test_invalid_options_are_reported_as_for_a_new_match(asked: dict[str, Any], problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        refuse_changed_options(FOLDER, OWN, asked)


def play_file(folder: Path, *options: str, text: str = FILE) -> Any:
    (folder / "m.toml").write_text(text, encoding="utf-8")
    return run("match", *options, str(folder / "m.toml"), "--out", str(folder / "out"))


def test_a_file_sets_the_same_options_which_take_precedence(tmp_path: Path) -> None:
    done = play_file(tmp_path)
    assert done.exit_code == 0, done.stderr
    setup = MatchSetup.from_json(load_setup(tmp_path / "out"))
    assert (setup.games, setup.seed, setup.names) == (4, 7, ("new", "random"))
    assert [entrant.can_timeout for entrant in setup.entrants] == [False, True]
    assert setup.server_options == {"soft_timeout": 1.5}
    assert (setup.entrants[1].time_factor, setup.entrants[1].hard_timeout) == (2.5, 20.0)
    out = str(tmp_path / "other")
    done = run("match", str(tmp_path / "m.toml"), "--out", out, "-n", "6", "--name1", "newer", "--time-factor2", "1")
    assert done.exit_code == 0, done.stderr
    setup = MatchSetup.from_json(load_setup(tmp_path / "other"))
    assert (setup.games, setup.names, setup.entrants[1].time_factor) == (6, ("newer", "random"), 1.0)


def test_a_match_from_a_file_is_resumed_without_it(tmp_path: Path) -> None:
    assert play_file(tmp_path).exit_code == 0
    assert run("match", "--resume", str(tmp_path / "out")).exit_code == 0
    refused = run("match", "--resume", str(tmp_path / "out"), "--time-factor2", "3")
    assert "--time-factor2 3.0 (begun with 2.5)" in refused.stderr
    assert (
        misuse("match", str(tmp_path / "m.toml"), "--resume", str(tmp_path / "out"))
        == "spielleiter match: expected a FILE, or --resume DIR, and not both\n"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("games = 4", "kind = 'gauntlet'"), "m.toml: kind: there is no such key, expected program, cwd, games"),
        (("games = 4", "player1 = 'x'"), "m.toml: player1: there is no such key"),
        (("games = 4", "games = 'many'"), "m.toml: games 'many': expected a whole number"),
        (("games = 4", "games = 2.7"), "m.toml: games 2.7: expected a whole number"),
        (("games = 4", "games = true"), "m.toml: games True: expected a whole number"),
        (("games = 4", "cwd = 'here'"), "m.toml: cwd 'here': expected an absolute path"),
        (('[[program]]\nname = "new"', '[[program]]\ncommand = "builtin:first"\n[[program]]'), "expected 2 programs"),
        (("time_factor = 2.5", "memory = 9"), "builtin:random plays without a process of its own"),
        (("games = 4", "games ="), "m.toml: Invalid value"),
        (("games = 4", f"games = {'9' * 5000}"), "m.toml: "),
        (("games = 4", 'book = "/nowhere/replays"'), "/nowhere/replays"),
        (("games = 4", 'book = "a"\nopenings = "b"'), "m.toml: book and openings are two names of the same setting"),
    ],
)
def test_errors_in_a_file_are_reported(change: tuple[str, str], problem: str, tmp_path: Path) -> None:
    done = play_file(tmp_path, text=FILE.replace(*change))
    assert done.exit_code == 2
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_book_is_named_once_on_the_command_line(tmp_path: Path) -> None:
    done = play_file(tmp_path, "--book", "a", "--openings", "b")
    assert done.exit_code == 2
    assert "--book and --openings are names of the same option, expected one value, not a, b" in done.stderr


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for key in ("book", "openings"):
        text = FILE.replace("games = 4", f'{key} = "none.txt"')
        assert f"openings {tmp_path / 'none.txt'}: cannot be read" in play_file(tmp_path, text=text).stderr
        assert "openings other.txt: cannot be read" in play_file(tmp_path, f"--{key}", "other.txt", text=text).stderr
    (tmp_path / "m.toml").write_text(FILE.replace("games = 4", 'out = "result"'), encoding="utf-8")
    assert run("match", str(tmp_path / "m.toml")).exit_code == 0
    assert (tmp_path / "result" / "summary.json").exists()


def test_the_file_in_the_document_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLATFORM, "usable_cores", lambda: [0, 1, 2, 3])
    (block,) = blocks("docs/match.md", "toml", "A match in a file")
    (tmp_path / "new").mkdir()
    bot = tmp_path / "new" / "bot"
    bot.write_text("#!/bin/sh\n")
    bot.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    done = play_file(tmp_path, text=block.text)
    assert done.exit_code == 0, done.stderr
    setup = MatchSetup.from_json(load_setup(tmp_path / "out"))
    assert setup.entrants[0].environment == {"BOT_LEVEL": "3"}
    assert setup.cwd_of(0) == str(tmp_path / "new")
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["sprt"]["decision"] == "H1"
