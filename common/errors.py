"""Exceptions of matches and of running programs, and errors of other kinds as one error or one text.

Every failure that concerns a match is raised as one of these classes; their texts are one line. A program that
misbehaves raises nothing: that is a verdict in the record of its game.
"""

from __future__ import annotations

import os


class MatchError(Exception):
    """The base class; it is never raised itself."""


class SetupError(MatchError):
    """What was asked for cannot be done as described (a command line, an opening, a file); the text says why."""


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
    if isinstance(error.filename, str | bytes | os.PathLike):
        return f"{os.fsdecode(error.filename)}: {reason}"
    return reason


# Trio's nurseries wrap errors in groups. A caller should not need `except*` because a nursery is used inside.


def unwrapped(error: BaseException) -> BaseException:
    """Return the single error in nested groups; a group of several errors is returned as a group.

    If a KeyboardInterrupt or a SystemExit is among several errors, it is returned alone, since it ends the program
    regardless.
    """
    if isinstance(error, BaseExceptionGroup) and (ending := error.subgroup((KeyboardInterrupt, SystemExit))):
        return first_error(ending)
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def first_error(error: BaseException) -> BaseException:
    """Return the first error of a group, at any depth of nesting; any other error is returned as it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
