"""What a build of an official server finds out before it compiles: programs, the tag, the season, the folders."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tools.season import build
from tools.season.release import Release, ReleaseError

PROPERTIES = "socha.gameName=piranhas\nsocha.version.year=26\nsocha.version.minor=01\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the tags 26.0.7 and 26.1.0."""
    folder = tmp_path / "backend"
    folder.mkdir()
    (folder / "gradle.properties").write_text(PROPERTIES, "utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"], ["tag", "26.0.7"], ["tag", "26.1.0"]):
        subprocess.run([*git, *command], check=True)
    return folder


def test_the_files_of_a_tag_replace_what_was_there(repository: Path, tmp_path: Path) -> None:
    old = tmp_path / "src" / "old"
    old.mkdir(parents=True)
    build.unpack_sources(repository, "26.1.0", tmp_path / "src")
    assert not old.exists()
    assert build.season_of(tmp_path / "src") == ("piranhas", 2026)


def test_a_wrong_tag_is_answered_with_the_tags_of_its_season(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"has no tag 26\.2\.0; it has 26\.0\.7, 26\.1\.0"):
        build.unpack_sources(repository, "26.2.0", tmp_path / "src")
    with pytest.raises(ReleaseError, match="is no repository"):
        build.unpack_sources(tmp_path / "backend" / "nothing", "26.1.0", tmp_path / "src")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "does not name game and year"),
        (PROPERTIES.replace("26", "xx"), "does not name game and year"),
        (PROPERTIES.replace("26", "21"), "season 2021 is older than 2022"),
    ],
)
def test_sources_without_a_season_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "gradle.properties").write_text(text, "utf-8")
    with pytest.raises(ReleaseError, match=said):
        build.season_of(tmp_path)


def test_the_rules_of_a_season_are_found_in_each_of_their_places(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="none of these folders is there"):
        build.plugin_folder(tmp_path, "piranhas", 2026)
    for place in ("plugin", "plugin2026", "games/piranhas"):
        (tmp_path / place).mkdir(parents=True)
        assert build.plugin_folder(tmp_path, "piranhas", 2026) == tmp_path / place


def test_only_what_the_libraries_need_is_changed(tmp_path: Path) -> None:
    provider, logging, other = tmp_path / "XStreamProvider.kt", tmp_path / "Logging.kt", tmp_path / "Game.kt"
    provider.write_text("XStream().apply { setMode(XStream.NO_REFERENCES) }", "utf-8")
    logging.write_text(
        "import ch.qos.logback.classic.ClassicConstants\nval x = ClassicConstants.CONFIG_FILE_PROPERTY\n", "utf-8"
    )
    other.write_text("// ClassicConstants.CONFIG_FILE_PROPERTY\n", "utf-8")
    build.adapt(tmp_path)
    assert "setMode(XStream.NO_REFERENCES); addPermission(" in provider.read_text("utf-8")
    assert logging.read_text("utf-8") == 'val x = "logback.configurationFile"\n'
    assert other.read_text("utf-8") == "// ClassicConstants.CONFIG_FILE_PROPERTY\n"


def test_a_step_that_fails_says_the_end_of_what_the_program_said() -> None:
    with pytest.raises(ReleaseError, match=r"git has failed:\n.*nonsense"):
        build.run(["git", "nonsense"])


def test_a_folder_without_a_release_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"has no built release .*: python -m tools\.season build"):
        _ = Release(tmp_path).class_path


def test_a_release_is_told_with_its_day_and_its_player(repository: Path, tmp_path: Path) -> None:
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", build.day_of(repository, "26.0.7"))
    with pytest.raises(ReleaseError, match=r"has no Starter\.java"):
        build.player_class(tmp_path)
    (tmp_path / "sc/player/util").mkdir(parents=True)
    (tmp_path / "sc/player/util/Starter.java").touch()
    assert build.player_class(tmp_path) == "sc.player.util.Starter"
