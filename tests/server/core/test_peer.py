"""A peer passes packets to its sink and is compared by identity."""

from __future__ import annotations

from spielleiter.server.core.room import Peer, SentCallback
from spielleiter.server.editions import EDITIONS


class RecordingSink:
    def __init__(self) -> None:
        self.calls: list[object] = []

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        self.calls.append((packet, on_sent))

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        self.calls.append(with_end_tag)

    def has_unread_input(self) -> bool:
        return True


def test_packets_and_the_end_of_the_stream_go_to_the_sink() -> None:
    sink = RecordingSink()
    peer = Peer("c7", sink, EDITIONS["blokus-2021-r3"])
    peer.send(b"one")
    peer.send(b"two", print)
    peer.end()
    peer.end(with_end_tag=False)
    assert sink.calls == [(b"one", None), (b"two", print), True, False]


def test_two_connections_are_never_the_same_peer() -> None:
    sink, edition = RecordingSink(), EDITIONS["blokus-2021-r3"]
    assert Peer("c7", sink, edition) != Peer("c7", sink, edition)
    assert repr(Peer("c7", sink, edition)) == "<Peer c7>"
