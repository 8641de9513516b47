"""The Pythons of sandboxes: the one that a package is run with, and our own, which runs helper.py there.

Packages are run with the version that they are built for, or else the contest's newest one, if this machine has such a
Python; otherwise with what is called `python3` here. Whatever an interpreter answers is only compared and shown.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from spielleiter.common.own_python import is_frozen, own_python
from spielleiter.programs.sandbox.sandbox import NOT_STARTED, run_briefly

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
        home, prefix = Path(os.path.expanduser("~")), Path(self.prefix)  # noqa: PTH111 - Path's form raises without a home folder
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
    folders = [each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if each]
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - as above
    for version in dict.fromkeys(filter(None, (built_for, CONTEST_VERSION))):
        paths = [path for folder in folders if (path := shutil.which(f"python{version}", path=folder))]
        for name, pattern in _FOLDERS:
            paths += map(str, sorted((home / name).glob(pattern.format(version=version)), reverse=True))
        found: list[FoundPython] = []
        # that of a virtual environment is replaced by its base
        for known in (python3, *map(_probe, dict.fromkeys(map(os.path.realpath, paths)))):
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


def _probe(path: str) -> FoundPython | None:
    """Ask an interpreter what it is; None if it does not answer, such as the shim of a version manager."""
    try:
        status = Path(path).stat()
        return _answer(path, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    except (OSError, ValueError):
        return None


@functools.cache
def _answer(path: str, _version: tuple[int, int, int, int]) -> FoundPython:
    """Return what an interpreter answers.

    It is asked again only if its file has changed, since the shim of a version manager takes long to answer. Raises
    TimeoutError, or ValueError for nonsense, and remembers nothing then.
    """
    code, output = run_briefly([path, "-I", "-c", _PROBE], _TIMEOUT)
    if code == NOT_STARTED:
        raise TimeoutError(output)
    match json.loads(output):
        case [str(version), str(executable), str(prefix), bool(has_pip)]:
            # the shim of a version manager may have started that of a virtual environment
            return FoundPython(version, os.path.realpath(executable), prefix, has_pip)
    raise ValueError(output)


# -- our own Python inside a sandbox ----------------------------------------------------------------------------------

TOOLS: Final = "/.spielleiter"
"""The folder inside a sandbox that holds what belongs to us."""

_LOADER: Final = re.compile(r"ld[-\d.\w]*\.so(?:\.\d+)?$")
_MAPS: Final = Path("/proc/self/maps")
_HELPER: Final = Path(__file__).absolute().with_name("helper.py")


@dataclass(frozen=True, slots=True)
class PythonInside:
    """The command line that runs helper.py, and the paths to mount for it: those on this machine, by those inside."""

    command: tuple[str, ...]
    mounts: dict[str, str]


def python_inside() -> PythonInside:
    """Return how to run helper.py within a sandbox. Raises OSError if this Python cannot be moved there."""
    program, *options = own_python()
    executable = Path(program).resolve()
    base = executable.parent if is_frozen() else Path(sys.base_prefix).resolve()
    if not executable.is_relative_to(base):
        raise OSError(f"{executable} is not below {base}")
    inner = f"{TOOLS}/python/{executable.relative_to(base)}"
    mounts = {f"{TOOLS}/python": str(base), f"{TOOLS}/helper.py": str(_HELPER)}
    loader, libraries = None, []  # the dynamic loader of this process, and the folders of what it has loaded
    for line in _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/"):
            path = Path(fields[5])
            if _LOADER.match(path.name):
                loader = path
            elif path.name.startswith("lib") and ".so" in path.name:
                libraries.append(path.parent)
    command: tuple[str, ...] = (inner,)
    if loader is not None:
        folders = [f"{TOOLS}/python/lib"]  # first: the system may have a libpython of its own
        for number, folder in enumerate(dict.fromkeys([loader.parent, *libraries])):
            folders.append(f"{TOOLS}/lib{number}")
            mounts[folders[-1]] = str(folder)
        command = (f"{folders[1]}/{loader.name}", "--library-path", ":".join(folders), "--argv0", inner, inner)
    return PythonInside((*command, *options, "-I", "-S", "-B", f"{TOOLS}/helper.py"), mounts)


def python_outside() -> list[str]:
    """Return the command line that runs helper.py without a sandbox."""
    program, *options = own_python()
    return [str(Path(program).resolve()), *options, "-I", "-S", "-B", str(_HELPER)]
