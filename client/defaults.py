"""Where a server is, and what its administrators say, unless told otherwise: as in the official releases."""

from __future__ import annotations

from typing import Final

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 13050
DEFAULT_PASSWORD: Final = "examplepassword"  # noqa: S105 - everybody knows it
