"""Starting the Python that runs this program once more: for helper processes, with the command line of `python`.

In the one-folder build (release/build.py) there is no `python` to start. `sys.executable` is the program `spielleiter`
itself, which takes the place of the interpreter if its first argument is `RUN_PYTHON`.

Every helper process is started with `own_python()`, so the frozen program can start all of them. It has only those
modules of the standard library that the project imports; programs of users never run on it.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from typing import Final

RUN_PYTHON: Final = "--run-python"
"""The first argument of the frozen program if it is to behave as `python` does."""

_FLAGS: Final = frozenset({"-B", "-I", "-P", "-S"})
"""Options of `python` that isolate it from the environment and the current folder. The frozen program always is."""


def is_frozen() -> bool:
    """Return whether this is the one-folder build."""
    return bool(getattr(sys, "frozen", False))


def own_python() -> list[str]:
    """Return the first words of a command line that starts this Python; options of `python` follow them."""
    return [sys.executable, RUN_PYTHON] if is_frozen() else [sys.executable]


def run_as_python(arguments: Sequence[str]) -> None:
    """Do in this process what `python` does with these arguments, and return afterwards.

    Raises SystemExit for a command line that it does not understand.
    """
    remaining = list(arguments)
    while remaining and remaining[0] in _FLAGS:
        del remaining[0]
    match remaining:
        case ["-m", module, *words]:
            sys.argv = [module, *words]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", code, *words]:
            sys.argv = ["-c", *words]
            exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102 - as `python -c` does
        case [path, *words] if not path.startswith("-"):
            sys.argv = [path, *words]
            runpy.run_path(path, run_name="__main__")
        case _:
            sys.exit(f"{RUN_PYTHON}: expected -m MODULE, -c CODE or a file, but got {' '.join(remaining) or 'nothing'}")
