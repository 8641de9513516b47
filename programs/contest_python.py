"""The Python that packages are checked with where no image of the contest is used.

Invariants: it is of the version that a package is built for, or else of the contest's newest one, if this machine has
such a Python, wherever it is installed; otherwise it is the one that is called `python3` here. Whatever an interpreter
answers is only compared and shown.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

CONTEST_VERSION: Final = "3.12"
"""The newest version of Python in the images of the contest."""

_FOLDERS: Final = (  # below the home folder, where version managers install
    (".pyenv/versions", "{version}.*/bin/python{version}"),
    (".local/share/uv/python", "cpython-{version}.*/bin/python{version}"),
    (".local/share/mise/installs/python", "{version}.*/bin/python{version}"),
)
_PROBE: Final = (
    "import importlib.util, json, platform, sys; print(json.dumps([platform.python_version(), sys.executable, "
    "sys.base_prefix, importlib.util.find_spec('pip') is not None]))"
)
_TIMEOUT: Final = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class FoundPython:
    """An interpreter on this machine: its version, such as ``3.12.1``, its file, and the folder of its installation."""

    version: str
    executable: str
    prefix: str
    has_pip: bool = True
    is_default: bool = False
    """Whether it is the one that is called `python3` anyway."""

    @property
    def is_apart(self) -> bool:
        """Whether a sandbox can be given its installation without the home folder, which must not be visible there."""
        home, prefix = Path(os.path.expanduser("~")), Path(self.prefix)  # noqa: PTH111 - as below
        return not home.is_relative_to(prefix)

    def has_version(self, version: str) -> bool:
        """Return whether it is of this minor version, such as ``3.12``."""
        return self.version.startswith(f"{version}.")


def find_python(path: str | None = None, built_for: str = "") -> FoundPython | None:
    """Return the Python to check a package with; None if there is none.

    That is one of the version `built_for`, of the contest's, or the one that is called `python3` in `path`, which is
    the variable PATH of the program; None for that of this process. One with pip is preferred, since packages install
    what they contain with it. Blocks for a moment.
    """
    default = shutil.which("python3", path=path)
    python3 = None if default is None else _probe(os.path.realpath(default))
    if python3 is not None:
        python3 = replace(python3, is_default=True)
    for version in dict.fromkeys(filter(None, (built_for, CONTEST_VERSION))):
        found: list[FoundPython] = []
        for known in (python3, *map(_probe, _candidates(version))):
            if known is not None and known.has_version(version) and (known.is_default or known.is_apart):
                if known.has_pip:
                    return known
                found.append(known)
        if found:
            return found[0]
    return python3


def write_commands(python: FoundPython, folder: Path) -> None:
    """Write the commands `python3`, `python`, `pip3` and `pip` for it into `folder`, which is to lead a PATH."""
    program = shlex.quote(python.executable)
    for names, words in ((("python3", "python"), program), (("pip3", "pip"), f"{program} -m pip")):
        for name in names:
            command = folder / name
            command.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8", errors="surrogateescape")
            command.chmod(0o755)


def _candidates(version: str) -> Iterator[str]:
    """The files that may be a Python of this version; that of a virtual environment is replaced by its base."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = [shutil.which(f"python{version}", path=folder) for folder in folders if folder]
    paths = [path for path in found if path is not None]
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path's form raises without a home folder
    for folder, pattern in _FOLDERS:
        paths += map(str, sorted((home / folder).glob(pattern.format(version=version)), reverse=True))
    return iter(dict.fromkeys(map(os.path.realpath, paths)))


def _probe(path: str) -> FoundPython | None:
    """Ask an interpreter what it is; None if it does not answer, such as the shim of a version manager."""
    try:
        done = subprocess.run(  # noqa: S603
            [path, "-I", "-c", _PROBE], stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT, check=False
        )
        answer = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    match answer:
        case [str(version), str(executable), str(prefix), bool(has_pip)]:
            # the shim of a version manager may have started that of a virtual environment
            return FoundPython(version, os.path.realpath(executable), prefix, has_pip)
    return None
