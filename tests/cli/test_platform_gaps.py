"""What an operating system cannot do is said once before the first game, and in the reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spielleiter.programs.platforms import PLATFORM
from spielleiter.programs.platforms.platform import common_gaps
from tests.cli.background import run

GAPS = common_gaps("<Minix>")
"""The sentences of a system whose name has to be escaped."""

PLATFORM_GAPS = "Not possible on this operating system"


@pytest.fixture
def on_another_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PLATFORM, "gaps", GAPS)


@pytest.mark.slow
@pytest.mark.usefixtures("on_another_system")
def test_a_match_names_the_gaps_of_its_platform_once(tmp_path: Path) -> None:
    players = ["--player1", "builtin:first", "--player2", "builtin:first"]
    done = run("match", *players, "-n", "2", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0
    for gap in GAPS:
        assert done.stderr.count(gap) == 1
    texts = {name: (tmp_path / "out" / name).read_text("utf-8") for name in ("summary.md", "report.html")}
    assert all(PLATFORM_GAPS in text for text in texts.values())
    assert all("Minix" in text and "<Minix>" not in text for text in texts.values())
    assert json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))["platform_gaps"] == list(GAPS)


@pytest.mark.slow
@pytest.mark.usefixtures("on_another_system")
def test_a_tournament_names_the_gaps_of_its_platform_once(tmp_path: Path) -> None:
    programs = "".join(f'[[program]]\nname = "{name}"\ncommand = "builtin:first"\n' for name in "abc")
    (tmp_path / "t.toml").write_text("games = 2\n" + programs)
    done = run("tournament", str(tmp_path / "t.toml"), "--out", str(tmp_path / "out"))
    assert done.exit_code == 0
    for gap in GAPS:
        assert done.stderr.count(gap) == 1
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert PLATFORM_GAPS in page
    assert "<Minix>" not in page


@pytest.mark.usefixtures("on_another_system")
def test_a_check_names_the_gaps_of_its_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.contest.check.check_program", lambda *_: _nothing())
    done = run("check", "builtin:first")
    assert GAPS[0] in done.stderr


async def _nothing() -> list[object]:
    return []


@pytest.mark.slow
@pytest.mark.skipif(PLATFORM.name != "Linux", reason="other systems have gaps")
def test_linux_has_nothing_to_name(tmp_path: Path) -> None:
    players = ["--player1", "builtin:first", "--player2", "builtin:first"]
    done = run("match", *players, "-n", "1", "--out", str(tmp_path / "out"))
    assert "does not report" not in done.stderr
    assert PLATFORM_GAPS not in (tmp_path / "out" / "report.html").read_text("utf-8")
