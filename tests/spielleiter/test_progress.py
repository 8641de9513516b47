from __future__ import annotations

import io

import pytest
from rich.console import Console

from match.plan import plan_games
from match.records import GameRecord, Verdict
from spielleiter.progress import LiveProgress, PlainProgress, game_line, showing_progress, standing
from tests.match.games import fault, game


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (game(1, 0, reason=""), "game 1: greedy - random 80:60, greedy wins"),
        (game(2, 0, reason=""), "game 2: random - greedy 60:80, greedy wins"),
        (game(3, None, reason=""), "game 3: greedy - random 70:70, draw"),
        (
            game(1, 1, reason="greedy had to be ended after the game"),
            "game 1: greedy - random 60:80, random wins (greedy had to be ended after the game)",
        ),
        (
            fault(2, 1, Verdict.CRASH, reason="ended by signal 11"),
            "game 2: random - greedy -:-, greedy wins (random crash: ended by signal 11)",
        ),
        (
            game(1, None, verdict=Verdict.OVERLOAD, is_counted=False, reason="greedy: 3 s"),
            "game 1: greedy - random 70:70, not counted (overloaded machine: greedy: 3 s)",
        ),
    ],
)
def test_a_game_is_one_line(record: GameRecord, line: str) -> None:
    assert game_line(record) == line


def test_the_standing_is_the_first_programs() -> None:
    assert standing([]) == "+0 =0 -0  Elo –"
    told = standing([game(1, 0), game(2, 0), game(3, 1), game(4, None)])
    assert told.startswith("+2 =1 -1  Elo +")


def test_elsewhere_than_on_a_terminal_each_game_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with showing_progress(2, [], Console(file=io.StringIO())) as progress:
        assert isinstance(progress, PlainProgress)
        progress.game_started(plan_games(1, 1)[0])
        progress.game_finished(game(1, 0, reason=""))
        progress.stopping()
    told = capsys.readouterr()
    assert told.out == "game 1: greedy - random 80:60, greedy wins\n"
    assert told.err.startswith("finishing the games that are being played")


def test_on_a_terminal_only_faults_have_lines_above_the_standing() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, legacy_windows=False)
    with showing_progress(4, [game(1, 0)], console) as progress:
        assert isinstance(progress, LiveProgress)
        progress.game_started(plan_games(2, 1)[1])
        progress.game_finished(game(2, 0))
        progress.game_finished(fault(3, 1, Verdict.CRASH, reason="[red]oh[/red]"))
        progress.stopping()
    told = screen.getvalue()
    assert "game 2:" not in told
    assert "game 3: greedy - random -:-, greedy wins (random crash: [red]oh[/red])" in told
    assert "3/4" in told
    assert "+3 =0 -0" in told
    assert "finishing the games that are being played" in told
