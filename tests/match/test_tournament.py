"""The description of a tournament, and the files that it and its programs are read from."""

from __future__ import annotations

import codecs
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant, ProgramTimeouts
from spielleiter.match.toml_files import PROGRAM_KEYS, read_entrant
from spielleiter.match.tournament import Tournament, TournamentKind, read_tournament

ENTRANTS = tuple(Entrant(name, f"./{name}") for name in ("a", "b", "c d/e"))


def test_each_match_has_its_own_folder_and_the_same_starts() -> None:
    tournament = Tournament(ENTRANTS, games=4, game_type="chess", seed=7)
    folders = [tournament.folder_of(number, pairing) for number, pairing in enumerate(tournament.pairings(), 1)]
    assert folders == ["matches/001_a_b", "matches/002_a_c_d_e", "matches/003_b_c_d_e"]
    first, second = (tournament.match_of(pairing, "run") for pairing in [(0, 1), (1, 2)])
    assert first.plan() == second.plan()
    assert second.names == ("b", "c d/e")


@pytest.mark.parametrize(
    ("tournament", "problem"),
    [
        ({"entrants": ENTRANTS[:1]}, "at least 2 programs, found 1"),
        ({"entrants": (*ENTRANTS, ENTRANTS[0])}, "called 'a'"),
        ({"anchor": "nobody"}, "anchor 'nobody'"),
        ({"min_games": 5}, "min_tests: has no effect without significance"),
        (
            {"kind": TournamentKind.GAUNTLET, "tested": 3},
            "tested = 3: expected at least 1, and fewer than the 3 programs",
        ),
        (
            {"kind": TournamentKind.SWISS, "rounds": 4},
            "rounds = 4: expected 1 to 3, since 3 programs would have to meet again",
        ),
    ],
)
def test_an_invalid_tournament_is_refused(tournament: dict[str, Any], problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        Tournament(**{"entrants": ENTRANTS, **tournament})


FILE = """
kind = "gauntlet"
games = 20
game = "go"
seed = 7
concurrency = 2
soft_timeout = 1500
start_piece = "PENTO_Y"
exit_timeout = 2.5
game_timeout = 60
[[program]]
name = "new"
command = "./new --fast"
timeout = false
[[program]]
name = "greedy"
command = "builtin:greedy"
"""
PROGRAMS = Entrant("new", "./new --fast", can_timeout=False), Entrant("greedy", "builtin:greedy")


def read(folder: Path, text: str) -> Tournament:
    (folder / "t.toml").write_text(text, encoding="utf-8")
    return read_tournament(folder / "t.toml", "chess")


def test_a_file_can_have_all_keys_but_needs_only_programs(tmp_path: Path) -> None:
    assert read(tmp_path, FILE) == Tournament(
        entrants=PROGRAMS,
        kind=TournamentKind.GAUNTLET,
        games=20,
        game_type="go",
        seed=7,
        concurrency=2,
        server_options={"soft_timeout": 1.5, "start_piece": "PENTO_Y"},
        timeouts=ProgramTimeouts(exit=2.5, game=60),
    )
    assert read(tmp_path, FILE[FILE.index("[[program]]") :]) == Tournament(PROGRAMS, game_type="chess")
    assert read(tmp_path, FILE.replace("exit_timeout = 2.5", "exit_timeout = 0")).timeouts.exit == 0
    tournament = read(tmp_path, f"cwd = {str(tmp_path)!r}\n{FILE}")
    assert tournament.match_of((0, 1), "run").cwd == str(tmp_path)


@pytest.mark.parametrize(
    ("kind", "lines", "options"),
    [
        ("swiss", "", {}),
        (
            "swiss",
            "rounds = 1\nseeding = 'listed'\nbook = '/book.txt'\norder = 'random'\nopening_turn = 8",
            {"rounds": 1, "seeding": "listed", "book": "/book.txt", "order": "random", "opening_turn": 8},
        ),
        ("knock-out", "play_offs = 0\nthird_place = true", {"play_offs": 0, "third_place": True}),
        ("gauntlet", "tested = 1", {"tested": 1}),
    ],
)
def test_each_kind_has_options_of_its_own(kind: str, lines: str, options: dict[str, Any], tmp_path: Path) -> None:
    usual = read(tmp_path, FILE.replace("gauntlet", kind))
    assert read(tmp_path, f"{lines}\n{FILE.replace('gauntlet', kind)}") == dataclasses.replace(usual, **options)


def test_the_seeding_is_drawn_or_listed() -> None:
    entrants = tuple(Entrant(f"{number}", "./bot") for number in range(20))
    assert Tournament(entrants, seed=7, seeding="listed").seeded() == list(range(20))
    drawn = Tournament(entrants, seed=7).seeded()
    assert drawn == Tournament(entrants, seed=7).seeded() != Tournament(entrants, seed=8).seeded()
    assert sorted(drawn) == list(range(20)) != drawn
    assert [Tournament(entrants[:9], rounds=rounds).number_of_rounds for rounds in (None, 2)] == [4, 2]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("seed = 7", "sede = 7", r"sede: there is no such key.*\(did you mean 'seed'\?\)"),
        ("seed = 7", "seed = true", "seed True"),
        ("seed = 7", 'sprt = "elo0=5"', "SPRT: elo1= is missing"),
        ("seed = 7", "sprt = 5", "sprt 5: expected a text"),
        ("seed = 7", 'cwd = "bots"', "cwd 'bots': expected an absolute path"),
        ("seed = 7", 'base = "books"', "base 'books': expected an absolute path"),
        ('"gauntlet"', '"gantlet"', r"round-robin, gauntlet, knock-out or swiss \(did you mean 'gauntlet'\?\)"),
        ("games = 20", "rounds = 3", 'rounds: has no effect with kind = "gauntlet", expected kind = "swiss"'),
        ('kind = "gauntlet"', 'kind = "swiss"\nrounds = 0', "rounds 0: expected a whole number from 1"),
        ('kind = "gauntlet"', 'kind = "swiss"\nrounds = true', "rounds True: expected a whole number"),
        ('kind = "gauntlet"', 'kind = "swiss"\nseeding = ["listed"]', "expected random or listed"),
        ('kind = "gauntlet"', 'kind = "knock-out"\nthird_place = 1', "third_place 1: expected true or false"),
        ("games = 20", 'order = "random"', "order: has no effect without a book"),
        ("games = 20", "book = 3", "book 3: expected a text"),
        ("games = 20", "book = 'b'\nopenings = 'b'", "two names of the same setting"),
        ("games = 20", "book = 'b'\norder = 'alphabetical'", "order 'alphabetical': expected sequential or random"),
        (
            "soft_timeout = 1500",
            "soft_timeout = 0",
            "soft_timeout 0: expected milliseconds, more than 0 and up to 2147",
        ),
        ("soft_timeout = 1500", "soft_timeout = 1.5", "soft_timeout 1.5"),
        (
            "exit_timeout = 2.5",
            "exit_timeout = -1",
            "exit_timeout -1: expected seconds, more than 0 and up to 31622400",
        ),
        ("exit_timeout = 2.5", "exit_timeout = nan", "exit_timeout nan: expected seconds, more than 0"),
        ("timeout = false", "timeout = 0", "timeout 0"),
        ('name = "new"', "", "program: name is missing"),
        (FILE[FILE.index("[[program]]") :], "program = 3", "program 3: expected tables"),
        (FILE[FILE.index("[[program]]") :], 'program = ["a", "b"]', "program: expected a table"),
        ("kind =", "kind", "t.toml: "),
        ('"builtin:greedy"', r'"java -jar C:\src\bot.jar"', r"(?s)in a string.*; put a command .* in single quotes"),
        ('"builtin:greedy"', r'"java -jar C:\bots\new.jar"', r"command .*: expected one line .* in single quotes"),
    ],
)
def test_errors_in_a_file_name_the_key(old: str, new: str, problem: str, tmp_path: Path) -> None:
    assert old in FILE
    with pytest.raises(SetupError, match=problem):
        read(tmp_path, FILE.replace(old, new))


def test_files_in_utf_8_can_be_read_also_those_of_windows(tmp_path: Path) -> None:
    file = tmp_path / "t.toml"
    text = FILE.replace('"builtin:greedy"', r"'C:\bots\new.exe'").replace("\n", "\r\n")
    file.write_bytes(codecs.BOM_UTF8 + text.encode())
    assert read_tournament(file, "chess").entrants[1].command == r"C:\bots\new.exe"
    for encoding in ("latin-1", "utf-16"):
        file.write_bytes("# für alle\n".encode(encoding))
        with pytest.raises(SetupError, match="is not in UTF-8; save it in that encoding"):
            read_tournament(file, "chess")
    with pytest.raises(SetupError, match="cannot be read"):
        read_tournament(tmp_path / "nothing.toml", "chess")


BOT = {"name": "new", "command": "./new"}


def test_a_program_can_have_all_keys() -> None:
    value = {
        **BOT,
        "timeout": False,
        "cwd": "there",
        "env": {"A": "b=c"},
        "pass_env": ["JAVA_HOME"],
        "soft_timeout": 1500,
        "hard_timeout": 2500,
        "time_factor": 1.5,
        "memory": 64,
        "main": "start.sh",
    }
    assert set(value) == set(PROGRAM_KEYS)
    expected = Entrant(
        *("new", "./new", False, "there", {"A": "b=c"}, 1.5, 2.5, 1.5, 64),
        passed_variables=("JAVA_HOME",),
        main="start.sh",
    )
    assert read_entrant(value) == expected
    assert read_entrant({"command": "./new"}, has_name=False) == Entrant("", "./new")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"comand": "./new"}, "hard_timeout (did you mean 'command'?)"),
        ({"env": "A=b"}, "env 'A=b': expected a table such as"),
        ({"env": {"A": 1}}, "A 1: expected a text"),
        ({"env": {"A=": "b"}}, "env: 'A=' cannot be a variable's name"),
        ({"pass_env": "A"}, "pass_env 'A': expected a list of texts"),
        ({"pass_env": ["A", "A=b"]}, "pass_env: 'A=b' cannot be a variable's name"),
        ({"memory": 0}, "memory 0: expected a number above 0"),
        ({"memory": True}, "memory True: expected a whole number"),
        ({"time_factor": float("nan")}, "time_factor nan: expected a number above 0"),
        ({"soft_timeout": 0}, "soft_timeout 0: expected milliseconds, more than 0"),
    ],
)
def test_errors_in_a_program_name_the_key(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(SetupError) as refused:
        read_entrant({**BOT, **change})
    assert problem in str(refused.value)
