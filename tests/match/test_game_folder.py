"""The files in the folder of a game, and which folders are kept."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import closing
from pathlib import Path

import pytest
import trio
from trio.testing import memory_stream_pair

from spielleiter.match.game_folder import (
    LOG_LIMIT,
    REPLAY,
    SERVER_LOG,
    WIRE_LOG,
    GameLog,
    KeepPolicy,
    LoggedWire,
    WireLog,
    write_replay,
)
from spielleiter.match.match_server import open_match_server
from spielleiter.match.plan import Opening
from spielleiter.match.referee import VERDICT, play_game
from spielleiter.match.verdict import Verdict
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server import events
from spielleiter.server.editions import choose_editions
from spielleiter.server.log import MOST_TRACEBACK, log_events
from spielleiter.server.replay import load_starting_states
from tests.match.refereed import setup_of
from tests.match.sample_records import fault, game
from tests.server.wires import StreamWire
from tests.timeouts import HANG_TIMEOUT

OPENED = events.ConnectionOpened("game1-program1-1", "127.0.0.1:4711")
JOINED = events.PlayerJoined("room", "game1-program1-1", 0, "naïve \u202e \x1b")


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


def unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


async def test_chunks_are_logged_in_order_after_their_name_and_length(tmp_path: Path) -> None:
    near, far = memory_stream_pair()
    received: list[bytes] = []
    with closing(WireLog(tmp_path / "log")) as log:
        wire = LoggedWire(StreamWire(far), log, "program 1", received.append)
        await near.send_all(b"<protocol>")
        assert (await wire.receive())[0] == b"<protocol>"
        assert wire.try_send(b"<no/>") == 0  # so it is not in the log
        assert await wire.send_some(memoryview(b"<joined/>")) == 9
        assert not wire.has_unread_input()
        await wire.send_eof()
        assert bytes(await near.receive_some()) == b"<joined/>"
        await wire.aclose()
    _, first, asked, second, sent = unpacked(tmp_path / "log").decode().split("\n")
    assert first.startswith("--- 0.")
    assert first.endswith(" program 1 > 10")
    assert second.endswith(" program 1 < 9")
    assert (asked, sent) == ("<protocol>", "<joined/>")
    assert received == [b"<protocol>"]


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        ([b"a" * 300, b"a" * 300 + b"b"], [b" 300\n" + b"a" * 300, b" 301, the first 300 as above\nb"]),
        ([b"a" * 255, b"a" * 255], [b" 255\n" + b"a" * 255] * 2),
        ([b"a" * 300, b"b", b"a" * 300], [b" 300\n" + b"a" * 300, b" 1\nb", b" 300\n" + b"a" * 300]),
        ([b"a" * 300, memoryview(b"a" * 300)], [b" 300\n" + b"a" * 300] * 2),
        ([b"a" * 300] * 3, [b" 300\n" + b"a" * 300, *[b" 300, the first 300 as above\n"] * 2]),
    ],
    ids=["more", "short", "other between", "part of a packet", "three"],
)
async def test_a_position_sent_to_both_programs_is_written_once(
    pieces: list[bytes | memoryview], written: list[bytes], tmp_path: Path
) -> None:
    with closing(WireLog(tmp_path / "log")) as log:
        for piece in pieces:
            log.write("program 1 <", piece)
    assert [entry.partition(b" <")[2] for entry in unpacked(tmp_path / "log").split(b"\n---")[1:]] == written


@pytest.mark.parametrize("chunk", [b"x" * 30, b" " * 256])
async def test_a_wire_log_is_bounded_and_says_so(chunk: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.match.game_folder.WIRE_LIMIT", 10_000)
    monkeypatch.setattr("spielleiter.match.game_folder.BUFFERED_BYTES", 1000)
    with closing(WireLog(tmp_path / "log")) as log:
        log.write("program 1 >", chunk)
        assert not (tmp_path / "log").exists()
        for _ in range(1000):
            log.write("program 1 >", chunk)
        assert (tmp_path / "log").exists()
    text = unpacked(tmp_path / "log")
    assert 9_900 < len(text) < 10_300  # the lines before the chunks count as well
    assert text.endswith(b"\n--- the rest was not kept\n")


def test_events_are_written_as_the_server_writes_them(tmp_path: Path) -> None:
    server = io.StringIO()
    log_server = log_events(server, "json", "debug")
    with closing(GameLog(tmp_path / "log")) as log:
        for event in (OPENED, JOINED, events.RoomClosed("room")):
            log_server(event)
            log.add(event)
    own, others = unpacked(tmp_path / "log").decode().splitlines(), server.getvalue().splitlines()
    for line, other in zip(own, others, strict=True):
        assert line.partition('"timestamp"')[0] == other.partition('"timestamp"')[0]
        assert json.loads(line).keys() == json.loads(other).keys()


def test_a_log_of_events_is_bounded_and_says_so(tmp_path: Path) -> None:
    with closing(GameLog(tmp_path / "log")) as log:
        for _ in range(LOG_LIMIT // MOST_TRACEBACK + 10):
            log.add(events.InternalError("", "x" * MOST_TRACEBACK))
    text = unpacked(tmp_path / "log").decode()
    assert LOG_LIMIT <= len(text) < 1.5 * LOG_LIMIT
    assert text.endswith("\n(the rest was not kept)\n")


async def test_a_discarded_log_leaves_no_file_and_accepts_no_more(tmp_path: Path) -> None:
    wire_log, game_log = WireLog(tmp_path / WIRE_LOG), GameLog(tmp_path / SERVER_LOG)
    for _ in range(2):
        wire_log.write("program 1 <", b"a")
        game_log.add(OPENED)
        wire_log.discard()
        game_log.discard()
    assert not files_in(tmp_path)
    unwritable = WireLog(tmp_path / "nowhere" / WIRE_LOG)
    unwritable.write("program 1 <", b"a")
    with pytest.raises(FileNotFoundError):
        unwritable.close()


def test_every_game_that_is_not_regular_counts_as_failed() -> None:
    assert KeepPolicy.FAILED.keeps(fault(1, 0, Verdict.CRASH))
    assert KeepPolicy.FAILED.keeps(game(verdict=Verdict.OVERLOAD, is_counted=False))
    assert not KeepPolicy.FAILED.keeps(game())
    assert KeepPolicy.ALL.keeps(game())
    assert not KeepPolicy.NONE.keeps(fault(1, 0, Verdict.CRASH))


def test_a_kept_replay_can_be_started_from(tmp_path: Path, replay: bytes) -> None:
    name = write_replay(tmp_path, replay)
    assert (tmp_path / name).stat().st_size < len(replay) / 4
    editions = choose_editions({}, {})
    assert load_starting_states(tmp_path / name, 1, {DEFAULT_GAME_TYPE: editions[DEFAULT_GAME_TYPE]})


@pytest.mark.slow
@pytest.mark.parametrize("keep", [KeepPolicy.ALL, KeepPolicy.FAILED, KeepPolicy.NONE])
async def test_a_regular_game_keeps_its_folder_according_to_the_policy(
    keep: KeepPolicy, tmp_path: Path, late_book: Path
) -> None:
    openings = (Opening("late", str(late_book)),)
    setup = setup_of("builtin:first", "builtin:first", run_id=str(tmp_path), openings=openings)
    with trio.fail_after(HANG_TIMEOUT):
        async with open_match_server(setup) as match_server:
            record = await play_game(setup, setup.plan()[0], tmp_path, match_server=match_server, keep=keep)
    assert (record.verdict, record.plies > 3) == (Verdict.REGULAR, True)
    left = files_in(tmp_path)
    if keep is KeepPolicy.ALL:
        assert {REPLAY, VERDICT, SERVER_LOG, WIRE_LOG} <= left
        assert (record.folder, record.replay) == ("games/0001", REPLAY)
    else:
        assert not left
        assert (record.folder, record.replay) == ("", None)
