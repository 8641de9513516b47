"""Preparing a match: what cannot be played is refused; opening books; packages are unpacked."""

from __future__ import annotations

import dataclasses
import gzip
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from spielleiter.common.errors import JournalError, MachineError, SetupError
from spielleiter.match.defaults import RANDOM, SEQUENTIAL
from spielleiter.match.plan import Entrant, MatchSetup, Opening, ProgramTimeouts
from spielleiter.match.preparation import (
    inspect_program,
    load_match,
    openings_of,
    prepare_match,
    read_book,
    require_playable,
    unpacked_programs,
)
from spielleiter.match.records import save_setup
from spielleiter.programs.command import split_command
from spielleiter.programs.packages.faults import PackageError
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server.editions import choose_editions
from tests.match.refereed import setup_of
from tests.programs.packages.broken_packages import BROKEN
from tests.programs.packages.making import BOT, SHELL_BOT, zipped

SOFT_ABOVE_HARD = "the soft time limit ({} ms) is above the hard one ({} ms), at which the game is over already"
PLAYERS = ("builtin:first", "builtin:first")


@pytest.mark.parametrize(
    ("first", "second", "limits", "problem"),
    [
        ({"soft_timeout": 20.0}, {}, {}, "new: " + SOFT_ABOVE_HARD.format(20000, 10000)),
        ({}, {"hard_timeout": 1.0}, {}, "old: " + SOFT_ABOVE_HARD.format(2000, 1000)),
        ({}, {"time_factor": 2.0}, {"soft_timeout": 20.0}, SOFT_ABOVE_HARD.format(20000, 10000)),
        # a program that is held to no limit may have any
        ({"soft_timeout": 20.0, "can_timeout": False}, {}, {}, None),
    ],
)
def test_limits_that_contradict_each_other_name_the_program_they_belong_to(
    first: dict[str, Any], second: dict[str, Any], limits: dict[str, float], problem: str | None
) -> None:
    entrants = Entrant("new", PLAYERS[0], **first), Entrant("old", PLAYERS[1], **second)
    setup = setup_of(*entrants, server_options=limits)
    if problem is None:
        require_playable(setup)
        return
    with pytest.raises(SetupError) as refused:
        require_playable(setup)
    assert str(refused.value).startswith(problem)


def test_two_command_lines_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    setup = prepare_match("builtin:greedy", "builtin:random")
    assert setup.names == ("greedy", "random")
    assert (setup.games, setup.edition, setup.server, setup.cwd) == (100, None, None, str(tmp_path))
    assert setup.game_type == next(iter(choose_editions({}, {})))
    assert setup.timeouts == ProgramTimeouts()
    assert setup != prepare_match("builtin:greedy", "builtin:random"), "another seed and another id"


def test_what_is_asked_for_is_set(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    setup = prepare_match(
        Entrant("", "builtin:first", can_timeout=False),
        Entrant("old", "true", cwd="new", time_factor=2.0),
        edition="blokus-2021-r1",
        soft_timeout=1.5,
        start_piece="PENTO_V",
        sprt="elo0=0 elo1=50",
        significance=0.05,
        seed=7,
        cwd=tmp_path,
    )
    assert (setup.names, setup.entrants[0].can_timeout) == (("first", "old"), False)
    assert setup.cwd_of(1) == str(tmp_path / "new")
    assert (setup.game_type, setup.edition) == ("swc_2021_blokus", "blokus-2021-r1")
    assert setup.server_options == {"soft_timeout": 1.5, "start_piece": "PENTO_V"}
    assert (setup.sprt, setup.significance, setup.min_games, setup.seed) == ("elo0=0 elo1=50", 0.05, 20, 7)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"game_type": "chess"}, "game_type 'chess': expected swc_"),
        ({"edition": "chess"}, "edition 'chess': expected blokus-2027"),
        ({"edition": "blokus-2027", "game_type": "swc_2021_blokus"}, "edition blokus-2027 is of swc_2027_blokus, not"),
        ({"games": 0}, "0 games cannot be played"),
        ({"order": "backwards"}, "order 'backwards': expected sequential or random"),
        ({"book": "nothing"}, "openings nothing: cannot be read"),
        ({"server": ("localhost", 1), "soft_timeout": 1.0}, "are set by the running server"),
        ({"server": ("localhost", 1), "book": "nothing"}, "are set by the running server"),
        ({"sprt": "elo0=9 elo1=0"}, "SPRT: elo0=9 must be below elo1=0"),
        ({"significance": 0.7}, "significance 0.7: expected more than 0 and at most 0.5"),
        ({"start_piece": "TRIANGLE"}, "startPiece: 'TRIANGLE' is not one of"),
        ({"cwd": "/there/is/none"}, "the directory that the programs are started in does not exist"),
        ({"player1": "./no-such-bot"}, "there is no file ./no-such-bot"),
        ({"player1": "builtin:hui-greedy"}, "the strategy hui-greedy does not play swc_2027_blokus"),
        ({"player1": Entrant("", "builtin:greedy", main="start.sh")}, "builtin:greedy: expected no main file"),
    ],
)
def test_what_cannot_be_played_is_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(SetupError) as refused:
        prepare_match(**{"player1": "builtin:first", "player2": "builtin:first", **arguments})
    assert problem in str(refused.value)


def test_a_match_is_loaded_with_the_password_that_its_folder_does_not_hold(tmp_path: Path) -> None:
    setup = prepare_match(*PLAYERS, server=("localhost", 1), password="secret")
    save_setup(tmp_path, setup.to_json())
    assert load_match(tmp_path, "secret") == setup
    with pytest.raises(JournalError, match="is there a match"):
        load_match(tmp_path / "other")


# -- opening books ----------------------------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path: Path, replay: bytes) -> Path:
    """A folder with two replays, a list of them, and things that are neither."""
    (tmp_path / "b c.xml").write_bytes(replay)
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(replay))
    (tmp_path / "book.txt").write_text("# some\n\nb c.xml 1\n  a.xml.gz\r\nb c.xml\t0\n", "utf-8-sig")
    (tmp_path / "d.xml").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("b c.xml", [("b c.xml", "b c.xml", 1)]),
        (".", [("a.xml.gz", "a.xml.gz", 1), ("b c.xml", "b c.xml", 1)]),
        ("book.txt", [("b c.xml 1", "b c.xml", 1), ("a.xml.gz", "a.xml.gz", 1), ("b c.xml 0", "b c.xml", 0)]),
    ],
)
def test_a_book_is_a_replay_a_folder_or_a_list(name: str, expected: list[tuple[str, str, int]], book: Path) -> None:
    openings = tuple(Opening(title, str(book / file), turn) for title, file, turn in expected)
    assert openings_of(book / name, 1, DEFAULT_GAME_TYPE) == openings


def test_a_replay_is_known_by_its_content(book: Path) -> None:
    for old, new in (("b c.xml", "game"), ("a.xml.gz", "packed")):
        (book / old).rename(book / new)
        assert [each.name for each in openings_of(book / new, 0, DEFAULT_GAME_TYPE)] == [new]


def test_the_replays_of_a_match_are_a_book(replay: bytes, tmp_path: Path) -> None:
    names = ("0001", "0002", "0010")
    for name in names[::-1]:
        folder = tmp_path / "games" / name
        folder.mkdir(parents=True)
        (folder / "replay.xml.gz").write_bytes(gzip.compress(replay))
        (folder / "replay.html").write_text("not meant")
    (tmp_path / "games" / "0003").mkdir()  # its replay was not kept
    (tmp_path / "match.json").write_text("{}")
    (tmp_path / "junit.xml").write_text("<testsuites/>")
    found = [(each.name, each.path) for each in openings_of(tmp_path, 1, DEFAULT_GAME_TYPE)]
    assert found == [(f"game {name}", str(tmp_path / "games" / name / "replay.xml.gz")) for name in names]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("none.xml", None, "cannot be read"),
        ("one.xml", b"<protocol><oh/></protocol>", "one.xml"),
        ("d.xml", None, "holds no replay"),
        ("list", b"b c.xml\nnone.xml 3\n", r"list:2: there is no file .*none\.xml"),
        ("list", b"b c.xml 9", "ends at turn 1, before turn 9"),
        ("list", b"b c.xml 99999999999", "list:1: turn 99999999999, expected 2147483647 at most"),
        ("list", b"# nothing", "names no replay, expected a path in each line"),
        ("list", b"\xff\xfe\x00", "neither a replay nor a list of replays in UTF-8"),
    ],
)
def test_a_book_without_a_usable_position_is_refused(
    name: str, content: bytes | None, problem: str, book: Path
) -> None:
    if content is not None:
        (book / name).write_bytes(content)
    with pytest.raises(SetupError, match=problem):
        openings_of(book / name, 0, DEFAULT_GAME_TYPE)


def test_turns_options_and_lists_out_of_range_are_refused(book: Path) -> None:
    with pytest.raises(SetupError, match="ends at turn 1, before turn 9"):
        openings_of(book / "b c.xml", 9, DEFAULT_GAME_TYPE)
    with pytest.raises(SetupError, match="TRIANGLE"):
        openings_of(book, 0, DEFAULT_GAME_TYPE, server_options={"start_piece": "TRIANGLE"})
    with (book / "book.txt").open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(SetupError, match="16 MiB at most"):
        read_book(book / "book.txt", 0)


def test_the_order_is_that_of_the_book_or_drawn_from_the_seed(replay: bytes, tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number}.xml").write_bytes(replay)

    def names(order: str, seed: int = 7) -> str:
        found = openings_of(tmp_path, 0, DEFAULT_GAME_TYPE, order=order, seed=seed)
        return "".join(each.name.removesuffix(".xml") for each in found)

    assert names(SEQUENTIAL) == "0123456789"
    drawn = names(RANDOM)
    assert drawn == names(RANDOM) != names(RANDOM, 8)
    assert sorted(drawn) == list("0123456789") != list(drawn)


# -- packages ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the match, with a sound package; scratch folders are below ``scratch``."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "player.zip").write_bytes(zipped(BOT))
    return tmp_path


def match_of(folder: Path, player: str | Entrant, other: str = "builtin:random") -> MatchSetup:
    return prepare_match(player, other, cwd=folder, games=2)


def scratch_folders(folder: Path) -> list[Path]:
    return list((folder / "scratch").glob("*/*"))


@pytest.mark.parametrize(
    ("command", "parameters"),
    [
        ("player.zip", ""),
        ('./player.zip "a b" "{seed}"', "'a b' '{seed}'"),
        ("player.zip --address {host}:{port} {reservation}", "--address '{host}:{port}' '{reservation}'"),
    ],
)
async def test_a_package_is_unpacked_for_the_match(command: str, parameters: str, folder: Path) -> None:
    setup = match_of(folder, command)
    assert setup.names == ("player", "random")
    async with unpacked_programs(setup) as playable:
        (scratch,) = scratch_folders(folder)
        entrant = playable.entrants[0]
        assert entrant.cwd == str(scratch / "program1")
        assert (scratch / "program1" / "bot.py").read_text() == BOT["bot.py"]
        if sys.platform != "win32":
            assert entrant.command == " ".join(filter(None, [f"{entrant.cwd}/start.sh", parameters]))
        assert split_command(entrant.command)[0] == str(Path(entrant.cwd, "start.sh"))
        assert dataclasses.replace(playable, entrants=setup.entrants) == setup
    assert scratch_folders(folder) == []


async def test_both_programs_have_folders_of_their_own_and_others_none(folder: Path) -> None:
    async with unpacked_programs(match_of(folder, "builtin:greedy")):
        assert scratch_folders(folder) == []
    setup = match_of(folder, "player.zip", "player.zip")
    assert setup.names == ("player (1)", "player (2)")
    async with unpacked_programs(setup) as playable:
        assert len({each.cwd for each in playable.entrants}) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such paths")
async def test_the_folder_is_removed_if_the_match_is_cancelled_however_deep_it_is(folder: Path) -> None:
    async with trio.open_nursery() as nursery, unpacked_programs(match_of(folder, "player.zip")) as playable:
        (Path(playable.entrants[0].cwd) / "written by the program").mkdir(mode=0o000)
        descriptor = os.open(playable.entrants[0].cwd, os.O_RDONLY)
        for _ in range(2200):
            os.mkdir("d", dir_fd=descriptor)
            below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        os.close(descriptor)
        nursery.cancel_scope.cancel()
    assert scratch_folders(folder) == []


async def test_a_package_that_is_broken_meanwhile_is_refused(folder: Path) -> None:
    setup = match_of(folder, "player.zip")
    (folder / "player.zip").write_bytes(b"")
    with pytest.raises(PackageError, match="not a ZIP file, it is empty"):
        async with unpacked_programs(setup):
            pass
    assert scratch_folders(folder) == []


@pytest.mark.parametrize("function", ["unpack_package", "new_folder"])
async def test_a_full_disk_is_not_the_programs_fault(
    function: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = match_of(folder, "player.zip")

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(28, os.strerror(28), "start.sh")

    monkeypatch.setattr(f"spielleiter.match.preparation.{function}", fail)
    with pytest.raises(MachineError, match=r"start\.sh"):
        async with unpacked_programs(setup):
            pass


def test_the_main_file_can_be_named(folder: Path) -> None:
    (folder / "two.zip").write_bytes(zipped({"a.sh": SHELL_BOT, "b.sh": SHELL_BOT, "bot.py": BOT["bot.py"]}))
    with pytest.raises(SetupError, match=r"^two\.zip: several files could be the main file \(a\.sh, b\.sh\)"):
        match_of(folder, "two.zip")
    setup = match_of(folder, Entrant("", "two.zip", main="b.sh"))
    inspection = inspect_program(setup.entrants[0], setup.cwd)
    assert inspection is not None
    assert str(inspection.main) == "b.sh"
    assert MatchSetup.from_json(setup.to_json()) == setup


@pytest.mark.parametrize(
    ("entrant", "problem"),
    [
        (Entrant("", "player.zip", cwd="scratch"), "a package is started in its own folder"),
        (Entrant("", "missing.zip"), r"^missing\.zip: the file cannot be read \(No such file"),
        (Entrant("", "broken.zip"), r"^broken\.zip: \(1\) start\.sh has .* remove them \(2\) start\.sh has .* LF$"),
    ],
)
def test_a_package_that_cannot_be_played_is_misuse(entrant: Entrant, problem: str, folder: Path) -> None:
    (folder / "broken.zip").write_bytes(zipped({"start.sh": '\n#!/bin/sh\r\npython3 bot.py "$@"\r\n'}))
    (folder / "scratch" / "player.zip").write_bytes(zipped(BOT))
    with pytest.raises(SetupError, match=problem):
        match_of(folder, entrant)


def test_a_warning_is_no_misuse(folder: Path) -> None:
    (folder / "yellow.zip").write_bytes(BROKEN["unusual interpreter"].content)
    assert match_of(folder, "yellow.zip").names == ("yellow", "random")
