"""The packages among the programs of a match: inspected before it, unpacked for it, removed after it."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import pytest
import trio

from spielleiter.common.errors import MachineError, SetupError
from spielleiter.match.plan import Entrant, MatchSetup
from spielleiter.match.preparation import inspect_program, prepare_match, unpacked_programs
from spielleiter.programs.command import split_command
from spielleiter.programs.packages.faults import PackageError
from tests.programs.packages.broken_packages import BROKEN
from tests.programs.packages.making import BOT, SHELL_BOT, zipped


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
