"""The connections of the driver: what they send, what they discard, and how rooms are assigned to games."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spielleiter.bench.load.peers import Administrator, Peer, Reader
from spielleiter.bench.load.plan import Plan
from tests.bench.load.fake_server import PREPARED, REQUEST, SCRIPT, Server


class FakeDriver:
    """Notes which file descriptors are registered."""

    def __init__(self, port: int) -> None:
        self.address = ("127.0.0.1", port)
        self.plan = Plan(port, "swc_test", REQUEST, (SCRIPT,), 1)
        self.readers: dict[int, Reader] = {}
        self.registered: list[int] = []

    def register(self, fd: int) -> None:
        self.registered.append(fd)


class FakeGame:
    """Notes which room it joins."""

    def __init__(self, script_number: int) -> None:
        self.script_number = script_number
        self.joined: list[tuple[bytes, tuple[bytes, bytes]]] = []

    def join(self, room: bytes, codes: tuple[bytes, bytes]) -> None:
        self.joined.append((room, codes))


@pytest.fixture
def driver(server: Server) -> FakeDriver:
    return FakeDriver(server.port)


@pytest.fixture
def administrator(driver: FakeDriver) -> Iterator[Administrator]:
    administrator = Administrator(driver)
    yield administrator
    administrator.close()


def receive_all(administrator: Administrator) -> None:
    """Have the administrator read what the server has sent, waiting for it if necessary."""
    administrator.sock.setblocking(True)
    administrator.receive()
    administrator.sock.setblocking(False)


def test_a_peer_sends_its_opening_and_is_registered(driver: FakeDriver, server: Server) -> None:
    peer = Peer(driver, b"<hello/>")
    assert driver.registered == [peer.fd]
    assert server.accept().recv(100) == b"<protocol><hello/>"
    peer.close()


def test_a_peer_discards_what_arrives_and_closes_without_a_reset(driver: FakeDriver, server: Server) -> None:
    peer = Peer(driver, b"")
    peer.drain()  # nothing has arrived yet
    other_end = server.accept()
    other_end.recv(100)
    other_end.sendall(b"x" * 1000)
    peer.sock.setblocking(True)
    peer.close()
    assert other_end.recv(100) == b""


def test_rooms_are_assigned_in_the_order_of_the_requests(
    administrator: Administrator, driver: FakeDriver, server: Server
) -> None:
    assert driver.readers == {administrator.fd: administrator}
    first, second = FakeGame(3), FakeGame(5)
    other_end = server.accept()
    assert b'<authenticate password="examplepassword"/>' in other_end.recv(4096)
    for game in (first, second):
        administrator.prepare(game)
        request = other_end.recv(4096)
        assert request.startswith(b'\n  <prepare gameType="swc_test">')
        assert request.count(b'displayName="%d"' % game.script_number) == 2
    other_end.sendall(PREPARED.replace(b"1111", b"2222") + PREPARED[:60])
    receive_all(administrator)
    assert (len(first.joined), second.joined) == (1, [])
    other_end.sendall(PREPARED[60:])
    receive_all(administrator)
    assert first.joined == [(b"22222222-2222-4333-8444-555555555555", (b"one", b"two"))]
    assert second.joined == [(b"11111111-2222-4333-8444-555555555555", (b"one", b"two"))]


def test_nothing_to_read_is_no_error(administrator: Administrator) -> None:
    administrator.receive()
