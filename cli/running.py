"""How commands run and end: exit codes, failures, and trio.

A failure is one line on standard error and an exit code. 130 is that of Ctrl-C, and 141 (without a line) says that
nobody reads the output any more. SetupError, JournalError and StartError, which name what the user has to change, may
leave a command: they are misuse.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import click

from spielleiter.cli.ctrl_c import raise_on_ctrl_c
from spielleiter.cli.output import print_line

if TYPE_CHECKING:
    from spielleiter.viewer.web.companion import StartPages

T = TypeVar("T")

EXIT_FAILURE = 1
EXIT_MISUSE = 2
EXIT_FAULT = 3
"""A program of the user has failed."""
EXIT_MACHINE = 4
"""There is no answer, and no program is to blame."""
EXIT_UNFIT = 5
"""There is no answer, since a program cannot play."""
EXIT_BUG = 70
"""An exception that nobody expected. It is no answer of a command, as 1 is one of `match`."""

SUBCOMMANDS = "[COMMAND] [ARGS]..."
"""The usage of a group. The man page contains it, and click's own text differs between versions of click."""


class Failure(click.ClickException):
    """The command failed; the text is one line."""

    exit_code = EXIT_FAILURE


class Misuse(click.ClickException):
    """The user asked for something that the command cannot do, or not with these values; the text is one line."""

    exit_code = EXIT_MISUSE


@contextmanager
def machine_failures(command: str) -> Iterator[None]:
    """What this machine fails at while `command` plays is one line, and the exit code EXIT_MACHINE.

    A SetupError is misuse here as well.
    """
    from spielleiter.common.errors import MatchError, SetupError, os_error_text

    try:
        yield
    except SetupError:
        raise
    except (MatchError, OSError) as error:
        text = os_error_text(error) if isinstance(error, OSError) else error
        print_line(f"spielleiter {command}: {text}", err=True)
        raise click.exceptions.Exit(EXIT_MACHINE) from None


def run_async(main: Callable[[], Awaitable[T]]) -> T:
    """Run `main` with trio. A single exception is raised as it is, without the exception groups of nurseries."""
    import trio

    raise_on_ctrl_c()
    try:
        return trio.run(main)
    except BaseExceptionGroup as group:
        from spielleiter.common.errors import unwrapped

        raise unwrapped(group) from None


def run_until_stopped(main: Callable[[], Awaitable[T]]) -> T:
    """Run `main` like `run_async`. SIGTERM and SIGHUP end it like Ctrl-C, so that nothing is left behind."""
    import trio

    from spielleiter.common.process import stop_signals

    async def raise_on_signal() -> None:
        with trio.open_signal_receiver(*set(stop_signals()) - {signal.SIGINT}) as signals:
            async for _ in signals:
                raise KeyboardInterrupt

    async def run() -> T:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(raise_on_signal)
            result = await main()
            nursery.cancel_scope.cancel()
        return result

    return run_async(run)


@contextmanager
def starting_pages() -> Iterator[StartPages]:
    """Return what starts the process of the pages, on Linux so that others of the same user cannot look into it.

    It has to be called before this process has threads. Raises StartError.
    """
    if sys.platform == "linux":
        from spielleiter.viewer.web.page_starter import forked_starter

        with forked_starter() as starter:
            yield starter.start
    else:
        from spielleiter.viewer.web.companion import start_by_command

        yield start_by_command
