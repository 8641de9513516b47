"""A server without behaviour of its own for every test of the driver that asks for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.load.fake_server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()
