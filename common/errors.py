"""The exceptions of matches and of running programs, one class for each kind of failure; errors of the system as text.

Invariants: every failure that concerns a match is raised as one of these. A program that misbehaves raises nothing:
that is a verdict in the record of its game. The texts are one line.
"""

from __future__ import annotations

import os


class MatchError(Exception):
    """The base class; it is never raised itself."""


class SetupError(MatchError):
    """The match cannot be played as described (a command line, an opening, a number); the text says what to change."""


class JournalError(MatchError):
    """A match's folder cannot be read or written, is in use, or holds something that cannot be continued."""


class MachineError(MatchError):
    """The server or this machine failed; it is not a program's fault."""


class ClusterError(MatchError):
    """The machines of a cluster cannot be reached, or none of them can play; the text says what to do."""


class NotStartedError(MatchError):
    """A program cannot be started; the text says why."""


class SandboxError(MatchError):
    """A sandbox could not be started; the program that was to run in it is not to blame."""


class SupervisorError(MatchError):
    """The process that starts programs does not answer, or was ended; the program to be started is not to blame."""


def os_error_text(error: OSError) -> str:
    """Return the error as text for users: ``path: Permission denied``, without the path if none is known."""
    reason = error.strerror or str(error)
    return (
        f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, str | bytes | os.PathLike) else reason
    )
