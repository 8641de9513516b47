from __future__ import annotations

from spielleiter.client.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_PORT
from spielleiter.server.config.config import Config


def test_a_client_finds_a_server_that_nobody_told_otherwise() -> None:
    config = Config()
    assert (config.host, config.port, config.password) == (DEFAULT_HOST, DEFAULT_PORT, DEFAULT_PASSWORD)
