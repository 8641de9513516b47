"""Errors out of the exception groups that trio's nurseries wrap them into.

Functions that are called from outside raise errors as they are: a caller should not need `except*` because a nursery is
used somewhere inside.
"""

from __future__ import annotations


def unwrapped(error: BaseException) -> BaseException:
    """The error itself where groups hold only this one; a group of several errors is returned as a group.

    A KeyboardInterrupt among several errors counts as the only one, since Ctrl-C ends the program in any case.
    """
    if isinstance(error, BaseExceptionGroup) and error.subgroup(KeyboardInterrupt):
        return KeyboardInterrupt()
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def first_error(error: BaseException) -> BaseException:
    """The first error of a group, however deeply groups are nested; any other error is returned as it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
