"""Extracts errors from the exception groups in which trio's nurseries wrap them.

Functions that are called from outside raise errors as they are: a caller should not need `except*` because a nursery is
used somewhere inside.
"""

from __future__ import annotations


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
