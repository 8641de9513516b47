"""The report of a match links each kept game to the page of its replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from spielleiter.cli import match_pages
from spielleiter.cli.match_pages import FEW_GAMES, PAGE_CHOICES, write_pages
from spielleiter.match.game_folder import REPLAY_PAGE
from spielleiter.match.records import GameRecord
from spielleiter.match.tournament_file import PAGES
from spielleiter.match.verdict import Verdict
from spielleiter.viewer.exports.html import SCRIPT
from tests.cli.matches import play
from tests.match.sample_records import fault, game
from tests.viewer.replay_files import replay_of


@pytest.mark.slow
def test_the_report_links_to_the_pages(tmp_path: Path) -> None:
    result = play(tmp_path, games=2)
    assert result.exit_code == 0, result.output
    report = (tmp_path / "out" / "report.html").read_text()
    for number in (1, 2):
        page = f"games/{number:04d}/{REPLAY_PAGE}"
        assert (tmp_path / "out" / page).stat().st_size < 60_000
        assert f'href="./{page}"' in report
    assert (tmp_path / "out" / SCRIPT).exists()
    assert "making the pages" not in result.output


@pytest.mark.slow
def test_games_that_are_not_kept_have_no_page(tmp_path: Path) -> None:
    assert play(tmp_path, "--keep", "none", games=2).exit_code == 0
    assert REPLAY_PAGE not in (tmp_path / "out" / "report.html").read_text()
    assert not (tmp_path / "out" / SCRIPT).exists()


def records_with_replays(folder: Path, count: int) -> list[GameRecord]:
    content = replay_of("blokus-2027", plies=1)
    records = []
    for number in range(1, count + 1):
        record = game(number)
        assert record.replay is not None
        path = folder / record.folder / record.replay
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        records.append(record)
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

    monkeypatch.setattr("spielleiter.viewer.exports.match_pages.write_match_pages", write)
    records = [fault(n, 0, Verdict.CRASH) if n == 2 else game(n) for n in range(1, games + 1)]
    assert write_pages({tmp_path: records}, choice) == ([tmp_path] if written else [])
    assert [int(Path(replay).parent.name) for replay in written] == list(with_pages)


def test_many_pages_are_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(match_pages, "_MANY", 2)
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

    monkeypatch.setattr("spielleiter.viewer.exports.match_pages.write_whole", fail)
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


def test_a_file_of_a_tournament_has_the_same_choices() -> None:
    assert PAGES == PAGE_CHOICES
