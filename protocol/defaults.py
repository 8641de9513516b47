"""The default address, port and password of clients and servers: those of the official releases."""

from __future__ import annotations

from typing import Final

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 13050
DEFAULT_PASSWORD: Final = "examplepassword"  # noqa: S105 - published with the official releases
