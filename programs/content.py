"""What a program consists of, so that another version of it under the same name is noticed.

Invariants: nothing is started. Only the file that the command line names is read, not what it imports or loads.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from spielleiter.programs.program import BUILTIN, Command
from spielleiter.programs.program_names import played_file


def content_of(text: str, cwd: str) -> str:
    """The SHA-256 of the file that a command line starts: a program, a script, a .jar file or a package.

    `text` is the command line, `cwd` the directory that relative paths start from. Empty if there is no such file, as
    for a built-in player, a command on the PATH or a module, or if it cannot be read. Raises SetupError.
    """
    command = Command.parse(text, cwd)
    if text.startswith(BUILTIN):
        return ""
    try:
        path = Path(cwd, played_file(command.words))
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):  # a null byte in the path
        return ""
