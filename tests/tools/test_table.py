"""The transcript of a conversation: its lines can be read again, ids are masked, silence is waited for."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import memory_stream_pair

from spielleiter.wire.trace_reader import read_recordings
from tools.season.table import Peer, Transcript, escaped

ROOM = "858508e1-e3af-4d1b-b700-a8c3e73a10a1"
OTHER = "958508e1-e3af-4d1b-b700-a8c3e73a10a1"


def test_bytes_are_escaped_so_that_each_packet_is_one_line() -> None:
    assert escaped('<a b="ä\\"/>\r\n\t\0'.encode() + b"\xff") == '<a b="ä\\\\"/>\\r\\n\\t\\x00\\xFF'


async def test_a_conversation_is_written_in_the_form_that_is_replayed(tmp_path: Path) -> None:
    transcript = Transcript(["a case"])
    near, far = memory_stream_pair()
    peer = Peer("a", near, transcript)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer.read)
        transcript.add("a", "->", "(connects)")
        await peer.send("<protocol>")
        await far.send_all(f'<protocol>\n  <joined roomId="{ROOM}"/>\n  <joined roomId="{OTHER}"/>'.encode())
        assert ROOM in await peer.wait_for("<joined")
        assert OTHER in await peer.wait_for("<joined")
        await far.send_all(f'\n  <left roomId="{ROOM}"/>'.encode())
        with pytest.raises(EOFError, match="the game has ended"):
            await peer.wait_for("<joined")
        await far.send_eof()
        with pytest.raises(EOFError, match="its stream has ended"):
            await peer.wait_for("<joined")
    text = str(transcript)
    assert "000000000001" in text
    assert "000000000002" in text
    assert ROOM not in text
    path = tmp_path / "case.txt"
    path.write_text(text, "utf-8")
    steps = read_recordings([path]).steps
    assert [step.event for step in steps if step.event] == ["(connects)", "(FIN)"]
    assert [step.data for step in steps if step.is_to_server and step.data] == [b"<protocol>"]
    assert b"".join(step.data for step in steps if not step.is_to_server).count(b"<joined") == 2


async def test_memory_addresses_are_masked() -> None:
    transcript = Transcript([])
    transcript.add("a", "<-", "MoveRequest@7f151df6, MoveRequest@1a2b3c")
    assert "MoveRequest@00000000, MoveRequest@000000" in str(transcript)
