"""A peer is a name, its rights and seats, and a way to send; it never waits."""

from __future__ import annotations

from spielleiter.server.core.peer import Peer, SentCallback
from spielleiter.server.editions import EDITIONS


class Ear:
    def __init__(self) -> None:
        self.heard: list[object] = []

    def send_nowait(self, packet: bytes, on_sent: SentCallback | None = None) -> None:
        self.heard.append((packet, on_sent))

    def end_nowait(self, *, with_end_tag: bool = True) -> None:
        self.heard.append(with_end_tag)

    def has_unread_input(self) -> bool:
        return True


def test_a_stranger_has_no_rights_and_no_seats() -> None:
    peer = Peer("c7", Ear(), EDITIONS["blokus-2021-r3"])
    assert not peer.is_admin
    assert not peer.is_edition_chosen
    assert (peer.rooms, peer.observed) == ({}, {})
    assert repr(peer) == "<Peer c7>"


def test_what_it_is_sent_goes_where_its_packets_go() -> None:
    ear = Ear()
    peer = Peer("c7", ear, EDITIONS["blokus-2021-r3"])
    peer.send(b"one")
    peer.send(b"two", print)
    peer.end()
    peer.end(with_end_tag=False)
    assert ear.heard == [(b"one", None), (b"two", print), True, False]


def test_two_connections_are_never_the_same_peer() -> None:
    ear, edition = Ear(), EDITIONS["blokus-2021-r3"]
    assert Peer("c7", ear, edition) != Peer("c7", ear, edition)
