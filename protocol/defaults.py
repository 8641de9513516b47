"""Where clients look for a server, and where a server listens, unless they are told otherwise.

The values are those of the official releases.
"""

from __future__ import annotations

from typing import Final

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 13050
DEFAULT_PASSWORD: Final = "examplepassword"  # noqa: S105 - published with the official releases
