"""The description of a tournament, and the files that it and its programs are read from."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant, ProgramTimeouts
from spielleiter.match.toml_files import PROGRAM_KEYS, read_entrant
from spielleiter.match.tournament_file import (
    KindOptions,
    Tournament,
    TournamentKind,
    read_kind_options,
    read_tournament,
)

ENTRANTS = tuple(Entrant(name, f"./{name}") for name in ("a", "b", "c d/e"))


def test_in_a_round_robin_every_program_meets_every_other_one() -> None:
    assert Tournament(ENTRANTS).pairings() == [(0, 1), (0, 2), (1, 2)]


def test_in_a_gauntlet_the_first_one_meets_the_others() -> None:
    assert Tournament(ENTRANTS, TournamentKind.GAUNTLET).pairings() == [(0, 1), (0, 2)]


def test_each_match_has_its_own_folder_and_the_same_starts() -> None:
    tournament = Tournament(ENTRANTS, games=4, game_type="chess", seed=7)
    folders = [tournament.folder_of(number, pairing) for number, pairing in enumerate(tournament.pairings(), 1)]
    assert folders == ["matches/001_a_b", "matches/002_a_c_d_e", "matches/003_b_c_d_e"]
    first, second = (tournament.match_of(pairing, "run") for pairing in [(0, 1), (1, 2)])
    assert first.plan() == second.plan()
    assert second.names == ("b", "c d/e")


@pytest.mark.parametrize(
    ("entrants", "problem"),
    [(ENTRANTS[:1], "at least 2 programs, found 1"), ((*ENTRANTS, ENTRANTS[0]), "called 'a'")],
)
def test_an_invalid_tournament_is_refused(entrants: tuple[Entrant, ...], problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        Tournament(entrants)


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


def read(folder: Path, text: str) -> Tournament:
    (folder / "t.toml").write_text(text, encoding="utf-8")
    return read_tournament(folder / "t.toml", "chess")


def test_a_file_can_have_all_keys(tmp_path: Path) -> None:
    assert read(tmp_path, FILE) == Tournament(
        entrants=(Entrant("new", "./new --fast", can_timeout=False), Entrant("greedy", "builtin:greedy")),
        kind=TournamentKind.GAUNTLET,
        games=20,
        game_type="go",
        seed=7,
        concurrency=2,
        server_options={"soft_timeout": 1.5, "start_piece": "PENTO_Y"},
        timeouts=ProgramTimeouts(exit=2.5, game=60),
    )


def test_a_file_needs_only_programs(tmp_path: Path) -> None:
    text = FILE[FILE.index("[[program]]") :]
    assert read(tmp_path, text) == Tournament(
        (Entrant("new", "./new --fast", can_timeout=False), Entrant("greedy", "builtin:greedy")), game_type="chess"
    )


def test_programs_are_started_where_the_file_says(tmp_path: Path) -> None:
    tournament = read(tmp_path, f'cwd = "{tmp_path}"\n{FILE}')
    assert tournament.cwd == str(tmp_path)
    assert tournament.match_of((0, 1), "run").cwd == str(tmp_path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("seed = 7", "seeds = 7"), "seeds: there is no such key"),
        (("seed = 7", 'seed = "7"'), "seed '7'"),
        (("seed = 7", "seed = true"), "seed True"),
        (("seed = 7", 'sprt = "elo0=5"'), "SPRT: elo1= is missing"),
        (("seed = 7", "sprt = 5"), "sprt 5: expected a text"),
        (("seed = 7", 'cwd = "bots"'), "cwd 'bots': expected an absolute path"),
        (("seed = 7", 'base = "books"'), "base 'books': expected an absolute path"),
        (("seed = 7", "cwd = 7"), "cwd 7: expected a text"),
        (('"gauntlet"', '"cup"'), "kind 'cup': expected round-robin, gauntlet, knock-out or swiss"),
        (("seed = 7", "sede = 7"), r"\(did you mean 'seed'\?\)"),
        (('"gauntlet"', '"gantlet"'), r"round-robin, gauntlet, knock-out or swiss \(did you mean 'gauntlet'\?\)"),
        (("games = 20", "rounds = 3"), 'rounds: has no effect with kind = "gauntlet"'),
        (("games = 20", "tested = 2"), "tested = 2: expected at least 1, and fewer than the 2 programs"),
        (("timeout = false", "timeout = 0"), "timeout 0"),
        (
            ("soft_timeout = 1500", "soft_timeout = 0"),
            "soft_timeout 0: expected milliseconds, more than 0 and up to 2147483647",
        ),
        (("soft_timeout = 1500", "soft_timeout = 1.5"), "soft_timeout 1.5"),
        (("game_timeout = 60", "game_timeout = 0"), "game_timeout 0: expected seconds, more than 0 and up to 31622400"),
        (("exit_timeout = 2.5", "exit_timeout = -1"), "exit_timeout -1: expected seconds, more than 0"),
        (("exit_timeout = 2.5", "exit_timeout = nan"), "exit_timeout nan: expected seconds, more than 0"),
        (("timeout = false", "speed = 3"), "program: speed: there is no such key"),
        (('name = "new"', ""), "program: name is missing"),
        (('[[program]]\nname = "greedy"\ncommand = "builtin:greedy"\n', ""), "expected at least 2 programs, found 1"),
        (("kind =", "kind"), "t.toml: "),
        (('"builtin:greedy"', r'"java -jar C:\src\bot.jar"'), r"(?s)in a string.*; put a command .* in single quotes"),
        (('"builtin:greedy"', r'"java -jar C:\bots\new.jar"'), r"command .*: expected one line .* in single quotes"),
    ],
)
def test_errors_in_a_file_name_the_key(change: tuple[str, str], problem: str, tmp_path: Path) -> None:
    assert change[0] in FILE
    with pytest.raises(SetupError, match=problem):
        read(tmp_path, FILE.replace(*change))


def test_the_exit_timeout_can_be_zero(tmp_path: Path) -> None:
    assert read(tmp_path, FILE.replace("exit_timeout = 2.5", "exit_timeout = 0")).timeouts.exit == 0


@pytest.mark.parametrize("text", ["program = 3", 'program = ["a", "b"]'])
def test_programs_must_be_tables(text: str, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="program"):
        read(tmp_path, text)


def test_a_file_with_a_byte_order_mark_and_crlf_can_be_read(tmp_path: Path) -> None:
    text = FILE.replace('"builtin:greedy"', r"'C:\bots\new.exe'").replace("\n", "\r\n")
    (tmp_path / "t.toml").write_bytes(codecs.BOM_UTF8 + text.encode())
    commands = [entrant.command for entrant in read_tournament(tmp_path / "t.toml", "chess").entrants]
    assert r"C:\bots\new.exe" in commands


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_in_another_encoding_is_refused(encoding: str, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_bytes("# für alle\n".encode(encoding))
    with pytest.raises(SetupError, match="is not in UTF-8; save it in that encoding"):
        read_tournament(tmp_path / "t.toml", "chess")


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        read_tournament(tmp_path / "t.toml", "chess")


def test_all_options_have_defaults() -> None:
    assert read_kind_options({}, "swiss") == KindOptions()
    assert KindOptions().rounds_of(9) == 4
    assert KindOptions(rounds=2).rounds_of(9) == 2


def test_all_options_can_be_read() -> None:
    value = {"rounds": 4, "seeding": "listed", "book": "book.txt", "order": "random", "opening_turn": 8}
    assert read_kind_options(value, "swiss") == KindOptions(
        rounds=4, seeding="listed", book="book.txt", order="random", opening_turn=8
    )
    assert read_kind_options({"play_offs": 0, "third_place": True}, "knock-out") == KindOptions(
        play_offs=0, third_place=True
    )
    assert read_kind_options({"tested": 2}, "gauntlet") == KindOptions(tested=2)


@pytest.mark.parametrize(
    ("value", "kind", "problem"),
    [
        ({"tested": 2}, "round-robin", 'tested: has no effect with kind = "round-robin", expected kind = "gauntlet"'),
        ({"seeding": "listed"}, "gauntlet", 'seeding: has no effect .* kind = "knock-out" or kind = "swiss"'),
        ({"rounds": 0}, "swiss", "rounds 0: expected a whole number from 1"),
        ({"rounds": True}, "swiss", "rounds True: expected a whole number"),
        ({"play_offs": 101}, "knock-out", "play_offs 101: expected a whole number from 0 to 100"),
        ({"third_place": 1}, "knock-out", "third_place 1: expected true or false"),
        ({"seeding": "elo"}, "swiss", "seeding 'elo': expected random or listed"),
        ({"seeding": ["listed"]}, "swiss", "expected random or listed"),
        ({"order": "random"}, "swiss", "order: has no effect without a book"),
        ({"book": 3}, "swiss", "book 3: expected a text"),
        ({"book": "b", "order": "alphabetical"}, "swiss", "order 'alphabetical': expected sequential or random"),
    ],
)
def test_invalid_options_are_refused(value: dict[str, Any], kind: str, problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        read_kind_options(value, kind)


@pytest.mark.parametrize(
    ("kind_options", "kind", "problem"),
    [
        (KindOptions(tested=3), "gauntlet", "tested = 3: expected at least 1, and fewer than the 3 programs"),
        (KindOptions(rounds=4), "swiss", "rounds = 4: expected 1 to 3, since 3 programs would have to meet again"),
    ],
)
def test_options_that_need_more_programs_are_refused(kind_options: KindOptions, kind: str, problem: str) -> None:
    kind_options.check(kind, 5)
    with pytest.raises(SetupError, match=problem):
        kind_options.check(kind, 3)


def test_the_seeding_is_drawn_or_listed() -> None:
    assert KindOptions(seeding="listed").seeded(5, 7) == [0, 1, 2, 3, 4]
    drawn = KindOptions().seeded(20, 7)
    assert drawn == KindOptions().seeded(20, 7) != KindOptions().seeded(20, 8)
    assert sorted(drawn) == list(range(20)) != drawn


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
        "new",
        "./new",
        False,
        "there",
        {"A": "b=c"},
        1.5,
        2.5,
        1.5,
        64,
        passed_variables=("JAVA_HOME",),
        main="start.sh",
    )
    assert read_entrant(value) == expected


def test_a_command_is_enough_if_no_name_is_needed() -> None:
    assert read_entrant({"command": "./new"}, has_name=False) == Entrant("", "./new")
    with pytest.raises(SetupError, match="name is missing"):
        read_entrant({"command": "./new"})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"comand": "./new"}, "hard_timeout (did you mean 'command'?)"),
        ({"speed": 1}, "program: speed: there is no such key, expected name, command, timeout, cwd"),
        ({"env": "A=b"}, "env 'A=b': expected a table such as"),
        ({"env": {"A": 1}}, "A 1: expected a text"),
        ({"env": {"A=": "b"}}, "env: 'A=' cannot be a variable's name"),
        ({"pass_env": "A"}, "pass_env 'A': expected a list of texts"),
        ({"pass_env": ["A", "A=b"]}, "pass_env: 'A=b' cannot be a variable's name"),
        ({"memory": 0}, "memory 0: expected a number above 0"),
        ({"memory": 1.5}, "memory 1.5: expected a whole number"),
        ({"memory": True}, "memory True: expected a whole number"),
        ({"time_factor": float("nan")}, "time_factor nan: expected a number above 0"),
        ({"soft_timeout": 0}, "soft_timeout 0: expected milliseconds, more than 0"),
        ({"cwd": 1}, "cwd 1: expected a text"),
    ],
)
def test_errors_in_a_program_name_the_key(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(SetupError) as refused:
        read_entrant({**BOT, **change})
    assert problem in str(refused.value)
