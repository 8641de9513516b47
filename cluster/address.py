"""The value of `--cluster`: where the scheduler is, or how many workers to start here.

Invariants: an address that would send games and programs over a network names its host and port. `local` never means
another machine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from spielleiter.common.errors import SetupError
from spielleiter.server.config import is_loopback

MAX_LOCAL_WORKERS: Final = 256

_REMOTE: Final = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})")
_LOCAL: Final = re.compile(r"local:([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """The address of a scheduler, or a number of workers on this machine."""

    text: str
    local_workers: int | None = None
    """The number of worker processes to start here; None: `text` is the address of a scheduler that is running."""

    @property
    def is_open(self) -> bool:
        """Whether others can read the connections to the scheduler, and use it: no TLS, and not on this machine."""
        remote = _REMOTE.fullmatch(self.text)
        return remote is not None and remote[1] == "tcp" and not is_loopback(remote[2].strip("[]"))

    @classmethod
    def parse(cls, text: str) -> ClusterAddress:
        """Parse ``tcp://HOST:PORT``, ``tls://HOST:PORT`` or ``local:N``. Raises SetupError."""
        if (local := _LOCAL.fullmatch(text)) and 1 <= int(local[1]) <= MAX_LOCAL_WORKERS:
            return cls(text, int(local[1]))
        if (remote := _REMOTE.fullmatch(text)) and 1 <= int(remote[3]) <= 65535:
            return cls(text)
        raise SetupError(
            f"cluster {text!r}: expected tcp://HOST:PORT or tls://HOST:PORT of a Dask scheduler, or local:N for 1 to "
            f"{MAX_LOCAL_WORKERS} worker processes on this machine"
        )
