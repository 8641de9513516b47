"""A port that is taken is no reason not to serve the pages; nor is an address that cannot be used one not to start."""

from __future__ import annotations

import errno
import socket

import pytest

from spielleiter.server.config import Config
from spielleiter.viewer.web import listening
from spielleiter.viewer.web.listening import (
    FOR_EVERYBODY,
    FOR_PASSWORD_HOLDERS,
    FOR_THIS_MACHINE,
    access_to,
    listen_for_pages,
    network_address,
)


def test_the_configured_port_is_used() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    pages = listen_for_pages("127.0.0.1", port)
    assert (pages.port, pages.url, pages.note) == (port, f"http://127.0.0.1:{port}/", "")
    pages.close()
    assert pages.sockets[0].fileno() == -1


def test_another_port_is_used_if_it_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        pages = listen_for_pages("127.0.0.1", port)
        assert pages.port not in {0, port}
        assert pages.url == f"http://127.0.0.1:{pages.port}/"
        assert pages.note == f"127.0.0.1:{port} is in use already, perhaps by another server"
        pages.close()


def test_an_address_that_this_machine_does_not_have_gives_no_pages() -> None:
    pages = listen_for_pages("203.0.113.7", 13080)
    assert pages.sockets == ()
    assert pages.note.startswith("cannot listen on 203.0.113.7:13080")


def test_an_address_of_this_machine_alone_is_not_shown_to_others() -> None:
    pages = listen_for_pages("127.0.0.1", 0)
    assert pages.elsewhere == ""
    pages.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_every_address_is_shown_as_one_for_this_machine_and_one_for_others(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for outside, shown in (("192.168.1.20", "http://192.168.1.20:{port}/"), (None, "")):
        monkeypatch.setattr(listening, "network_address", lambda outside=outside: outside)
        pages = listen_for_pages(host, 0)
        assert (pages.url, pages.elsewhere) == (f"http://127.0.0.1:{pages.port}/", shown.format(port=pages.port))
        pages.close()


def test_the_address_in_the_network_is_one_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    address = network_address()
    if address is not None:
        socket.create_server((address, 0)).close()

    def refuse(*_: object) -> None:
        raise OSError(errno.ENETUNREACH, "Network is unreachable")

    for method in ("connect", "__init__"):
        with monkeypatch.context() as patch:
            patch.setattr(socket.socket, method, refuse)
            assert network_address() is None


@pytest.mark.parametrize(
    ("settings", "access"),
    [
        ({}, FOR_THIS_MACHINE),
        ({"viewer_password": "geheim"}, FOR_PASSWORD_HOLDERS),
        ({"viewer": ("0.0.0.0", 1), "viewer_password": "geheim"}, FOR_PASSWORD_HOLDERS),
        ({"viewer": ("0.0.0.0", 1), "is_viewer_open": True}, FOR_EVERYBODY),
    ],
)
def test_the_log_says_who_can_look(settings: dict[str, object], access: str) -> None:
    assert access_to(Config(**settings)) == access  # type: ignore[arg-type]
