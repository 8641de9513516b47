"""Every finished game gets a line, a replay and a file beside it; failures are reported and end nothing."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from spielleiter.server import archive as module
from spielleiter.server import archive as results
from spielleiter.server import events
from spielleiter.server.archive import LEFTOVER_AGE, RETRY_INTERVAL, Archive
from spielleiter.server.editions import choose_editions
from spielleiter.server.errors import StartError
from tests.server.record.test_log import ENDED
from tests.server.serving import replays_in
from tests.timeouts import HANG_TIMEOUT

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
STEM = "replay_swc_2021_blokus_2026-11-21_12-00-00_Eins_Zwei"


async def run_archive(
    directory: Path | None, results: Path | None, act: Callable[[Archive], None]
) -> list[events.ServerEvent]:
    """Run an archive while `act` reports games to it; returns the events that it published."""
    stream = events.EventStream()
    server_events: list[events.ServerEvent] = []
    stream.subscribe(server_events.append)
    archive = Archive(directory, results, choose_editions({}, {}), stream, lambda: NOON)
    async with trio.open_nursery() as nursery:
        await nursery.start(archive.run)
        nursery.cancel_scope.cancel()  # games that end now are saved nevertheless
        act(archive)
        archive.finish()
    return server_events


async def test_a_game_leaves_a_line_a_replay_and_the_line_beside_it(tmp_path: Path) -> None:
    server_events = await run_archive(tmp_path, tmp_path / "all.jsonl", lambda archive: archive.game_ended(ENDED))
    assert server_events == [events.ReplaySaved("room", str(tmp_path / f"{STEM}.xml"))]
    line = json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))
    assert line["replay"] == f"{STEM}.xml"
    assert json.loads((tmp_path / f"{STEM}.json").read_text(encoding="utf-8")) == line
    assert (tmp_path / f"{STEM}.xml").read_bytes().endswith(b"</protocol>")


async def test_the_line_is_written_at_once(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"

    def act(archive: Archive) -> None:
        archive.game_ended(ENDED)
        assert path.read_text(encoding="utf-8").count("\n") == 1

    assert await run_archive(None, path, act) == []


async def test_games_of_the_same_second_get_different_names(tmp_path: Path) -> None:
    def act(archive: Archive) -> None:
        for _ in range(3):
            archive.game_ended(ENDED)

    await run_archive(tmp_path, None, act)
    assert [path.stem for path in replays_in(tmp_path)] == [STEM, f"{STEM}_2", f"{STEM}_3"]


async def test_without_replays_and_results_nothing_is_written() -> None:
    assert await run_archive(None, None, lambda archive: archive.game_ended(ENDED)) == []


class FullDisk:
    """Lets `os.write` fail as long as the disk is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = True
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._write(descriptor, data)


async def test_results_that_cannot_be_written_wait_until_they_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: object
) -> None:
    path = tmp_path / "all.jsonl"
    stream = events.EventStream()
    server_events: list[events.ServerEvent] = []
    stream.subscribe(server_events.append)
    archive = Archive(None, path, choose_editions({}, {}), stream, lambda: NOON)
    with monkeypatch.context() as patch:
        disk = FullDisk(patch)
        async with trio.open_nursery() as nursery:
            await nursery.start(archive.run)
            archive.game_ended(ENDED)
            archive.game_ended(ENDED)
            await trio.sleep(5 * RETRY_INTERVAL)
            assert path.read_bytes() == b""
            disk.is_full = False
            await trio.sleep(RETRY_INTERVAL)
            assert path.read_bytes().count(b"\n") == 2
            archive.finish()
    waiting = [events.ResultsWaiting(str(path), count, "No space left on device") for count in (1, 2)]
    assert server_events == [*waiting, events.ResultsWritten(str(path))]


async def test_results_that_cannot_be_written_at_the_end_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "all.jsonl"
    with monkeypatch.context() as patch:
        FullDisk(patch)
        server_events = await run_archive(None, path, lambda archive: archive.game_ended(ENDED))
    why = "No space left on device"
    assert server_events == [events.ResultsWaiting(str(path), 1, why), events.ResultsLost(str(path), 1, why)]


async def test_a_result_beyond_the_limit_is_reported_as_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_WAITING_BYTES", 0)
    server_events = await run_archive(None, tmp_path / "all.jsonl", lambda archive: archive.game_ended(ENDED))
    assert server_events == [events.ResultsLost(str(tmp_path / "all.jsonl"), 1, "0 results are waiting already")]


async def test_a_waiting_line_does_not_name_a_replay_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_DELAY", 0.0)
    monkeypatch.setattr(module, "RETRY_INTERVAL", HANG_TIMEOUT)
    stream, has_failed = events.EventStream(), trio.Event()
    stream.subscribe(lambda _: has_failed.set(), [events.ReplayFailed])
    archive = Archive(tmp_path, tmp_path / "all.jsonl", choose_editions({}, {}), stream, lambda: NOON)
    with monkeypatch.context() as patch:
        disk = FullDisk(patch)
        async with trio.open_nursery() as nursery:
            await nursery.start(archive.run)
            archive.game_ended(ENDED)
            await has_failed.wait()
            disk.is_full = False
            archive.finish()
    assert replays_in(tmp_path) == []
    assert json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))["replay"] is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not remove a directory with open files")
async def test_a_directory_that_was_removed_is_made_again(tmp_path: Path) -> None:
    folder = tmp_path / "replays"

    def act(archive: Archive) -> None:
        archive.game_ended(ENDED)
        shutil.rmtree(folder)
        archive.game_ended(ENDED)
        with pytest.raises(StartError):
            Archive(folder, None, {}, events.EventStream())

    await run_archive(folder, folder / "results.jsonl", act)
    (line,) = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert (folder / json.loads(line)["replay"]).exists()


async def test_two_servers_cannot_write_to_the_same_files(tmp_path: Path) -> None:
    with closing(Archive(tmp_path, None, {}, events.EventStream())):
        for results_file in (None, tmp_path / "all.jsonl"):
            with pytest.raises(StartError, match=f"saveReplay {tmp_path}: another server writes to this directory; "):
                Archive(tmp_path, results_file, {}, events.EventStream())
    with closing(Archive(None, tmp_path / "all.jsonl", {}, events.EventStream())):
        with pytest.raises(StartError, match=r"results .*: another server writes to this file; "):
            Archive(tmp_path, tmp_path / "all.jsonl", {}, events.EventStream())
        Archive(tmp_path, None, {}, events.EventStream()).close()  # the directory was unlocked


async def test_the_file_beside_a_replay_names_it_even_if_its_name_has_changed(tmp_path: Path) -> None:
    def act(archive: Archive) -> None:
        archive.game_ended(ENDED)
        (tmp_path / f"{STEM}.xml").touch()

    await run_archive(tmp_path, None, act)
    beside = json.loads((tmp_path / f"{STEM}_2.json").read_text(encoding="utf-8"))
    assert beside["replay"] == f"{STEM}_2.xml"


def test_a_directory_that_cannot_be_locked_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(StartError, match=r"saveReplay .*: cannot be locked \(Is a directory\)"):
        Archive(tmp_path, None, {}, events.EventStream())


async def test_an_unreadable_directory_loses_the_replay_and_not_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise PermissionError("not for you")

    monkeypatch.setattr(module, "free_path", fail)
    server_events = await run_archive(tmp_path, tmp_path / "all.jsonl", lambda archive: archive.game_ended(ENDED))
    assert server_events == [events.ReplayFailed("room", str(tmp_path / f"{STEM}.xml"), "not for you")]
    assert json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))["replay"] is None


async def test_a_failed_flush_to_the_disk_is_reported_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(os, "fsync", fail)
    server_events = await run_archive(None, tmp_path / "all.jsonl", lambda _: None)
    assert server_events == [events.ReplayFailed("", str(tmp_path / "all.jsonl"), "the disk is gone")]


async def test_only_old_temporary_files_of_killed_servers_are_removed(tmp_path: Path) -> None:
    old, new = tmp_path / ".replay-old", tmp_path / ".replay-new"
    for path, age in ((old, LEFTOVER_AGE + 1), (new, 10.0)):
        path.write_bytes(b"half a ga")
        os.utime(path, (NOON.timestamp() - age,) * 2)
    await run_archive(tmp_path, None, lambda _: None)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_directory_that_is_not_writable_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StartError):
        Archive(file, None, {}, events.EventStream())


async def test_an_archive_that_does_not_run_names_no_replay(tmp_path: Path) -> None:
    archive = Archive(tmp_path, tmp_path / "all.jsonl", choose_editions({}, {}), events.EventStream())
    archive.game_ended(ENDED)
    await wait_all_tasks_blocked()
    archive.close()
    assert json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))["replay"] is None
