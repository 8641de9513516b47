"""Of every finished game a line, a replay, and the line beside it; what fails is told and hurts nothing."""

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

from spielleiter.server import events
from spielleiter.server.editions import choose_editions
from spielleiter.server.errors import StartError
from spielleiter.server.record import archive, results
from spielleiter.server.record.archive import LEFTOVER_AGE, RETRY, Archive
from tests.patience import PATIENCE
from tests.server.record.test_log import ENDED
from tests.server.serving import replays_in

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
STEM = "replay_swc_2021_blokus_2026-11-21_12-00-00_Eins_Zwei"


async def keep(
    directory: Path | None, results: Path | None, act: Callable[[Archive], None]
) -> list[events.ServerEvent]:
    """Let an archive run while `act` tells it of games; returns what it published."""
    stream = events.EventStream()
    server_events: list[events.ServerEvent] = []
    stream.subscribe(server_events.append)
    kept = Archive(directory, results, choose_editions({}, {}), stream, lambda: NOON)
    async with trio.open_nursery() as nursery:
        await nursery.start(kept.run)
        nursery.cancel_scope.cancel()  # whatever ends now is kept all the same
        act(kept)
        kept.finish()
    return server_events


async def test_a_game_leaves_a_line_a_replay_and_the_line_beside_it(tmp_path: Path) -> None:
    server_events = await keep(tmp_path, tmp_path / "all.jsonl", lambda kept: kept.game_ended(ENDED))
    assert server_events == [events.ReplaySaved("room", str(tmp_path / f"{STEM}.xml"))]
    line = json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))
    assert line["replay"] == f"{STEM}.xml"
    assert json.loads((tmp_path / f"{STEM}.json").read_text(encoding="utf-8")) == line
    assert (tmp_path / f"{STEM}.xml").read_bytes().endswith(b"</protocol>")


async def test_the_line_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"

    def act(kept: Archive) -> None:
        kept.game_ended(ENDED)
        assert path.read_text(encoding="utf-8").count("\n") == 1

    assert await keep(None, path, act) == []


async def test_games_of_the_same_second_have_names_of_their_own(tmp_path: Path) -> None:
    def act(kept: Archive) -> None:
        for _ in range(3):
            kept.game_ended(ENDED)

    await keep(tmp_path, None, act)
    assert [path.stem for path in replays_in(tmp_path)] == [STEM, f"{STEM}_2", f"{STEM}_3"]


async def test_without_replays_and_results_nothing_is_written() -> None:
    assert await keep(None, None, lambda kept: kept.game_ended(ENDED)) == []


class FullDisk:
    """Takes nothing as long as it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = True
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self._write(descriptor, data)


async def test_results_that_cannot_be_written_wait_and_are_written_as_soon_as_that_is_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: object
) -> None:
    path = tmp_path / "all.jsonl"
    stream = events.EventStream()
    server_events: list[events.ServerEvent] = []
    stream.subscribe(server_events.append)
    kept = Archive(None, path, choose_editions({}, {}), stream, lambda: NOON)
    with monkeypatch.context() as patch:
        disk = FullDisk(patch)
        async with trio.open_nursery() as nursery:
            await nursery.start(kept.run)
            kept.game_ended(ENDED)
            kept.game_ended(ENDED)
            await trio.sleep(5 * RETRY)
            assert path.read_bytes() == b""
            disk.is_full = False
            await trio.sleep(RETRY)
            assert path.read_bytes().count(b"\n") == 2
            kept.finish()
    waiting = [events.ResultsWaiting(str(path), count, "No space left on device") for count in (1, 2)]
    assert server_events == [*waiting, events.ResultsWritten(str(path))]


async def test_results_that_still_cannot_be_written_at_the_end_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "all.jsonl"
    with monkeypatch.context() as patch:
        FullDisk(patch)
        server_events = await keep(None, path, lambda kept: kept.game_ended(ENDED))
    why = "No space left on device"
    assert server_events == [events.ResultsWaiting(str(path), 1, why), events.ResultsLost(str(path), 1, why)]


async def test_one_result_too_many_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "MOST_WAITING_BYTES", 0)
    server_events = await keep(None, tmp_path / "all.jsonl", lambda kept: kept.game_ended(ENDED))
    assert server_events == [events.ResultsLost(str(tmp_path / "all.jsonl"), 1, "0 results wait already")]


async def test_a_line_that_waited_does_not_name_a_replay_that_was_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "GATHERING", 0.0)
    monkeypatch.setattr(archive, "RETRY", PATIENCE)
    stream, has_failed = events.EventStream(), trio.Event()
    stream.subscribe(lambda _: has_failed.set(), [events.ReplayFailed])
    kept = Archive(tmp_path, tmp_path / "all.jsonl", choose_editions({}, {}), stream, lambda: NOON)
    with monkeypatch.context() as patch:
        disk = FullDisk(patch)
        async with trio.open_nursery() as nursery:
            await nursery.start(kept.run)
            kept.game_ended(ENDED)
            await has_failed.wait()
            disk.is_full = False
            kept.finish()
    assert replays_in(tmp_path) == []
    assert json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))["replay"] is None


@pytest.mark.skipif(sys.platform == "win32", reason="a folder with open files cannot be removed")
async def test_a_folder_that_is_removed_meanwhile_costs_what_was_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "replays"

    def act(kept: Archive) -> None:
        kept.game_ended(ENDED)
        shutil.rmtree(folder)
        kept.game_ended(ENDED)
        with pytest.raises(StartError):
            Archive(folder, None, {}, events.EventStream())

    await keep(folder, folder / "results.jsonl", act)
    (line,) = (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert (folder / json.loads(line)["replay"]).exists()


async def test_a_line_names_its_own_replay_or_none_beside_another_server(tmp_path: Path) -> None:
    with closing(Archive(tmp_path, None, {}, events.EventStream())):
        for results_file in (None, tmp_path / "all.jsonl"):
            with pytest.raises(StartError, match=f"saveReplay {tmp_path}: another server writes into this folder; "):
                Archive(tmp_path, results_file, {}, events.EventStream())
    with closing(Archive(None, tmp_path / "all.jsonl", {}, events.EventStream())):
        with pytest.raises(StartError, match=r"results .*: another server writes into this file; "):
            Archive(tmp_path, tmp_path / "all.jsonl", {}, events.EventStream())
        Archive(tmp_path, None, {}, events.EventStream()).close()  # the folder was given free


async def test_a_replay_whose_name_was_taken_meanwhile_is_named_by_the_line_beside_it(tmp_path: Path) -> None:
    def act(kept: Archive) -> None:
        kept.game_ended(ENDED)
        (tmp_path / f"{STEM}.xml").touch()

    await keep(tmp_path, None, act)
    beside = json.loads((tmp_path / f"{STEM}_2.json").read_text(encoding="utf-8"))
    assert beside["replay"] == f"{STEM}_2.xml"


def test_a_folder_that_cannot_be_locked_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(StartError, match=r"saveReplay .*: cannot be locked \(Is a directory\)"):
        Archive(tmp_path, None, {}, events.EventStream())


async def test_a_directory_that_cannot_be_looked_into_costs_the_replay_and_not_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise PermissionError("not for you")

    monkeypatch.setattr(archive, "free_path", fail)
    server_events = await keep(tmp_path, tmp_path / "all.jsonl", lambda kept: kept.game_ended(ENDED))
    assert server_events == [events.ReplayFailed("room", str(tmp_path / f"{STEM}.xml"), "not for you")]
    assert json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))["replay"] is None


async def test_lines_that_may_not_be_on_the_disk_are_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(os, "fsync", fail)
    server_events = await keep(None, tmp_path / "all.jsonl", lambda _: None)
    assert server_events == [events.ReplayFailed("", str(tmp_path / "all.jsonl"), "the disk is gone")]


async def test_what_a_killed_server_left_is_removed_and_what_lives_is_spared(tmp_path: Path) -> None:
    old, new = tmp_path / ".replay-old", tmp_path / ".replay-new"
    for path, age in ((old, LEFTOVER_AGE + 1), (new, 10.0)):
        path.write_bytes(b"half a ga")
        os.utime(path, (NOON.timestamp() - age,) * 2)
    await keep(tmp_path, None, lambda _: None)
    assert (old.exists(), new.exists()) == (False, True)


def test_a_directory_that_cannot_be_written_to_stops_the_start(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(StartError):
        Archive(file, None, {}, events.EventStream())


async def test_without_anybody_writing_no_replay_is_promised(tmp_path: Path) -> None:
    kept = Archive(tmp_path, tmp_path / "all.jsonl", choose_editions({}, {}), events.EventStream())
    kept.game_ended(ENDED)
    await wait_all_tasks_blocked()
    kept.close()
    assert json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))["replay"] is None
