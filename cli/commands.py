"""The parts that all commands share: groups, output, failures and exit codes.

Invariants: a failure is one line on standard error and an exit code: 2 for misuse (an unknown option, a value that
cannot be used, a server that cannot start with these settings), 1 for any other failure, 130 after Ctrl-C, 141 (and no
line) if nobody reads the output any more. A bug of ours is a traceback and 70. The module of a command is imported when
the command is used, so that help and completion are fast.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Final, TextIO, TypeVar

import click

from spielleiter.cli.ctrl_c import EXIT_INTERRUPTED, raise_on_ctrl_c

T = TypeVar("T")

SUBCOMMANDS = "[COMMAND] [ARGS]..."
"""The usage of a group. The man page contains it, and click's own text differs between versions of click."""

_IN_BACKTICKS: Final = re.compile("`[^`]+`")

EXIT_FAILURE = 1
EXIT_MISUSE = 2
EXIT_BUG = 70
"""An exception that nobody expected. It is no answer of a command, as 1 is one of `match`."""


class Failure(click.ClickException):
    """The command failed; the text is one line."""

    exit_code = EXIT_FAILURE


class Misuse(click.ClickException):
    """The user asked for something that the command cannot do; the text is one line."""

    exit_code = EXIT_MISUSE


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


def print_line(line: str = "", *, err: bool = False) -> None:
    """Write a line to standard output, or to standard error with `err`; control characters are escaped.

    On a terminal that is too narrow the line is wrapped.
    """
    from spielleiter.common.text import escaped

    click.echo(fitted(escaped(line), sys.stderr if err else sys.stdout), err=err)


def fitted(line: str, out: TextIO) -> str:
    """`line`, wrapped between words if `out` is a terminal that is too narrow for it.

    Text in backticks is not split, so that a command can be copied. Further lines are indented by two more columns than
    the first one.
    """
    try:
        columns = os.get_terminal_size(out.fileno()).columns - 1
    except (OSError, ValueError):  # no terminal
        return line
    from spielleiter.cli.columns import JOINT, filled
    from spielleiter.common.text import text_width

    if not 0 < columns < text_width(line):
        return line
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    joined = _IN_BACKTICKS.sub(lambda found: found[0].replace(" ", JOINT), line)
    return "\n".join(filled(joined, columns, indent if len(indent) < columns // 2 else ""))


def show_help_alone(context: click.Context) -> None:
    """Print the help of a group that is called without a command."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class LazyGroup(click.Group):
    """A group whose commands are listed in a table and imported when they are used.

    `lazy` maps the name of a command to ``"module:attribute"`` and its line in the help.
    """

    def __init__(self, *args: Any, lazy: dict[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in self._lazy:
            return None
        module, _, attribute = self._lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:  # click suggests only commands that are loaded already
            raise click.NoSuchCommand(error.command_name, possibilities=self._lazy, ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._lazy.items()])

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the program and exit; a failure is printed as one line."""
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            context = getattr(error, "ctx", None)
            name = context.command_path if context else extra.get("prog_name") or self.name
            print_line(f"{name}: {' '.join(error.format_message().split())}", err=True)
            sys.exit(error.exit_code)
        except click.Abort:
            sys.exit(EXIT_INTERRUPTED)
        except OSError as error:  # a full disk, a file without permission: no bug
            from spielleiter.common.errors import os_error_text

            print_line(f"{extra.get('prog_name') or self.name}: {os_error_text(error)}", err=True)
            sys.exit(EXIT_FAILURE)
        except Exception:
            traceback.print_exc()
            sys.exit(EXIT_BUG)
        sys.exit(code if isinstance(code, int) else 0)
