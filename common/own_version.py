"""The version of this package, as it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

_SUFFIX = ".dist-info"


def own_version() -> str:
    """Return the version, from the name of the folder that every installation has.

    `importlib.metadata`, which looks there as well, takes 30 ms to load, for which the games on a server would stand
    still, and 1.7 MiB of memory. It is used where there is no such folder.
    """
    for folder in sys.path:
        for found in Path(folder).glob(f"spielleiter-*{_SUFFIX}"):
            return found.name.removesuffix(_SUFFIX).partition("-")[2]
    from importlib.metadata import version

    return version("spielleiter")
