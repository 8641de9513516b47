"""Opening books: replays, folders and lists."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import RANDOM, SEQUENTIAL, Opening
from spielleiter.match.preparation import load_openings, order_openings, read_book
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE


def test_a_replay_is_an_opening(replay: bytes, tmp_path: Path) -> None:
    file = tmp_path / "one.xml"
    file.write_bytes(replay)
    assert load_openings(file, 1, DEFAULT_GAME_TYPE, {}) == (Opening("one.xml", str(file), 1),)


def test_a_folder_holds_openings_in_the_order_of_their_names(replay: bytes, tmp_path: Path) -> None:
    (tmp_path / "b.xml").write_bytes(replay)
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(replay))
    (tmp_path / "readme.txt").write_text("not meant")
    (tmp_path / "c.xml").mkdir()
    assert [each.name for each in load_openings(tmp_path, 0, DEFAULT_GAME_TYPE, {})] == ["a.xml.gz", "b.xml"]


@pytest.mark.parametrize(
    ("name", "content", "turn", "problem"),
    [
        ("one.xml", None, 0, "cannot be read"),
        ("one.xml", b"<protocol><oh/></protocol>", 0, "one.xml"),
        ("one.xml", "replay", 9, "ends at turn 1, before turn 9"),
        (".", None, 0, "holds no replay"),
    ],
)
def test_replays_without_a_usable_position_are_refused(
    name: str, content: bytes | str | None, turn: int, problem: str, replay: bytes, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(replay if isinstance(content, str) else content)
    with pytest.raises(SetupError, match=problem):
        load_openings(tmp_path / name, turn, DEFAULT_GAME_TYPE, {})


def test_an_invalid_game_option_is_refused(replay: bytes, tmp_path: Path) -> None:
    (tmp_path / "one.xml").write_bytes(replay)
    with pytest.raises(SetupError, match="TRIANGLE"):
        load_openings(tmp_path / "one.xml", 0, DEFAULT_GAME_TYPE, {"startPiece": "TRIANGLE"})


def test_a_list_names_replays_and_turns(replay: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "my games"
    folder.mkdir()
    (folder / "a b.xml").write_bytes(replay)
    (folder / "c.xml.gz").write_bytes(gzip.compress(replay))
    book = tmp_path / "book.txt"
    book.write_text("# openings\n\nmy games/a b.xml 1\n  my games/c.xml.gz\r\nmy games/a b.xml\t0\n", "utf-8-sig")
    assert load_openings(book, 0, DEFAULT_GAME_TYPE, {}) == (
        Opening("a b.xml 1", str(folder / "a b.xml"), 1),
        Opening("c.xml.gz", str(folder / "c.xml.gz"), 0),
        Opening("a b.xml 0", str(folder / "a b.xml"), 0),
    )


def test_an_invalid_replay_is_refused_whatever_its_name(replay: bytes, tmp_path: Path) -> None:
    for name, content in (("game", replay), ("packed", gzip.compress(replay))):
        (tmp_path / name).write_bytes(content)
        assert [each.name for each in load_openings(tmp_path / name, 0, DEFAULT_GAME_TYPE, {})] == [name]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"one.xml\nnone.xml 3\n", r"book.txt:2: there is no file .*none\.xml"),
        (b"one.xml 9", "ends at turn 1, before turn 9"),
        (b"one.xml 99999999999", "book.txt:1: turn 99999999999, expected 2147483647 at most"),
        (b"# nothing", "names no replay, expected a path in each line"),
        (b"\xff\xfe\x00", "neither a replay nor a list of replays in UTF-8"),
    ],
)
def test_errors_in_a_list_are_reported_with_their_line(
    content: bytes, problem: str, replay: bytes, tmp_path: Path
) -> None:
    (tmp_path / "one.xml").write_bytes(replay)
    (tmp_path / "book.txt").write_bytes(content)
    with pytest.raises(SetupError, match=problem):
        load_openings(tmp_path / "book.txt", 0, DEFAULT_GAME_TYPE, {})


def test_a_list_that_is_too_long_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "book.txt").open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(SetupError, match="16 MiB at most"):
        read_book(tmp_path / "book.txt", 0)


def test_the_order_is_that_of_the_book_or_drawn_from_the_seed() -> None:
    openings = [Opening(f"{number}.xml", f"/{number}.xml") for number in range(20)]
    assert order_openings(openings, SEQUENTIAL, 7) == tuple(openings)
    drawn = order_openings(openings, RANDOM, 7)
    assert drawn == order_openings(openings, RANDOM, 7) != order_openings(openings, RANDOM, 8)
    assert drawn != tuple(openings)
    assert sorted(drawn, key=openings.index) == openings


def test_the_replays_of_a_match_are_a_book(replay: bytes, tmp_path: Path) -> None:
    for number in (2, 1, 10):
        folder = tmp_path / "games" / f"{number:04d}"
        folder.mkdir(parents=True)
        (folder / "replay.xml.gz").write_bytes(gzip.compress(replay))
        (folder / "replay.html").write_text("not meant")
    (tmp_path / "games" / "0003").mkdir()  # its replay was not kept
    (tmp_path / "match.json").write_text("{}")
    (tmp_path / "junit.xml").write_text("<testsuites/>")
    found = load_openings(tmp_path, 1, DEFAULT_GAME_TYPE, {})
    assert [each.name for each in found] == ["game 0001", "game 0002", "game 0010"]
    assert [each.path for each in found] == [
        str(tmp_path / "games" / name / "replay.xml.gz") for name in ("0001", "0002", "0010")
    ]
