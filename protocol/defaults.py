"""The default address, ports and password of clients and servers: those of the official releases, if they have one."""

from __future__ import annotations

from typing import Final

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 13050
DEFAULT_VIEWER_PORT: Final = 13080
"""The port of the pages for the browser; an extension of this server."""
DEFAULT_PASSWORD: Final = "examplepassword"  # noqa: S105 - published with the official releases
DEFAULT_HELPERS_PORT: Final = 13091
"""The port of a league for the PCs that help it."""
