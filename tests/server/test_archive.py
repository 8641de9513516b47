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
from typing import Any

import pytest
import trio
import trio.testing
from msgspec import structs

from spielleiter.server import archive as module
from spielleiter.server import events
from spielleiter.server.archive import LEFTOVER_AGE, LINES_AT_ONCE, RETRY_INTERVAL, Archive, ResultsFile, result_line
from spielleiter.server.editions import choose_editions
from spielleiter.server.errors import StartError
from tests.server.serving import replays_in
from tests.server.test_log import ENDED
from tests.timeouts import HANG_TIMEOUT


def test_the_line_of_a_game() -> None:
    line = result_line(ENDED, NOON, "a.xml")
    assert json.loads(json.dumps(line)) == {
        "ended_at": "2026-11-21T12:00:00.000+00:00",
        "room": "room",
        "edition": "blokus-2021-r3",
        "names": ["Eins", "Zwei"],
        "addresses": ["", ""],
        "causes": ["REGULAR", "LEFT"],
        "reasons": ["", "gone"],
        "parts": [[2, 5], [0, 0]],
        "winners": [0],
        "plies": 1,
        "turn": 0,
        "thinking": [
            {"count": 1, "median": 0.1, "p95": 0.1, "maximum": 0.1},
            {"count": 0, "median": 0.0, "p95": 0.0, "maximum": 0.0},
        ],
        "think_times": [[0.1], []],
        "replay": "a.xml",
    }


def write(results: ResultsFile, *lines: dict[str, Any]) -> None:
    for line in lines:
        assert results.append(line)
    results.write_waiting()


def test_the_next_line_starts_after_a_partial_one(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"room": "a"}\n{"room": "b')
    results = ResultsFile(path)
    write(results, {"room": "c"})
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n{"room": "b\n{"room": "c"}\n'


class Disk:
    """Lets `os.write` accept a number of bytes; then the disk is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free_bytes = 0
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if not self.free_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(descriptor, data[: self.free_bytes])
        self.free_bytes -= written
        return written


def test_lines_wait_while_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)
    with monkeypatch.context() as patch:
        disk = Disk(patch)
        disk.free_bytes = 22  # the first line, and half of the second
        for number, room in enumerate("abc"):
            assert results.append({"room": room})
            if number:
                with pytest.raises(OSError, match="No space left on device"):
                    results.write_waiting()
            else:
                results.write_waiting()
        assert results.waiting == 2
        assert path.read_bytes() == b'{"room": "a"}\n', "no partial line"
        disk.free_bytes = 1000
        results.write_waiting()
    assert results.waiting == 0
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n{"room": "b"}\n{"room": "c"}\n'


def test_a_partial_line_that_cannot_be_removed_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "ftruncate", fail)
        disk = Disk(patch)
        disk.free_bytes = 8
        assert results.append({"room": "a"})
        with pytest.raises(OSError, match="No space left on device"):
            results.write_waiting()
        assert path.read_bytes() == b'{"room":'
        disk.free_bytes = 1000
        results.write_waiting()
    results.close()
    assert path.read_bytes() == b'{"room": "a"}\n'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_with_or_without_a_reader(tmp_path: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    path = tmp_path / "results.jsonl"
    os.mkfifo(path)
    text = f"results {path}: cannot be written to (it is a pipe, and results need a file)"
    with pytest.raises(StartError) as unread:
        ResultsFile(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(StartError) as read:
        ResultsFile(path)
    os.close(reader)
    assert [str(unread.value), str(read.value)] == [text, text]


def test_the_waiting_lines_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING_BYTES", 30)
    results = ResultsFile(tmp_path / "results.jsonl")
    assert [results.append({"room": room}) for room in "abc"] == [True, True, False]
    results.write_waiting()
    assert results.append({"room": "d"})
    results.close()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not remove open files")
@pytest.mark.parametrize("way", ["removed", "renamed", "its directory removed"])
def test_a_file_that_was_removed_or_renamed_is_started_again(way: str, tmp_path: Path) -> None:
    path = tmp_path / "folder" / "results.jsonl"
    results = ResultsFile(path)
    write(results, {"room": "a"})
    if way == "renamed":
        path.rename(tmp_path / "old.jsonl")
    else:
        path.unlink()
    if way == "its directory removed":
        path.parent.rmdir()
    write(results, {"room": "b"}, {"room": "c"})
    results.close()
    assert path.read_bytes() == b'{"room": "b"}\n{"room": "c"}\n'


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


async def test_every_game_leaves_a_line_a_replay_and_the_line_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    path.write_bytes(b'{"room": "of another run"}\n')

    def act(archive: Archive) -> None:
        for count in range(2, 5):
            archive.game_ended(ENDED)
            assert path.read_bytes().count(b"\n") == count, "the line is written at once"
        (tmp_path / f"{STEM}_3.xml").touch()  # meanwhile, somebody has taken this name

    server_events = await run_archive(tmp_path, path, act)
    names = [f"{STEM}.xml", f"{STEM}_2.xml", f"{STEM}_3_2.xml"]
    assert server_events == [events.ReplaySaved("room", str(tmp_path / name)) for name in names]
    _, *lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["replay"] for line in lines] == [*names[:2], f"{STEM}_3.xml"]
    for name, line in zip(names, lines, strict=True):
        assert json.loads((tmp_path / name).with_suffix(".json").read_text(encoding="utf-8")) == {
            **line,
            "replay": name,
        }
        assert (tmp_path / name).read_bytes().endswith(b"</protocol>")


def kept_in(folder: Path) -> dict[str, str]:
    """Return the rooms of the games in a folder of recent games, by the names of the replays without suffixes."""
    lines = {path.name.removesuffix(".json"): json.loads(path.read_bytes()) for path in folder.glob("*.json")}
    assert {f"{name}.xml.gz" for name in lines} == {path.name for path in folder.glob("replay_swc_*.xml*")}
    assert [line["replay"] for line in lines.values()] == [f"{name}.xml.gz" for name in lines]
    return {name: line["room"] for name, line in sorted(lines.items())}


async def test_of_recent_games_only_the_newest_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [tmp_path / name for name in ("diary.txt", "replay_of_somebody.xml", "family.xml.gz")]
    for path in others:
        path.touch()
    stream, saved, are_early_saved = events.EventStream(), 0, trio.Event()

    def note(event: events.ServerEvent) -> None:
        nonlocal saved
        assert isinstance(event, events.ReplaySaved)
        saved += 1
        os.utime(event.path, ns=(saved, saved))  # several in the time between two ticks of the file system
        if saved == 2:
            are_early_saved.set()

    stream.subscribe(note, [events.ReplaySaved])

    def opened() -> Archive:
        return Archive(tmp_path, tmp_path / "all.jsonl", choose_editions({}, {}), stream, lambda: NOON, most_games=3)

    archive = opened()
    async with trio.open_nursery() as nursery:
        await nursery.start(archive.run)
        for count in range(2):
            archive.game_ended(structs.replace(ENDED, room=f"early {count}"))
        await are_early_saved.wait()
        early = list(kept_in(tmp_path))
        for count in range(5):  # more at once than are kept: the older ones are not even written
            archive.game_ended(structs.replace(ENDED, room=f"late {count}"))
        archive.finish()
    assert (saved, early) == (5, [STEM, f"{STEM}_2"])
    assert sorted(kept_in(tmp_path).values()) == ["late 2", "late 3", "late 4"]
    monkeypatch.setattr(module, "MOST_RECENT_BYTES", 1)  # all together
    archive = opened()
    async with trio.open_nursery() as nursery:
        await nursery.start(archive.run)
        archive.game_ended(ENDED)
        archive.finish()
    assert kept_in(tmp_path) == {}
    assert all(path.exists() for path in others)
    results = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["replay"] for line in results] == [None] * 8


async def test_recent_games_that_cannot_be_counted_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(errno.EACCES, "not for you")

    monkeypatch.setattr(module, "remove_oldest", fail)
    published: list[events.ServerEvent] = []
    stream = events.EventStream()
    stream.subscribe(published.append, [events.ReplayFailed])
    archive = Archive(tmp_path, None, choose_editions({}, {}), stream, lambda: NOON, most_games=3)
    async with trio.open_nursery() as nursery:
        await nursery.start(archive.run)
        archive.game_ended(ENDED)
        archive.finish()
    assert published == [events.ReplayFailed("", str(tmp_path), "not for you")]
    assert kept_in(tmp_path) == {STEM: "room"}


async def test_many_replays_that_wait_are_written_without_another_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mock_clock: trio.testing.MockClock
) -> None:
    monkeypatch.setattr(module, "BATCH_BYTES", 1)  # each game is a batch
    monkeypatch.setattr(module, "BATCH_BYTES_BEHIND", 1)
    monkeypatch.setattr(module, "MANY_WAITING", 2)
    stream, saved, has_saved = events.EventStream(), 0, trio.Event()

    def note(_event: events.ServerEvent) -> None:
        nonlocal saved
        saved += 1
        if saved == 4:
            has_saved.set()

    stream.subscribe(note, [events.ReplaySaved])
    archive = Archive(tmp_path, None, choose_editions({}, {}), stream, lambda: NOON)
    async with trio.open_nursery() as nursery:
        await nursery.start(archive.run)
        for _ in range(5):
            archive.game_ended(ENDED)
        await trio.testing.wait_all_tasks_blocked()
        assert saved == 0
        mock_clock.jump(module.BATCH_DELAY)
        await has_saved.wait()
        await trio.testing.wait_all_tasks_blocked()
        assert saved == 4, "a single one waits for others again"
        archive.finish()
    assert saved == 5


@pytest.mark.parametrize(("is_full", "number"), [(True, errno.EIO), (False, errno.EIO), (False, errno.EINVAL)])
async def test_results_that_cannot_be_written_at_the_end_are_reported(
    is_full: bool, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Devices such as /dev/null need no flush: EINVAL is no failure."""

    def fail(_descriptor: int) -> None:
        raise OSError(number, "the disk is gone")

    path, disk, why = tmp_path / "all.jsonl", Disk(monkeypatch), "No space left on device"
    disk.free_bytes = 0 if is_full else 100_000
    monkeypatch.setattr(os, "fsync", fail)
    published = await run_archive(None, path, lambda archive: archive.game_ended(ENDED))
    lost = [events.ResultsWaiting(str(path), 1, why), events.ResultsLost(str(path), 1, why)] if is_full else []
    failed = [events.ReplayFailed("", str(path), "the disk is gone")] if number == errno.EIO else []
    assert published == [*lost, *failed]
    assert path.read_bytes().count(b"\n") == (not is_full)


async def test_results_that_cannot_be_written_wait_until_they_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autojump_clock: object
) -> None:
    path = tmp_path / "all.jsonl"
    stream = events.EventStream()
    server_events: list[events.ServerEvent] = []
    stream.subscribe(server_events.append)
    archive = Archive(None, path, choose_editions({}, {}), stream, lambda: NOON)
    with monkeypatch.context() as patch:
        disk = Disk(patch)
        async with trio.open_nursery() as nursery:
            await nursery.start(archive.run)
            for _ in range(LINES_AT_ONCE + 1):  # more than are written in one call
                archive.game_ended(ENDED)
            await trio.sleep(5 * RETRY_INTERVAL)
            assert path.read_bytes() == b""
            disk.free_bytes = 100_000
            await trio.sleep(RETRY_INTERVAL)
            assert path.read_bytes().count(b"\n") == LINES_AT_ONCE + 1
            archive.finish()
    waiting = [
        events.ResultsWaiting(str(path), count, "No space left on device") for count in range(1, LINES_AT_ONCE + 2)
    ]
    assert server_events == [*waiting, events.ResultsWritten(str(path))]


async def test_a_waiting_line_does_not_name_a_replay_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH_DELAY", 0.0)
    monkeypatch.setattr(module, "RETRY_INTERVAL", HANG_TIMEOUT)
    stream, has_failed = events.EventStream(), trio.Event()
    stream.subscribe(lambda _: has_failed.set(), [events.ReplayFailed])
    archive = Archive(tmp_path, tmp_path / "all.jsonl", choose_editions({}, {}), stream, lambda: NOON)
    with monkeypatch.context() as patch:
        disk = Disk(patch)
        async with trio.open_nursery() as nursery:
            await nursery.start(archive.run)
            archive.game_ended(ENDED)
            await has_failed.wait()
            disk.free_bytes = 10_000
            archive.finish()
    assert replays_in(tmp_path) == []
    assert json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))["replay"] is None


async def test_a_full_disk_may_cost_the_details_of_a_replay_but_leaves_no_part_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = tmp_path / "reference"
    await run_archive(reference, None, lambda archive: archive.game_ended(ENDED))
    (replay,) = replays_in(reference)
    with monkeypatch.context() as patch:
        Disk(patch).free_bytes = replay.stat().st_size + 10
        server_events = await run_archive(tmp_path, None, lambda archive: archive.game_ended(ENDED))
    path = tmp_path / replay.name
    assert server_events == [
        events.ReplaySaved("room", str(path)),
        events.ReplayFailed("room", str(path.with_suffix(".json")), "No space left on device"),
    ]
    assert path.read_bytes() == replay.read_bytes()
    assert set(os.listdir(tmp_path)) <= {".lock", replay.name, reference.name}  # noqa: PTH208


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


@pytest.mark.parametrize(("directory", "results_file"), [("file", None), ("locked", None), (None, ".")])
def test_a_place_that_is_not_writable_stops_the_start(
    directory: str | None, results_file: str | None, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "locked" / ".lock").mkdir(parents=True)
    folder, file = (None if each is None else tmp_path / each for each in (directory, results_file))
    with pytest.raises(StartError, match=r": cannot be (written to|locked)"):
        Archive(folder, file, {}, events.EventStream())


async def test_an_unreadable_directory_loses_the_replay_and_not_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise PermissionError("not for you")

    monkeypatch.setattr(module, "free_path", fail)
    server_events = await run_archive(tmp_path, tmp_path / "all.jsonl", lambda archive: archive.game_ended(ENDED))
    assert server_events == [events.ReplayFailed("room", str(tmp_path / f"{STEM}.xml"), "not for you")]
    assert json.loads((tmp_path / "all.jsonl").read_text(encoding="utf-8"))["replay"] is None


async def test_only_old_temporary_files_of_killed_servers_are_removed(tmp_path: Path) -> None:
    old, new = tmp_path / ".replay-old", tmp_path / ".replay-new"
    for path, age in ((old, LEFTOVER_AGE + 1), (new, 10.0)):
        path.write_bytes(b"half a ga")
        os.utime(path, (NOON.timestamp() - age,) * 2)
    await run_archive(tmp_path, None, lambda _: None)
    assert (old.exists(), new.exists()) == (False, True)
