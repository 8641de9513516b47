"""Checks of uploads, in their real process."""

from __future__ import annotations

import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil
import pytest
import trio

from spielleiter.league.check_messages import StartCheck
from spielleiter.league.check_process import MEMORY, SHORTEST_GAME
from spielleiter.league.checks import SHORT_TIMEOUT, check_upload
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from tests.contest.packages import SOUND, Planted, make_package, write_package
from tests.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.slow


def start_of(path: Path, **changes: object) -> StartCheck:
    start = StartCheck("short", str(path), "", (), DEFAULT_GAME_TYPE, None, 2.0, 10.0)
    return msgspec.structs.replace(start, **changes)


async def test_sound_package_is_accepted_in_time(tmp_path: Path) -> None:
    said: list[str] = []
    began = trio.current_time()
    checked = await check_upload(start_of(make_package(tmp_path / "player.zip")), said.append)
    assert checked.fault is None
    assert trio.current_time() - began < SHORT_TIMEOUT
    assert any("game 1" in text for text in said)


async def test_broken_zip_is_refused_in_both_languages(tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(b"Rar! and no ZIP")
    checked = await check_upload(start_of(path))
    assert checked.fault is not None
    assert checked.fault.code == "not-a-zip"
    assert "ZIP-Datei" in checked.fault.de
    assert checked.fault.en.startswith("The file is not a ZIP file")


async def test_script_that_ends_at_once_is_refused(tmp_path: Path) -> None:
    path = write_package(tmp_path / "player.zip", {"start.sh": "#!/bin/sh\necho no idea >&2\nexit 3\n"})
    checked = await check_upload(start_of(path))
    assert checked.fault is not None
    assert checked.fault.code == "does-not-start"
    assert "Exitcode 3" in checked.fault.de
    assert "no idea" in checked.fault.de


async def test_options_in_one_word_are_named(tmp_path: Path) -> None:
    package = make_package(tmp_path / "player.zip", Planted(script=SOUND.script.replace('"$@"', '"$*"')))
    checked = await check_upload(start_of(package))
    assert checked.fault is not None
    assert checked.fault.code == "options-in-one-word"


async def test_time_limit_leaves_no_process(tmp_path: Path) -> None:
    path = write_package(tmp_path / "player.zip", {"start.sh": "#!/bin/sh\nsleep 1000.25\n"})
    with pytest.raises(trio.TooSlowError), trio.fail_after(8.0):
        await check_upload(start_of(path))
    with trio.fail_after(HANG_TIMEOUT):
        while [each for each in psutil.process_iter() if "1000.25" in _words(each)]:  # noqa: ASYNC110 - processes
            await trio.sleep(0.1)


def hostile_package(path: Path) -> Path:
    """A package of some kilobytes whose only source has a syntax tree of more than half a gigabyte."""
    source = "#!/usr/bin/env python3\nx = " + "[]," * 340_000
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("main.py", "#!/usr/bin/env python3\nimport other\n")
        archive.writestr("other.py", source)
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the memory of a running process")
async def test_inspecting_a_hostile_package_takes_limited_memory(tmp_path: Path) -> None:
    path, largest = hostile_package(tmp_path / "player.zip"), 0
    async with trio.open_nursery() as nursery:

        async def measure() -> None:
            nonlocal largest
            while True:
                for each in psutil.Process().children():
                    with suppress(psutil.Error):
                        largest = max(largest, each.memory_info().rss)
                await trio.sleep(0.02)

        nursery.start_soon(measure)
        checked = await check_upload(start_of(path, main="main.py"))
        nursery.cancel_scope.cancel()
    assert checked.fault is not None
    assert checked.fault.code == "does-not-start"
    assert 0 < largest < MEMORY + 64 * 1024 * 1024


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.extended
async def test_full_check_finds_what_the_short_one_does_not(tmp_path: Path) -> None:
    checked = await check_upload(start_of(make_package(tmp_path / "player.zip"), kind="full"))
    assert checked.report is not None
    assert checked.report["conditions"]


@pytest.mark.extended
async def test_program_that_plays_without_a_fault_until_the_time_is_over_is_accepted(tmp_path: Path) -> None:
    slow = make_package(tmp_path / "player.zip", Planted(move="time.sleep(1.5)"))
    began = trio.current_time()
    checked = await check_upload(start_of(slow, soft_timeout=8.0))
    assert trio.current_time() - began > SHORTEST_GAME
    assert checked.fault is None


@pytest.mark.extended
async def test_program_that_hangs_in_the_game_is_refused(tmp_path: Path) -> None:
    hanging = make_package(tmp_path / "player.zip", Planted(move="if moves > 3: time.sleep(500)"))
    checked = await check_upload(start_of(hanging))
    assert checked.fault is not None
