"""The lines and the progress bar that a match prints."""

from __future__ import annotations

import io
import re

import pytest

from spielleiter.cli.progress import (
    Interim,
    LiveProgress,
    PlainProgress,
    game_line,
    score_line,
    showing_progress,
    time_text,
)
from spielleiter.match.plan import plan_games
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import Sprt
from spielleiter.match.verdict import Verdict
from tests.match.sample_records import fault, game


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
    assert score_line([]) == "+0 =0 -0  Elo –"
    line = score_line([game(1, 0), game(2, 0), game(3, 1), game(4, None)])
    assert line.startswith("+2 =1 -1  Elo +")


def test_the_standing_shows_the_sequential_test_in_its_bounds() -> None:
    line = score_line([game(number, 0) for number in range(1, 9)], Sprt(0, 50))
    assert line.startswith("+8 =0 -0  LLR +0.53 (-2.94, +2.94)  Elo +")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_an_interim_line_is_printed_after_every_n_games(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "isatty", lambda _: is_terminal)
    screen = Screen()
    with showing_progress(9, [game(1, 0)], screen, Interim(Sprt(0, 50), 3)) as progress:
        for number in range(2, 8):
            progress.game_finished(game(number, 0))
    assert re.findall(r"after \d+ games: \+\d", screen.getvalue()) == ["after 3 games: +3", "after 6 games: +6"]


def test_a_fault_and_an_interim_line_are_separate_lines() -> None:
    screen = Screen()
    with showing_progress(2, [], screen, Interim(every=1)) as progress:
        progress.game_finished(fault(1, 0, Verdict.CRASH, reason="ended by signal 11"))
    assert [line.rpartition("\x1b[K")[2] for line in screen.getvalue().splitlines() if "signal" in line] == [
        "game 1: greedy - random -:-, random wins (greedy crash: ended by signal 11)"
    ]


class Screen(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True

    @property
    def bar(self) -> str:
        """The line with the bar."""
        return self.getvalue().rpartition("\r")[2].removeprefix("\x1b[?25l").rstrip(" ")


class BrokenScreen(Screen):
    """A closed terminal."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")


def test_without_a_terminal_each_game_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with showing_progress(2, []) as progress:
        assert isinstance(progress, PlainProgress)
        progress.game_started(plan_games(1, 1)[0])
        progress.game_finished(game(1, 0, reason=""))
        progress.stopping()
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == (
        "game 1: greedy - random 80:60, greedy wins\n"
        "finishing the running games; press Ctrl-C again to end them at once\n"
    )


def test_a_dumb_terminal_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with showing_progress(2, [], Screen()) as progress:
        assert isinstance(progress, PlainProgress)


def test_on_a_terminal_only_faults_have_lines_above_the_standing(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    with showing_progress(4, [game(1, 0)], screen) as progress:
        assert isinstance(progress, LiveProgress)
        assert "]  1/4  +1 =0 -0  Elo" in screen.bar
        progress.game_started(plan_games(2, 1)[1])
        progress.game_finished(game(2, 0))
        progress.game_finished(fault(3, 1, Verdict.CRASH, reason="[red]oh[/red]"))
        assert "]  3/4  0:00:00 left  +3 =0 -0  Elo" in screen.bar
        progress.stopping()
        assert screen.bar.startswith("stopping  [")
    written = screen.getvalue()
    assert "game 2:" not in written
    crash = "game 3: greedy - random -:-, greedy wins (random crash: [red]oh[/red])"
    stopping = "finishing the running games; press Ctrl-C again to end them at once"
    for line in (crash, stopping):
        assert f"\r\x1b[K{line}\n\r" in written
    assert written.endswith("\x1b[?25h\n"), "the cursor is seen again"
    assert capsys.readouterr() == ("", "")


def test_the_remaining_time_is_estimated_from_the_games_of_this_run() -> None:
    screen, seconds = Screen(), iter([100.0, 100.0, 110.0, 115.0, 130.0])  # start, first drawing, three games
    progress = LiveProgress(screen, 5, [game(1, 0), game(2, 0)], lambda: next(seconds))
    seen = []
    for number in (3, 4, 5):
        progress.game_finished(game(number, 0))
        seen.append(screen.bar.split("  ")[1:3])
    assert seen == [["3/5", "0:00:20 left"], ["4/5", "0:00:07 left"], ["5/5", "0:00:30"]]
    assert screen.bar.startswith("[####")
    assert "-]" not in screen.bar


@pytest.mark.parametrize("screen_type", [Screen, io.StringIO])
def test_control_characters_are_escaped(screen_type: type[io.StringIO]) -> None:
    screen = screen_type()
    with showing_progress(2, [], screen) as progress:
        progress.game_finished(
            fault(1, 1, Verdict.CRASH, reason="\x1b]0;title\x07\x9b2J\u202e", names=("a\x1b[2J", "b"))
        )
    written = screen.getvalue()
    assert r"a\x1b[2J - b -:-, a\x1b[2J wins (b crash: \x1b]0;title\x07\x9b2J\u202e)" in written
    assert not set("\x07\x9b\u202e") & set(written)
    assert "\x1b]" not in written
    assert "\x1b[2J" not in written


@pytest.mark.parametrize(("seconds", "text"), [(0.9, "0:00:00"), (83, "0:01:23"), (90_000, "1 day, 1:00:00")])
def test_times_are_hours_minutes_and_seconds(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


@pytest.mark.parametrize("columns", [10, 40, 60, 100, 200])
def test_the_bar_is_one_line_on_every_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    screen = Screen()
    with showing_progress(100, [game(number, 0) for number in range(1, 50)], screen) as progress:
        progress.game_finished(game(50, 0))
        assert "50/100" in screen.bar
        assert len(screen.bar) <= max(columns, len("[]  50/100"))


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_display_that_cannot_be_written_ends_nothing(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BrokenScreen, "isatty", lambda _: is_terminal)
    with showing_progress(2, [], BrokenScreen()) as progress:
        progress.game_finished(fault(1, 1, Verdict.CRASH))
        progress.stopping()
