"""The man page, made from the help of every command: ``python -m spielleiter.cli.manual`` writes it to standard output.

It says nothing about a command that its help does not say. release/build.py puts it into the archives for Linux and
macOS; `make man` writes it to build/.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version

import click

from spielleiter.cli.cli import cli
from spielleiter.cli.running import EXIT_BUG, EXIT_FAULT, EXIT_MACHINE, EXIT_UNFIT

_PROGRAM = "spielleiter"

_HEAD = r""".\" Made from the help of the commands; do not edit.
.TH SPIELLEITER 1 "" "spielleiter {version}" "User Commands"
.nh
.ad l
.SH NAME
spielleiter \- a local game server for the Software\-Challenge
"""

_TAIL = rf""".SH EXIT STATUS
.TP
.B 0
Success; for \fBmatch\fR, also that the requested test was passed.
.TP
.B 1
Failure; for \fBmatch\fR, player 1 is worse than \fB\-\-require\fR or \fB\-\-sprt\fR demands.
.TP
.B 2
Misuse: the command cannot do what it was asked for; one line on standard error says what to change.
.TP
.B {EXIT_FAULT}
A program failed (\fBcheck\fR, and \fBmatch\fR and \fBtournament\fR with \fB\-\-fail\-on\fR).
.TP
.B {EXIT_MACHINE}
The server or this machine failed, and no program is to blame (\fBcheck\fR, \fBmatch\fR, \fBtournament\fR); for
\fBreplay\-wire\fR, the recording lacks something, and what was compared is equal.
.TP
.B {EXIT_UNFIT}
A program cannot play, so there is no answer (\fBmatch\fR, \fBtournament\fR).
.TP
.B {EXIT_BUG}
A bug in \fBspielleiter\fR; standard error has the traceback.
.TP
.B 130
Interrupted by Ctrl\-C.
.SH ENVIRONMENT
.TP
.B SPIELLEITER_CONFIG
The file that \fBserve\fR reads its settings from.
.TP
.B SPIELLEITER_PASSWORD
The password for administrators, for \fBserve\fR, \fBadmin\fR and \fBmatch\fR.
.TP
.B SPIELLEITER_*
Every other option of \fBserve\fR, for example SPIELLEITER_SOFT_TIMEOUT for \fB\-\-soft\-timeout\fR.
.SH FILES
.TP
.I server.properties
Settings of \fBserve\fR, in the current directory.
.SH EXAMPLES
Start a server and let two built\-in players play a game on it:
.PP
.nf
spielleiter serve &
spielleiter play \-\-strategy greedy &
spielleiter play \-\-strategy random
.fi
"""


class _ManFormatter(click.HelpFormatter):
    """Writes roff, where click's own formatter writes wrapped text."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:  # noqa: ARG002 - click's signature
        self.write(f".PP\n.B {roff(prog)}\n{line(args)}" if args else f".PP\n.B {roff(prog)}\n")

    def write_heading(self, heading: str) -> None:
        self.write(f".PP\n.I {roff(heading)}\n")

    def write_paragraph(self) -> None: ...

    def write_text(self, text: str) -> None:
        for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
            marked = paragraph.lstrip()
            if marked.startswith("\b"):  # click's mark for text that must not be wrapped
                self.write(".PP\n.nf\n" + "".join(line(each) for each in marked[1:].strip("\n").splitlines()) + ".fi\n")
            else:
                self.write(".PP\n" + line(" ".join(paragraph.split())))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:  # noqa: ARG002
        for term, text in rows:
            self.write(f".TP\n.B {roff(term)}\n{line(' '.join(text.split()))}")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write_heading(name)
        yield


def roff(text: str) -> str:
    """The text, with all characters escaped that roff would interpret."""
    return text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")


def line(text: str) -> str:
    """A line of text that roff does not take for a request, even if it begins with a dot or an apostrophe."""
    escaped = roff(text)
    return (r"\&" if escaped[:1] in {".", "'"} else "") + escaped + "\n"


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command of the group; a subgroup is followed by its own commands."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield command, inner
        if isinstance(command, click.Group):
            yield from commands(command, inner)


def render() -> str:
    """The whole page."""
    top = click.Context(cli, info_name=_PROGRAM)
    formatter = _ManFormatter()
    formatter.write(_HEAD.format(version=roff(version(_PROGRAM))))
    formatter.write(".SH SYNOPSIS\n")
    cli.format_usage(top, formatter)
    formatter.write(".SH DESCRIPTION\n")
    cli.format_help_text(top, formatter)
    cli.format_options(top, formatter)
    cli.format_epilog(top, formatter)
    formatter.write(".SH COMMANDS\n")
    for command, context in commands(cli, top):
        formatter.write(f".SS {roff(context.command_path.removeprefix(_PROGRAM + ' '))}\n")
        command.format_help(context, formatter)
    formatter.write(_TAIL)
    return formatter.getvalue()


if __name__ == "__main__":
    click.echo(render(), nl=False)
