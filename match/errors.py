"""What can go wrong with a match, one class for each reason.

Law: only these leave the package. A program that misbehaves is no error but a verdict. The texts are one line.
"""

from __future__ import annotations


class MatchError(Exception):
    """Base of all; never raised itself."""


class SetupError(MatchError):
    """The match was asked for wrongly: a command line, an opening, a number; the text says what to change."""


class JournalError(MatchError):
    """A match's folder cannot be written to, or what lies in it cannot be gone on with."""


class MachineError(MatchError):
    """The server or this machine failed; no program is to blame."""


class NotStartedError(MatchError):
    """A program cannot be started; the text says why."""


class SupervisorError(MatchError):
    """The process that starts programs does not answer, or was ended; the program to be started is not to blame."""
