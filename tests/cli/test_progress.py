"""The lines and the progress bar that a match prints."""

from __future__ import annotations

import io
import re

import pytest

from spielleiter.cli.progress import (
    LiveProgress,
    game_line,
    score_line,
    showing_progress,
)
from spielleiter.match.plan import plan_games
from spielleiter.match.records import GameRecord
from spielleiter.match.statistics import Sprt
from spielleiter.match.verdict import Verdict
from tests.cli.terminal import seen
from tests.match.sample_records import fault, game


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (game(1, 0, reason=""), "game 1: greedy - random 80:60, greedy wins"),
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


def test_the_standing_is_the_first_programs_with_the_sequential_test_in_its_bounds() -> None:
    assert score_line([]) == "+0 =0 -0  Elo –"
    assert score_line([game(1, 0), game(2, 0), game(3, 1), game(4, None)]).startswith("+2 =1 -1  Elo +")
    line = score_line([game(number, 0) for number in range(1, 9)], Sprt(0, 50))
    assert line.startswith("+8 =0 -0  LLR +0.53 (-2.94, +2.94)  Elo +")


class Screen(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True

    def lines(self, columns: int = 100) -> list[str]:
        """What a person sees, with the bar as the last line."""
        return seen(self.getvalue() + "\n", columns + 1, 24)


class BrokenScreen(Screen):
    """A closed terminal."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_an_interim_line_is_printed_after_every_n_games(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "isatty", lambda _: is_terminal)
    screen = Screen()
    with showing_progress(9, [game(1, 0)], Sprt(0, 50), 3, screen) as progress:
        for number in range(2, 8):
            progress.game_finished(game(number, 0))
    assert re.findall(r"after \d+ games: \+\d", screen.getvalue()) == ["after 3 games: +3", "after 6 games: +6"]


@pytest.mark.parametrize("term", [None, "dumb"])
def test_without_a_terminal_that_acts_on_escapes_each_game_is_a_line(
    term: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO() if term is None else Screen()
    monkeypatch.setenv("TERM", term or "xterm")
    with showing_progress(2, [], screen=screen) as progress:
        progress.game_started(plan_games(1, 1)[0])
        progress.game_finished(game(1, 0, reason=""))
        progress.stopping()
    assert screen.getvalue() == (
        "game 1: greedy - random 80:60, greedy wins\n"
        "finishing the running games; press Ctrl-C again to end them at once\n"
    )


def test_on_a_terminal_only_faults_have_lines_above_the_standing(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    with showing_progress(4, [game(1, 0)], every=3, screen=screen) as progress:
        assert screen.lines()[-1].endswith(" 1/4 +1 =0 -0  Elo –")
        progress.game_started(plan_games(2, 1)[1])
        progress.game_finished(game(2, 0))
        progress.game_finished(fault(3, 1, Verdict.CRASH, reason="[red]oh[/red]"))
        assert " 3/4 0:00:00 left  +3 =0 -0  Elo" in screen.lines()[-1]
        progress.stopping()
        assert " 3/4 stopping  0:00:00 left  +3 =0 -0  Elo" in screen.lines()[-1]
    *above, bar = (line for line in screen.lines() if line)
    assert above == [
        "game 3: greedy - random -:-, greedy wins (random crash: [red]oh[/red])",
        "after 3 games: +3 =0 -0  Elo +∞ [−756.8, +∞]",
        "finishing the running games; press Ctrl-C again to end them at once",
    ]
    assert "━" in bar
    assert screen.getvalue().endswith("\n\x1b[?25h"), "the cursor is seen again"
    assert capsys.readouterr() == ("", "")


def test_the_remaining_time_is_estimated_from_the_games_of_this_run() -> None:
    screen, seconds = Screen(), iter([100.0, 100.0, 110.0, 115.0, 130.0])  # start, first drawing, three games
    progress = LiveProgress(screen, 5, [game(1, 0), game(2, 0)], clock=lambda: next(seconds))
    shown = []
    for number in (3, 4, 5):
        progress.game_finished(game(number, 0))
        shown.append(re.findall(r"(./5) (.*)  \+", screen.lines()[-1].partition("  Elo")[0])[0])
    assert shown == [("3/5", "0:00:20 left"), ("4/5", "0:00:07 left"), ("5/5", "0:00:30")]


@pytest.mark.parametrize("screen_type", [Screen, io.StringIO])
def test_control_characters_are_escaped(screen_type: type[io.StringIO]) -> None:
    screen = screen_type()
    with showing_progress(2, [], screen=screen) as progress:
        progress.game_finished(
            fault(1, 1, Verdict.CRASH, reason="\x1b]0;title\x07\x9b2J\u202e", names=("a\x1b[2J", "b"))
        )
    written = screen.getvalue()
    assert r"a\x1b[2J - b -:-, a\x1b[2J wins (b crash: \x1b]0;title\x07\x9b2J\u202e)" in written
    assert not set("\x07\x9b\u202e") & set(written)
    assert "\x1b]" not in written
    assert "\x1b[2J" not in written


@pytest.mark.parametrize(
    ("columns", "encoding", "no_color"), [(20, "utf-8", "1"), (60, "utf-8", ""), (200, "utf-8", ""), (100, "cp850", "")]
)
def test_the_bar_is_one_line_on_every_terminal(
    columns: int, encoding: str, no_color: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(Screen, "encoding", encoding, raising=False)
    monkeypatch.setattr(Screen, "errors", "backslashreplace", raising=False)
    screen = Screen()
    with showing_progress(100, [game(number, 0) for number in range(1, 50)], screen=screen) as progress:
        progress.game_finished(game(50, 0))
        (line,) = screen.lines(columns)
        assert "50/100" in line
        assert ("━" in line) == (encoding == "utf-8" and columns > 20)
        assert bool(re.search(r"\x1b\[[\d;]*3\dm|\x1b\[9\dm", screen.getvalue())) is not bool(no_color)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_display_that_cannot_be_written_ends_nothing(is_terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BrokenScreen, "isatty", lambda _: is_terminal)
    with showing_progress(2, [], screen=BrokenScreen()) as progress:
        progress.game_finished(fault(1, 1, Verdict.CRASH))
        progress.stopping()
