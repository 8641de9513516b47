"""The fixture `server`: a fake server which sends only what a test has it send."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bench.fake_server import Server


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()
