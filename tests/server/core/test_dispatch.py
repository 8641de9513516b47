"""Every packet has one row: who may send it, and which part of the lobby answers."""

from __future__ import annotations

from typing import get_args

import pytest

from spielleiter.protocol.messages import CloseConnection, Event, Joined, Left, Message, Request, RoomMessage
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.dispatch import FOR_ADMINS, FOR_ANYONE, dispatch
from spielleiter.server.core.lobby import Lobby
from spielleiter.server.editions import EDITIONS
from spielleiter.server.errors import Fault, RequestError
from tests.server.room_harness import RoomHarness

SERVER_PACKETS: list[Message] = [Joined("x"), Left("x")]


def test_every_request_of_an_edition_has_exactly_one_row() -> None:
    known = {kind for edition in EDITIONS.values() for kind in edition.dialect.writers} & set(get_args(Request))
    assert set(FOR_ANYONE) | set(FOR_ADMINS) == known
    assert set(FOR_ANYONE) & set(FOR_ADMINS) == set()


def test_every_row_is_a_method_of_the_lobby() -> None:
    handlers = [*FOR_ANYONE.values(), *FOR_ADMINS.values()]
    assert len(set(handlers)) == len(handlers)
    assert set(handlers) <= set(vars(Lobby).values())


def test_what_only_a_server_sends_has_no_row() -> None:
    assert (set(FOR_ANYONE) | set(FOR_ADMINS)) & (set(get_args(Event)) | {CloseConnection, RoomMessage}) == set()


@pytest.mark.parametrize("message", SERVER_PACKETS, ids=lambda message: type(message).__name__)
def test_what_only_a_server_sends_is_refused_even_to_administrators(message: Message) -> None:
    harness = RoomHarness()
    for fake_peer in (harness.fake_peer("one"), harness.fake_peer("admin", is_admin=True)):
        with pytest.raises(RequestError, match="Unhandled Packet of type") as caught:
            dispatch(harness.lobby, fake_peer.peer, message, Arrival(0.0), 0.0)
        assert caught.value.fault is Fault.SERVER_PACKET
