"""The wire log of a game."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from trio.testing import memory_stream_pair

import spielleiter.match.game_folder
from spielleiter.match.game_folder import LoggedWire, WireLog
from tests.server.wires import StreamWire


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
