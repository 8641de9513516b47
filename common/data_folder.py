"""The folder in which programs keep data of a user between two runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def data_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of this project for data of the user whose variables are `environ`; it may not exist yet.

    It is where the system wants it: `$XDG_DATA_HOME` or `~/.local/share`, `~/Library/Application Support` on macOS,
    `%LOCALAPPDATA%` on Windows. None if the user has no such folder, as in some services and containers.
    """
    if sys.platform == "win32":
        places = [(environ.get("LOCALAPPDATA"), "")]
    elif sys.platform == "darwin":
        places = [(environ.get("HOME"), "Library/Application Support")]
    else:
        places = [(environ.get("XDG_DATA_HOME"), ""), (environ.get("HOME"), ".local/share")]
    # a relative path is invalid in all of these variables
    found = (Path(start, below) for start, below in places if start and Path(start).is_absolute())
    return next((folder / "spielleiter" for folder in found), None)
