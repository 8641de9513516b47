"""Listening, accepting connections, and the limit of open files."""

from __future__ import annotations

import errno
import select
import socket
import sys
from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from spielleiter.server.errors import StartError
from spielleiter.server.net.sockets import (
    KEEPALIVE_COUNT,
    KEEPALIVE_IDLE,
    KEEPALIVE_INTERVAL,
    RESERVE,
    accept,
    connections_possible,
    listen,
    notice_vanished,
)
from spielleiter.server.net.wire import SO_TIMESTAMPNS
from tests.timeouts import HANG_TIMEOUT


class FakeSocket:
    """A listening socket of a machine that has only the addresses in `ADDRESSES`; it records the calls."""

    ADDRESSES = ("127.0.0.1", "::1")
    made: list[FakeSocket]

    def __init__(self, family: int, _kind: int) -> None:
        self.family = family
        self.options: list[tuple[int, ...]] = []
        self.address: tuple[Any, ...] = ()
        self.is_closed = False
        self.made.append(self)

    def bind(self, address: tuple[Any, ...]) -> None:
        if address[0] not in self.ADDRESSES:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        if address[1] == 99:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        self.address = (address[0], address[1] or 40_000 + len(self.made), *address[2:])

    def getsockname(self) -> tuple[Any, ...]:
        return self.address

    def setsockopt(self, *option: int) -> None:
        self.options.append(option)

    def close(self) -> None:
        self.is_closed = True

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[FakeSocket]]:
    """Return a function that sets the addresses of the host name and returns the sockets that are created."""

    def stand_for(*hosts: str, port: int = 0) -> list[FakeSocket]:
        FakeSocket.made = []
        found = [
            (socket.AF_INET6, 1, 6, "", (host, port, 0, 0)) if ":" in host else (socket.AF_INET, 1, 6, "", (host, port))
            for host in hosts
        ]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        monkeypatch.setattr(socket, "socket", FakeSocket)
        return FakeSocket.made

    return stand_for


def test_a_host_with_several_addresses_gets_the_same_port_on_all_of_them(
    machine: Callable[..., list[FakeSocket]],
) -> None:
    made = machine("::1", "127.0.0.1", "127.0.0.1")
    sockets: list[Any] = listen("localhost", 0)
    assert sockets == made
    assert [sock.address[:2] for sock in made] == [("::1", 40_001), ("127.0.0.1", 40_001)]
    assert [(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1) in sock.options for sock in made] == [True, False]


@pytest.mark.parametrize(("platform", "is_reused"), [("linux", True), ("win32", False)])
def test_a_port_can_be_reused_after_old_connections_but_not_from_another_server(
    platform: str, is_reused: bool, machine: Callable[..., list[FakeSocket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = machine("127.0.0.1")
    monkeypatch.setattr(sys, "platform", platform)  # on Windows the option would allow the latter
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", -5, raising=False)  # its value there
    listen("127.0.0.1", 0)
    assert ((socket.SOL_SOCKET, socket.SO_REUSEADDR, 1) in made[0].options) == is_reused
    assert ((socket.SOL_SOCKET, -5, 1) in made[0].options) != is_reused
    assert ((socket.SOL_SOCKET, SO_TIMESTAMPNS, 1) in made[0].options) == is_reused
    if platform == "win32":
        assert connections_possible(4096) == 4096, "there is no limit of open files"


@pytest.mark.parametrize("hosts", [("192.0.2.1", "127.0.0.1"), ("127.0.0.1", "192.0.2.1")])
def test_an_address_that_this_machine_lacks_is_skipped_if_there_is_another(
    hosts: tuple[str, str], machine: Callable[..., list[FakeSocket]]
) -> None:
    made = machine(*hosts)
    sockets: list[Any] = listen("localhost", 0)
    assert [sock.getsockname()[0] for sock in sockets] == ["127.0.0.1"]
    assert [sock.is_closed for sock in made] == [sock not in sockets for sock in made]


def test_a_port_that_is_taken_on_one_of_the_addresses_leaves_no_socket_open(
    machine: Callable[..., list[FakeSocket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = machine("127.0.0.1", "::1")
    with monkeypatch.context() as patch:
        patch.setattr(FakeSocket, "getsockname", lambda _: ("127.0.0.1", 99))
        with pytest.raises(StartError, match="in use already"):
            listen("localhost", 0)
    assert len(made) >= 2
    assert all(sock.is_closed for sock in made)


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(("host", "is_dual"), [("::", True), ("0.0.0.0", False)])
def test_the_host_of_all_addresses_is_reached_over_both_protocols(host: str, is_dual: bool) -> None:
    """With real sockets. Peers keep their addresses: none is an IPv4 address mapped to IPv6."""
    sockets = listen(host, 0)
    try:
        (port,) = {sock.getsockname()[1] for sock in sockets}
        reached = set()
        for address in ("127.0.0.1", "::1"):
            try:
                peer = socket.create_connection((address, port), timeout=HANG_TIMEOUT)
            except OSError:
                continue
            ready, _, _ = select.select(sockets, [], [], HANG_TIMEOUT)
            accepted, (seen, *_) = ready[0].accept()
            assert seen == address
            reached.add(address)
            peer.close()
            accepted.close()
    finally:
        for sock in sockets:
            sock.close()
    assert reached == ({"127.0.0.1", "::1"} if is_dual and has_ipv6() else {"127.0.0.1"})


def test_without_ipv6_all_addresses_are_those_of_ipv4(
    machine: Callable[..., list[FakeSocket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine()
    monkeypatch.setattr(FakeSocket, "ADDRESSES", ("0.0.0.0",))
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, port, **_: [(socket.AF_INET6 if ":" in host else socket.AF_INET, 1, 6, "", (host, port))],
    )
    sockets: list[Any] = listen("::", 0)
    assert [sock.address[0] for sock in sockets] == ["0.0.0.0"]


def test_a_free_port_that_is_taken_on_another_address_is_replaced(
    machine: Callable[..., list[FakeSocket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = machine("127.0.0.1", "::1")
    bind = FakeSocket.bind

    def bind_where_one_port_is_taken(sock: FakeSocket, address: tuple[Any, ...]) -> None:
        bind(sock, (address[0], 99) if address[:2] == ("::1", 40_001) else address)

    monkeypatch.setattr(FakeSocket, "bind", bind_where_one_port_is_taken)
    sockets: list[Any] = listen("localhost", 0)
    assert [sock.address[:2] for sock in sockets] == [("127.0.0.1", 40_003), ("::1", 40_003)]
    assert [sock.is_closed for sock in made] == [True, True, False, False]


# -- sockets that are accepted ----------------------------------------------------------------------------------------


def test_a_vanished_peer_is_noticed_within_two_minutes() -> None:
    assert KEEPALIVE_IDLE + KEEPALIVE_COUNT * KEEPALIVE_INTERVAL <= 120
    with socket.socket() as sock:
        notice_vanished(sock)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if sys.platform == "linux":
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == KEEPALIVE_IDLE
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL) == KEEPALIVE_INTERVAL
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT) == KEEPALIVE_COUNT


def test_keep_alive_works_without_the_options_for_its_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    for option in ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL", "TCP_KEEPCNT"):
        monkeypatch.delattr(socket, option, raising=False)
    FakeSocket.made = []
    sock = FakeSocket(socket.AF_INET, socket.SOCK_STREAM)
    notice_vanished(sock)  # type: ignore[arg-type]
    assert sock.options == [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]


async def test_accept_waits_for_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as caller:
        listening.setblocking(False)
        with trio.fail_after(HANG_TIMEOUT):
            async with trio.open_nursery() as nursery:

                async def take() -> None:
                    sock, address, has_waited = await accept(listening)
                    sock.close()
                    assert address == caller.getsockname()
                    assert has_waited

                nursery.start_soon(take)
                await trio.testing.wait_all_tasks_blocked()
                caller.connect(listening.getsockname())


resource = pytest.importorskip("resource")
UNLIMITED = resource.RLIM_INFINITY


class Limits:
    def __init__(self, soft: int, hard: int, *, is_fixed: bool = False) -> None:
        self.limits = soft, hard
        self.is_fixed = is_fixed

    def get(self, _kind: int) -> tuple[int, int]:
        return self.limits

    def set(self, _kind: int, limits: tuple[int, int]) -> None:
        if self.is_fixed:
            raise OSError("not permitted")
        self.limits = limits


@pytest.mark.parametrize(
    ("soft", "hard", "is_fixed", "possible", "soft_after"),
    [
        (1024, 65536, False, 4096, 4096 + RESERVE),
        (1024, UNLIMITED, False, 4096, 4096 + RESERVE),
        (UNLIMITED, UNLIMITED, False, 4096, UNLIMITED),
        (256, 1024, False, 1024 - RESERVE, 1024),
        (256, 1024, True, 256 - RESERVE, 256),
        (16, 16, False, 1, 16),
    ],
)
def test_the_limit_is_raised_as_far_as_the_system_allows(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, is_fixed: bool, possible: int, soft_after: int
) -> None:
    limits = Limits(soft, hard, is_fixed=is_fixed)
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    monkeypatch.setattr(resource, "setrlimit", limits.set)
    assert connections_possible(4096) == possible
    assert limits.limits[0] == soft_after
