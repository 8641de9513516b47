"""The packages of a league as files, which another process unpacks."""

from __future__ import annotations

import os
import sys
import time
import zipfile
from pathlib import Path

import pytest
import trio

from spielleiter.league.check_messages import StartUnpacking, Unpacked
from spielleiter.league.checks import NotCheckedError
from spielleiter.league.package_needs import PYTHON
from spielleiter.league.program_files import FOLDER, MissingPackageError, ProgramFiles
from tests.contest.packages import write_package
from tests.league.leagues import League

pytestmark = pytest.mark.slow

MOST_PROCESSOR_TIME = 0.4
"""Seconds for starting another process, however busy the machine is."""


def slow_package(path: Path) -> Path:
    """A package that passes the check, and whose inspection takes seconds of a processor."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("start.sh", '#!/bin/sh\nexec python3 main.py "$@"\n')
        archive.writestr("main.py", "".join(f"import module{number}\n" for number in range(2)))
        for number in range(2):
            archive.writestr(f"module{number}.py", "x = " + "[]," * 100_000 + "\n")
    return path


def names_in(folder: str) -> set[str]:
    return {each.name for each in Path(folder).iterdir()}


async def test_slow_package_takes_no_time_of_the_league(league: League, tmp_path: Path) -> None:
    content = slow_package(tmp_path / "slow.zip").read_bytes()
    version = league.upload(league.add_team("A"), content=content)
    files = ProgramFiles(league.database, tmp_path)
    before = time.process_time()
    program = await files.program_of(version)
    needs = await files.needs_of(version)
    assert time.process_time() - before < MOST_PROCESSOR_TIME
    assert names_in(program.folder) == {"start.sh", "main.py", *(f"module{n}.py" for n in range(2))}
    assert program.command == str(Path(program.folder) / "start.sh")
    assert sys.platform == "win32" or os.access(program.command, os.X_OK)
    assert (needs.interpreter, needs.words) == (PYTHON, ("python", "main.py"))
    assert await files.program_of(version) == program


async def test_package_that_cannot_be_unpacked_leaves_nothing(league: League, tmp_path: Path) -> None:
    broken = write_package(tmp_path / "broken.zip", {"readme.txt": "no program"}).read_bytes()
    version = league.upload(league.add_team("A"), content=broken)
    files = ProgramFiles(league.database, tmp_path)
    with pytest.raises(NotCheckedError, match="no file to start"):
        await files.program_of(version)
    assert [each.suffix for each in (tmp_path / FOLDER).iterdir()] == [".zip"]


def write_half(folder: Path) -> None:
    folder.mkdir()
    (folder / "half").write_text("")


async def test_unpacking_that_is_cut_off_leaves_nothing(league: League, tmp_path: Path) -> None:
    async def hang(start: StartUnpacking) -> Unpacked:
        write_half(Path(start.folder))
        begun.set()
        await trio.sleep_forever()
        raise AssertionError

    begun = trio.Event()
    version = league.upload(league.add_team("A"))
    files = ProgramFiles(league.database, tmp_path, unpack=hang)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(files.program_of, version)
        await begun.wait()
        nursery.cancel_scope.cancel()
    assert [each.suffix for each in (tmp_path / FOLDER).iterdir()] == [".zip"]


async def test_removed_package_is_named(league: League, tmp_path: Path) -> None:
    version = league.upload(league.add_team("A"))
    files = ProgramFiles(league.database, tmp_path)
    league(lambda db: db.exec_driver_sql("DELETE FROM versions"))
    league(lambda db: db.exec_driver_sql("DELETE FROM packages"))
    with pytest.raises(MissingPackageError, match="A v1"):
        await files.program_of(version)
