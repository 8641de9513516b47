"""Clients and servers have the same default host, port and password."""

from __future__ import annotations

import inspect

import pytest

from spielleiter.client import AdminClient, Player
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_PORT
from spielleiter.server.config import Config

DEFAULTS = {"host": DEFAULT_HOST, "port": DEFAULT_PORT, "password": DEFAULT_PASSWORD}


@pytest.mark.parametrize("client", [AdminClient, Player])
def test_an_unconfigured_client_finds_an_unconfigured_server(client: type[AdminClient | Player]) -> None:
    parameters = inspect.signature(client.connect).parameters
    for name, default in DEFAULTS.items():
        assert getattr(Config(), name) == default
        if name in parameters:
            assert parameters[name].default == default
