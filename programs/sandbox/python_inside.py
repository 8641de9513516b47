"""Running this Python inside a sandbox or container that has no Python, or another one.

Invariants: the folders are mounted below TOOLS and are read-only; nothing else of the sandbox changes. Python's own
files and the folders of the libraries that this process has loaded are enough to run inside.py. The dynamic loader of
this machine is named explicitly, so the sandbox needs no C library, or may have another one.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spielleiter.common.own_python import is_frozen, own_python

TOOLS: Final = "/.spielleiter"
"""The folder inside a sandbox that holds what belongs to us."""

_LOADER: Final = re.compile(r"ld[-\d.\w]*\.so(?:\.\d+)?$")
_MAPS: Final = Path("/proc/self/maps")
_HELPER: Final = Path(__file__).absolute().with_name("inside.py")


@dataclass(frozen=True, slots=True)
class PythonInside:
    """The command line that runs inside.py, and the paths to mount for it: those on this machine, by those inside."""

    command: tuple[str, ...]
    mounts: dict[str, str]


def python_inside() -> PythonInside:
    """Return how to run inside.py within a sandbox. Raises OSError if this Python cannot be moved there."""
    program, *options = own_python()
    executable = Path(program).resolve()
    base = executable.parent if is_frozen() else Path(sys.base_prefix).resolve()
    if not executable.is_relative_to(base):
        raise OSError(f"{executable} is not below {base}")
    inner = f"{TOOLS}/python/{executable.relative_to(base)}"
    mounts = {f"{TOOLS}/python": str(base), f"{TOOLS}/inside.py": str(_HELPER)}
    loader, libraries = _loaded_libraries()
    command: tuple[str, ...] = (inner,)
    if loader is not None:
        folders = [f"{TOOLS}/python/lib"]  # first: the system may have a libpython of its own
        for number, folder in enumerate(dict.fromkeys([loader.parent, *libraries])):
            folders.append(f"{TOOLS}/lib{number}")
            mounts[folders[-1]] = str(folder)
        command = (f"{folders[1]}/{loader.name}", "--library-path", ":".join(folders), "--argv0", inner, inner)
    return PythonInside((*command, *options, "-I", "-S", "-B", f"{TOOLS}/inside.py"), mounts)


def python_outside() -> list[str]:
    """Return the command line that runs inside.py without a sandbox."""
    program, *options = own_python()
    return [str(Path(program).resolve()), *options, "-I", "-S", "-B", str(_HELPER)]


def _loaded_libraries() -> tuple[Path | None, list[Path]]:
    """Return the dynamic loader of this process, and the folders of the libraries that it has loaded."""
    loader, folders = None, []
    for line in _MAPS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/"):
            path = Path(fields[5])
            if _LOADER.match(path.name):
                loader = path
            elif path.name.startswith("lib") and ".so" in path.name:
                folders.append(path.parent)
    return loader, folders
