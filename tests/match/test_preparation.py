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
from spielleiter.match.plan import RANDOM, SEQUENTIAL, Entrant, MatchSetup, Opening, ProgramTimeouts
from spielleiter.match.preparation import (
    inspect_program,
    load_match,
    load_openings,
    order_openings,
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
from tests.programs.packages.broken_packages import BROKEN
from tests.programs.packages.making import BOT, SHELL_BOT, zipped

SOFT_ABOVE_HARD = "the soft time limit ({} ms) is above the hard one ({} ms), at which the game is over already"


def setup_of(folder: Path, first: dict[str, Any], second: dict[str, Any], **limits: float) -> MatchSetup:
    return MatchSetup(
        entrants=(Entrant("new", "builtin:greedy", **first), Entrant("old", "builtin:random", **second)),
        game_type="swc_2027_blokus",
        games=2,
        seed=1,
        run_id="run",
        cwd=str(folder),
        server_options=limits,
    )


@pytest.mark.parametrize(
    ("first", "second", "limits", "problem"),
    [
        ({"soft_timeout": 20.0}, {}, {}, "new: " + SOFT_ABOVE_HARD.format(20000, 10000)),
        ({}, {"hard_timeout": 1.0}, {}, "old: " + SOFT_ABOVE_HARD.format(2000, 1000)),
        ({}, {"time_factor": 2.0}, {"soft_timeout": 20.0}, SOFT_ABOVE_HARD.format(20000, 10000)),
        ({}, {}, {"soft_timeout": 20.0}, SOFT_ABOVE_HARD.format(20000, 10000)),
    ],
)
def test_limits_that_contradict_each_other_name_the_program_they_belong_to(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], limits: dict[str, float], problem: str
) -> None:
    with pytest.raises(SetupError) as refused:
        require_playable(setup_of(tmp_path, first, second, **limits))
    assert str(refused.value).startswith(problem)


def test_a_program_that_is_held_to_no_limit_may_have_any(tmp_path: Path) -> None:
    require_playable(setup_of(tmp_path, {"soft_timeout": 20.0, "can_timeout": False}, {}))


def test_two_command_lines_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    setup = prepare_match("builtin:greedy", "builtin:random")
    assert setup.names == ("greedy", "random")
    assert (setup.games, setup.edition, setup.server, setup.cwd) == (100, None, None, str(tmp_path))
    assert setup.game_type == next(iter(choose_editions({}, {})))
    assert setup.timeouts == ProgramTimeouts()
    assert setup != prepare_match("builtin:greedy", "builtin:random"), "another seed and another id"


def test_an_entrant_brings_its_own_settings(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    setup = prepare_match(
        Entrant("", "builtin:first", can_timeout=False),
        Entrant("old", "true", cwd="new", time_factor=2.0),
        cwd=tmp_path,
    )
    assert setup.names == ("first", "old")
    assert not setup.entrants[0].can_timeout
    assert setup.cwd_of(1) == str(tmp_path / "new")


def test_only_what_was_asked_for_is_set(tmp_path: Path) -> None:
    setup = prepare_match(
        *("builtin:first", "builtin:first"),
        edition="blokus-2021-r1",
        soft_timeout=1.5,
        start_piece="PENTO_V",
        sprt="elo0=0 elo1=50",
        significance=0.05,
        seed=7,
        cwd=tmp_path,
    )
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
        (
            {"player1": "builtin:hui-greedy"},
            "builtin:hui-greedy: the strategy hui-greedy does not play swc_2027_blokus",
        ),
    ],
)
def test_what_cannot_be_played_is_refused(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(SetupError) as refused:
        prepare_match(**{"player1": "builtin:first", "player2": "builtin:first", **arguments})
    assert problem in str(refused.value)


def test_a_match_is_loaded_with_the_password_that_its_folder_does_not_hold(tmp_path: Path) -> None:
    setup = prepare_match("builtin:first", "builtin:first", server=("localhost", 1), password="secret")
    save_setup(tmp_path, setup.to_json())
    assert load_match(tmp_path, "secret") == setup
    with pytest.raises(JournalError, match="is there a match"):
        load_match(tmp_path / "other")


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the match, with a sound package; scratch folders are below ``scratch``."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "player.zip").write_bytes(zipped(BOT))
    return tmp_path


def match_of(folder: Path, player: str | Entrant) -> MatchSetup:
    return prepare_match(player, "builtin:random", cwd=folder, games=2)


@pytest.mark.parametrize(
    ("command", "parameters"),
    [
        ("player.zip", ""),
        ("player.zip --level 3", "--level 3"),
        ('./player.zip "a b" "{seed}"', "'a b' '{seed}'"),
        ("player.zip --address {host}:{port} {reservation}", "--address '{host}:{port}' '{reservation}'"),
    ],
)
async def test_a_package_is_unpacked_for_the_match(command: str, parameters: str, folder: Path) -> None:
    setup = match_of(folder, command)
    assert setup.names == ("player", "random")
    async with unpacked_programs(setup) as playable:
        (scratch,) = (folder / "scratch").glob("*/*")
        entrant = playable.entrants[0]
        assert entrant.cwd == str(scratch / "program1")
        assert (scratch / "program1" / "bot.py").read_text() == BOT["bot.py"]
        if sys.platform != "win32":
            assert entrant.command == " ".join(filter(None, [f"{entrant.cwd}/start.sh", parameters]))
        assert split_command(entrant.command)[0] == str(Path(entrant.cwd, "start.sh"))
        others = dataclasses.replace(playable, entrants=setup.entrants)
        assert others == setup
    assert list((folder / "scratch").glob("*/*")) == []


async def test_a_match_without_packages_is_left_alone(folder: Path) -> None:
    setup = match_of(folder, "builtin:greedy")
    async with unpacked_programs(setup) as playable:
        assert playable is setup
        assert list((folder / "scratch").glob("*/*")) == []


async def test_both_programs_have_folders_of_their_own(folder: Path) -> None:
    setup = prepare_match("player.zip", "player.zip", cwd=folder)
    assert setup.names == ("player (1)", "player (2)")
    async with unpacked_programs(setup) as playable:
        first, second = (each.cwd for each in playable.entrants)
        assert first != second
        assert sorted(each.name for each in (folder / "scratch").rglob("*.sh")) == ["start.sh", "start.sh"]


async def test_the_folder_is_removed_if_the_match_is_cancelled(folder: Path) -> None:
    async with trio.open_nursery() as nursery, unpacked_programs(match_of(folder, "player.zip")) as playable:
        (Path(playable.entrants[0].cwd) / "written by the program").mkdir(mode=0o000)
        nursery.cancel_scope.cancel()
    assert list((folder / "scratch").glob("*/*")) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such paths")
async def test_what_a_program_has_written_is_removed_however_deep_it_is(folder: Path) -> None:
    async with unpacked_programs(match_of(folder, "player.zip")) as playable:
        descriptor = os.open(playable.entrants[0].cwd, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("d", dir_fd=descriptor)
            below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        os.close(descriptor)
    assert list((folder / "scratch").glob("*/*")) == []


async def test_a_package_that_is_broken_meanwhile_is_refused(folder: Path) -> None:
    setup = match_of(folder, "player.zip")
    (folder / "player.zip").write_bytes(b"")
    with pytest.raises(PackageError, match="not a ZIP file, it is empty"):
        async with unpacked_programs(setup):
            pass
    assert list((folder / "scratch").glob("*/*")) == []


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
        (Entrant("", "builtin:greedy", main="start.sh"), "builtin:greedy: expected no main file"),
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
    setup = match_of(folder, "yellow.zip")
    inspection = inspect_program(setup.entrants[0], setup.cwd)
    assert inspection is not None
    assert [each.code for each in inspection.findings] == ["uncertain-interpreter"]
