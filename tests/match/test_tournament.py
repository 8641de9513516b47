from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from match.errors import SetupError
from match.records import GameRecord, Verdict
from match.setup import Entrant, Patience
from match.tournament import Kind, Tournament, rank, read_tournament
from tests.match.games import fault, game

ENTRANTS = tuple(Entrant(name, f"./{name}") for name in ("a", "b", "c d/e"))


def results(wins: int, draws: int, losses: int) -> list[GameRecord]:
    """Games of program 0, in whole pairs."""
    winners = [0] * wins + [None] * draws + [1] * losses
    return [game(number, winner) for number, winner in enumerate(winners, 1)]


def ratings(*names: str, **matches: list[GameRecord]) -> dict[str, float]:
    table = rank(names, {(names.index(pair[0]), names.index(pair[1])): games for pair, games in matches.items()})
    return {line.name: line.rating.value for line in table}


def test_everybody_meets_everybody_once() -> None:
    assert Tournament(ENTRANTS).pairings() == [(0, 1), (0, 2), (1, 2)]


def test_in_a_gauntlet_the_first_one_meets_the_others() -> None:
    assert Tournament(ENTRANTS, Kind.GAUNTLET).pairings() == [(0, 1), (0, 2)]


def test_each_match_has_a_folder_of_its_own_and_the_same_starts() -> None:
    tournament = Tournament(ENTRANTS, games=4, game_type="chess", seed=7)
    folders = [tournament.folder_of(pairing) for pairing in tournament.pairings()]
    assert folders == ["matches/001_a_b", "matches/002_a_c_d_e", "matches/003_b_c_d_e"]
    first, second = (tournament.match_of(pairing, "run") for pairing in [(0, 1), (1, 2)])
    assert first.plan() == second.plan()
    assert second.names == ("b", "c d/e")


@pytest.mark.parametrize(
    ("entrants", "problem"),
    [(ENTRANTS[:1], "at least 2 programs, found 1"), ((*ENTRANTS, ENTRANTS[0]), "called 'a'")],
)
def test_what_is_no_tournament_is_refused(entrants: tuple[Entrant, ...], problem: str) -> None:
    with pytest.raises(SetupError, match=problem):
        Tournament(entrants)


# -- ratings --------------------------------------------------------------------------------------------------------


def test_many_games_give_the_elo_of_their_score() -> None:
    rated = ratings("a", "b", ab=results(1500, 0, 500))
    assert rated["a"] - rated["b"] == pytest.approx(400 * math.log10(3), abs=1)
    assert rated["a"] + rated["b"] == pytest.approx(0)


def test_draws_count_as_half_a_win() -> None:
    assert ratings("a", "b", ab=results(0, 4, 0)) == pytest.approx({"a": 0, "b": 0})
    assert ratings("a", "b", ab=results(2, 4, 0)) == pytest.approx(ratings("a", "b", ab=results(4, 0, 2)))


def test_ratings_carry_over_a_common_opponent() -> None:
    rated = ratings("a", "b", "c", ab=results(30, 0, 10), bc=results(30, 0, 10))
    assert rated["a"] > rated["b"] > rated["c"]
    assert rated["a"] - rated["b"] == pytest.approx(rated["b"] - rated["c"], rel=0.05)


def test_whoever_wins_every_game_has_a_finite_rating() -> None:
    rated = ratings("a", "b", ab=results(10, 0, 0))
    assert 100 < rated["a"] < 1000


def test_without_games_all_are_equal() -> None:
    assert ratings("a", "b") == {"a": 0.0, "b": 0.0}


def test_the_table_counts_for_each_what_it_did() -> None:
    games = [*results(2, 1, 1), fault(5, 1, Verdict.CRASH), game(6, None, is_counted=False)]
    first, second = rank(["a", "b"], {(0, 1): games})
    assert (first.name, first.results.wins, first.results.draws, first.results.losses, first.faults) == (
        "a",
        3,
        1,
        1,
        0,
    )
    assert (second.name, second.results.wins, second.results.losses, second.faults) == ("b", 1, 3, 1)
    assert first.rating.low <= first.rating.value <= first.rating.high
    assert json.loads(json.dumps(first.to_json()))["games"] == 5


def test_the_intervals_are_the_same_in_every_run_and_narrow_with_games() -> None:
    few, many = results(6, 0, 4), results(600, 0, 400)
    widths = []
    for games in (few, many):
        lines = [rank(["a", "b"], {(0, 1): games}) for _ in range(2)]
        assert lines[0] == lines[1]
        widths.append(lines[0][0].rating.high - lines[0][0].rating.low)
    assert widths[1] < widths[0] / 3


@pytest.mark.parametrize("games", [results(2, 0, 0), results(0, 0, 2), results(0, 2, 0), results(6, 0, 0)])
def test_few_pairs_that_ended_alike_are_not_taken_for_certainty(games: list[GameRecord]) -> None:
    for line in rank(["a", "b"], {(0, 1): games}):
        assert line.rating.low <= line.rating.value <= line.rating.high
        assert line.rating.high - line.rating.low > 100


def test_the_more_pairs_ended_alike_the_surer_is_the_rating() -> None:
    widths = [
        line.rating.high - line.rating.value
        for games in (results(0, 2, 0), results(0, 20, 0), results(0, 200, 0))
        for line in rank(["a", "b"], {(0, 1): games})[:1]
    ]
    assert widths[0] > 2 * widths[1] > 4 * widths[2] > 0


# -- files ----------------------------------------------------------------------------------------------------------

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


def test_a_file_says_everything(tmp_path: Path) -> None:
    assert read(tmp_path, FILE) == Tournament(
        entrants=(Entrant("new", "./new --fast", can_timeout=False), Entrant("greedy", "builtin:greedy")),
        kind=Kind.GAUNTLET,
        games=20,
        game_type="go",
        seed=7,
        concurrency=2,
        server_options={"soft_timeout": 1.5, "start_piece": "PENTO_Y"},
        patience=Patience(exit=2.5, game=60),
    )


def test_programs_are_enough(tmp_path: Path) -> None:
    text = FILE[FILE.index("[[program]]") :]
    assert read(tmp_path, text) == Tournament(
        (Entrant("new", "./new --fast", can_timeout=False), Entrant("greedy", "builtin:greedy")), game_type="chess"
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("seed = 7", "seeds = 7"), "seeds: there is no such key"),
        (("seed = 7", 'seed = "7"'), "seed '7'"),
        (("seed = 7", "seed = true"), "seed True"),
        (('"gauntlet"', '"swiss"'), "kind 'swiss': expected round-robin or gauntlet"),
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
    ],
)
def test_what_is_wrong_in_a_file_is_told(change: tuple[str, str], problem: str, tmp_path: Path) -> None:
    assert change[0] in FILE
    with pytest.raises(SetupError, match=problem):
        read(tmp_path, FILE.replace(*change))


def test_a_program_can_be_given_no_time_to_end(tmp_path: Path) -> None:
    assert read(tmp_path, FILE.replace("exit_timeout = 2.5", "exit_timeout = 0")).patience.exit == 0


@pytest.mark.parametrize("text", ["program = 3", 'program = ["a", "b"]'])
def test_programs_are_tables(text: str, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="program"):
        read(tmp_path, text)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        read_tournament(tmp_path / "t.toml", "chess")


def test_rank_json_has_no_infinity() -> None:
    value: dict[str, Any] = rank(["a", "b"], {(0, 1): results(2, 0, 0)})[0].to_json()
    assert all(math.isfinite(number) for number in value["rating"].values())
