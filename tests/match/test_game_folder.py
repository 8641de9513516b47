"""The files in the folder of a game, and which folders are kept."""

from __future__ import annotations

import gzip
import io
import json
import time
from pathlib import Path

import pytest
import trio
from trio.testing import memory_stream_pair

import spielleiter.match.game_folder
from spielleiter.match.game_folder import (
    LOG_LIMIT,
    REPLAY,
    SERVER_LOG,
    WIRE_LOG,
    BufferedFile,
    GameLog,
    KeepPolicy,
    LoggedWire,
    WireLog,
    write_replay,
)
from spielleiter.match.match_server import open_match_server
from spielleiter.match.plan import Entrant, MatchSetup, ProgramTimeouts
from spielleiter.match.referee import VERDICT, play_game
from spielleiter.match.verdict import Verdict
from spielleiter.protocol.current_season import DEFAULT_GAME_TYPE
from spielleiter.server import events
from spielleiter.server.editions import choose_editions
from spielleiter.server.log import MOST_TRACEBACK, log_events
from spielleiter.server.replay import load_starting_states
from tests.match.sample_records import fault, game
from tests.server.wires import StreamWire
from tests.timeouts import HANG_TIMEOUT


class Words(BufferedFile[str]):
    def write(self, word: str) -> None:
        self._buffer.append(word)

    def flush(self) -> None:
        self._flush()

    def _encode(self) -> bytes:
        return " ".join(self._buffer).encode()


def test_a_file_that_cannot_be_written_raises_and_drops_its_buffer(tmp_path: Path) -> None:
    words = Words(tmp_path / "nowhere" / "words", 10)
    words.write("a")
    with pytest.raises(FileNotFoundError):
        words.close()
    assert words._buffer == []


async def test_chunks_are_logged_in_order_after_their_name_and_length(tmp_path: Path) -> None:
    near, far = memory_stream_pair()
    received: list[bytes] = []
    with WireLog(tmp_path / "log") as log:
        wire = LoggedWire(StreamWire(far), log, "program 1", received.append)
        await near.send_all(b"<protocol>")
        assert (await wire.receive())[0] == b"<protocol>"
        assert wire.try_send(b"<no/>") == 0  # so it is not in the log
        assert await wire.send_some(memoryview(b"<joined/>")) == 9
        assert not wire.has_unread_input()
        await wire.send_eof()
        assert bytes(await near.receive_some()) == b"<joined/>"
        await wire.aclose()
    _, first, asked, second, sent = gzip.decompress((tmp_path / "log").read_bytes()).decode().split("\n")
    assert first.startswith("--- 0.")
    assert first.endswith(" program 1 > 10")
    assert second.endswith(" program 1 < 9")
    assert (asked, sent) == ("<protocol>", "<joined/>")
    assert received == [b"<protocol>"]


async def test_the_log_is_bounded_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.game_folder, "WIRE_LIMIT", 100)
    with WireLog(tmp_path / "log") as log:
        for _ in range(50):
            log.write("program 1 >", b"x" * 30)
    text = gzip.decompress((tmp_path / "log").read_bytes())
    assert text.count(b"x") == 60  # the lines before the chunks count as well
    assert text.endswith(b"\n--- the rest was not kept\n")


async def test_the_log_is_written_when_it_is_closed_or_its_buffer_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spielleiter.match.game_folder, "BUFFERED_BYTES", 100)
    path = tmp_path / "log"
    with WireLog(path) as log:
        log.write("program 1 <", b"x" * 49)
        assert not path.exists()
        log.write("program 1 <", b"y")
        assert path.exists()
        log.write("program 1 <", b"z" * 10)
    text = gzip.decompress(path.read_bytes())
    assert [text.count(letter) for letter in (b"x", b"y", b"z")] == [49, 1, 10]


async def test_a_discarded_log_leaves_no_file_and_accepts_no_more(tmp_path: Path) -> None:
    log = WireLog(tmp_path / "log")
    log.write("program 1 <", b"a")
    log.discard()
    log.write("program 1 <", b"y")
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        ([b"a" * 300, b"a" * 300], [b" 300\n" + b"a" * 300, b" 300, the first 300 as above\n"]),
        ([b"a" * 300, b"a" * 300 + b"b"], [b" 300\n" + b"a" * 300, b" 301, the first 300 as above\nb"]),
        ([b"a" * 255, b"a" * 255], [b" 255\n" + b"a" * 255] * 2),
        ([b"a" * 300, b"b", b"a" * 300], [b" 300\n" + b"a" * 300, b" 1\nb", b" 300\n" + b"a" * 300]),
        ([b"a" * 300, memoryview(b"a" * 300)], [b" 300\n" + b"a" * 300] * 2),
        ([b"a" * 300] * 3, [b" 300\n" + b"a" * 300, *[b" 300, the first 300 as above\n"] * 2]),
    ],
    ids=["same", "more", "short", "other between", "part of a packet", "three"],
)
async def test_a_position_sent_to_both_programs_is_written_once(
    pieces: list[bytes | memoryview], written: list[bytes], tmp_path: Path
) -> None:
    with WireLog(tmp_path / "log") as log:
        for piece in pieces:
            log.write("program 1 <", piece)
    text = gzip.decompress((tmp_path / "log").read_bytes())
    assert [entry.partition(b" <")[2] for entry in text.split(b"\n---")[1:]] == written


async def test_chunks_with_a_shared_prefix_are_bounded_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.game_folder, "WIRE_LIMIT", 10_000)
    monkeypatch.setattr(spielleiter.match.game_folder, "BUFFERED_BYTES", 1000)
    log = WireLog(tmp_path / "log")
    for _ in range(10_000):
        log.write("program 1 >", b" " * 256)
    assert (tmp_path / "log").exists()
    log.close()
    text = gzip.decompress((tmp_path / "log").read_bytes())
    assert text.count(b"as above") < 300
    assert text.endswith(b"\n--- the rest was not kept\n")


EVENTS: tuple[events.ServerEvent, ...] = (
    events.ConnectionOpened("game1-program1-1", "127.0.0.1:4711"),
    events.PlayerJoined("room", "game1-program1-1", 0, "naïve \u202e \x1b"),
    events.RoomClosed("room"),
)


def lines_of(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_each_event_is_written_as_the_server_writes_it(tmp_path: Path) -> None:
    server = io.StringIO()
    log_server = log_events(server, "json", "debug")
    before = time.time()
    with GameLog(tmp_path / "log") as log:
        for event in EVENTS:
            log_server(event)
            log.add(event)
    own, others = lines_of(tmp_path / "log"), server.getvalue().splitlines()
    assert len(own) == len(others) == len(EVENTS)
    for line, other in zip(own, others, strict=True):
        assert line.partition('"timestamp"')[0] == other.partition('"timestamp"')[0]
        assert json.loads(line).keys() == json.loads(other).keys()
        assert len(json.loads(line)["timestamp"]) == len("2026-11-22T04:44:55.987521Z")
        assert json.loads(line)["timestamp"][:4] == time.strftime("%Y", time.gmtime(before))


def test_the_log_is_bounded_and_says_so_of_game_log(tmp_path: Path) -> None:
    with GameLog(tmp_path / "log") as log:
        for _ in range(LOG_LIMIT // MOST_TRACEBACK + 10):
            log.add(events.InternalError("", "x" * MOST_TRACEBACK))
    text = gzip.decompress((tmp_path / "log").read_bytes()).decode()
    assert LOG_LIMIT <= len(text) < 1.5 * LOG_LIMIT
    assert text.endswith("\n(the rest was not kept)\n")


def test_the_number_of_buffered_events_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spielleiter.match.game_folder, "BUFFERED_EVENTS", 2)
    with GameLog(tmp_path / "log") as log:
        log.add(EVENTS[0])
        assert not (tmp_path / "log").exists()
        log.add(EVENTS[0])
        assert (tmp_path / "log").exists()
        log.add(EVENTS[0])
    assert len(lines_of(tmp_path / "log")) == 3


def test_a_log_that_is_discarded_is_not_written(tmp_path: Path) -> None:
    log = GameLog(tmp_path / "log")
    log.add(EVENTS[0])
    log.discard()
    log.add(EVENTS[0])
    assert not (tmp_path / "log").exists()


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.is_file()}


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
@pytest.mark.parametrize("keep", KeepPolicy)
async def test_a_regular_game_keeps_its_folder_according_to_the_policy(keep: KeepPolicy, tmp_path: Path) -> None:
    setup = MatchSetup(
        entrants=(Entrant("new", "builtin:first"), Entrant("old", "builtin:first")),
        game_type=DEFAULT_GAME_TYPE,
        games=1,
        seed=1,
        run_id=str(tmp_path),
        timeouts=ProgramTimeouts(start=HANG_TIMEOUT, exit=HANG_TIMEOUT, game=HANG_TIMEOUT),
        server_options={"soft_timeout": HANG_TIMEOUT, "hard_timeout": HANG_TIMEOUT},
    )
    with trio.fail_after(HANG_TIMEOUT):
        async with open_match_server(setup) as match_server:
            record = await play_game(setup, setup.plan()[0], tmp_path, match_server=match_server, keep=keep)
    assert (record.verdict, record.plies > 20) == (Verdict.REGULAR, True)
    left = files_in(tmp_path)
    if keep is KeepPolicy.ALL:
        assert {REPLAY, VERDICT, SERVER_LOG, WIRE_LOG} <= left
        assert (record.folder, record.replay) == ("games/0001", REPLAY)
    else:
        assert not left
        assert (record.folder, record.replay) == ("", None)
