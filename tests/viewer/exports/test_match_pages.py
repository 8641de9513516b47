"""The pages of a match: one beside each replay, made once, and none for a replay that cannot be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spielleiter.match.game_folder import REPLAY, REPLAY_PAGE
from spielleiter.viewer.exports.html import SCRIPT
from spielleiter.viewer.exports.match_pages import PAGE, write_match_pages
from tests.viewer.replay_files import replay_of


def match_with(folder: Path, *contents: bytes) -> list[str]:
    names = []
    for number, content in enumerate(contents, 1):
        name = f"games/{number:04d}/{REPLAY}"
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        names.append(name)
    return names


def test_a_page_is_made_beside_each_replay_that_can_be_read(tmp_path: Path) -> None:
    good = gzip.compress(replay_of("blokus-2027", plies=2))
    names = match_with(tmp_path, good, b"damaged", good)
    assert list(write_match_pages(tmp_path, names)) == [names[0], names[2]]
    pages = [(tmp_path / name).with_name(PAGE) for name in names]
    assert [page.exists() for page in pages] == [True, False, True]
    assert (tmp_path / SCRIPT).exists()
    assert b'data-script="../../' in pages[0].read_bytes()
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == sorted(
        [SCRIPT, PAGE, PAGE, REPLAY, REPLAY, REPLAY]
    )


def test_a_page_that_exists_is_kept(tmp_path: Path) -> None:
    names = match_with(tmp_path, replay_of("blokus-2027", plies=1))
    page = (tmp_path / names[0]).with_name(PAGE)
    page.write_text("mine")
    assert list(write_match_pages(tmp_path, names)) == names
    assert page.read_text() == "mine"
    assert not (tmp_path / SCRIPT).exists()


def test_a_page_that_cannot_be_written_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = match_with(tmp_path, replay_of("blokus-2027", plies=1))

    def fail(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        list(write_match_pages(tmp_path, names))
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [REPLAY]


def test_the_name_of_the_page_is_the_one_that_the_report_links_to() -> None:
    assert PAGE == REPLAY_PAGE
