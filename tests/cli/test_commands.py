"""What all commands share: errors, exit codes, suggestions and wrapped lines."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
import trio
import trio.testing
from click.testing import CliRunner

from spielleiter.cli.commands import (
    Failure,
    LazyGroup,
    Misuse,
    fitted,
    print_line,
    run_async,
    run_until_stopped,
    show_help_alone,
)
from tests.cli.terminal import pty, seen
from tests.timeouts import HANG_TIMEOUT

_CALLS: list[str] = []


@click.command()
@click.argument("what")
def fail(what: str) -> None:
    """Fails in several ways."""
    _CALLS.append(what)
    raise {
        "failure": Failure("went\nwrong"),
        "misuse": Misuse("asked wrongly"),
        "usage": click.UsageError("not like this"),
        "interrupt": KeyboardInterrupt(),
        "exit": click.exceptions.Exit(7),
        "machine": PermissionError(errno.EACCES, "Permission denied", "there/file"),
        "bug": RecursionError("too deep"),
        "disk": OSError(errno.ENOSPC, "No space left on device"),
    }[what]


@click.group(
    cls=LazyGroup,
    lazy={"fail": (f"{__name__}:fail", "Fails."), "late": ("no.such.module:x", "Not imported by the help.")},
    invoke_without_command=True,
)
@click.pass_context
def group(context: click.Context) -> None:
    """Several commands."""
    show_help_alone(context)


@pytest.mark.parametrize(
    ("what", "code", "line"),
    [
        ("failure", 1, "tool: went wrong\n"),
        ("misuse", 2, "tool: asked wrongly\n"),
        ("usage", 2, "tool fail: not like this\n"),
        ("interrupt", 130, ""),
        ("machine", 1, "tool: there/file: Permission denied\n"),
        ("disk", 1, "tool: No space left on device\n"),
        ("exit", 7, ""),
    ],
)
def test_a_failure_is_one_line_and_a_code(what: str, code: int, line: str) -> None:
    result = CliRunner().invoke(group, ["fail", what], prog_name="tool")
    assert (result.exit_code, result.stderr.lstrip("\n")) == (code, line)


def test_a_bug_is_a_traceback_and_a_code_of_its_own() -> None:
    result = CliRunner().invoke(group, ["fail", "bug"], prog_name="tool")
    assert result.exit_code == 70
    assert result.stderr.startswith("Traceback")
    assert result.stderr.endswith("RecursionError: too deep\n")


def test_an_unknown_command_is_named() -> None:
    result = CliRunner().invoke(group, ["nonsense"], prog_name="tool")
    assert result.exit_code == 2
    assert result.stderr == "tool: No such command 'nonsense'.\n"


@pytest.mark.parametrize(
    ("arguments", "near"),
    [(["fial"], "'fail'"), (["laet"], "'late'"), (["--hlep"], "'--help'"), (["fail", "x", "--hlp"], "'--help'")],
)
def test_misspelt_names_are_answered_with_similar_ones(arguments: list[str], near: str) -> None:
    result = CliRunner().invoke(group, arguments, prog_name="tool")
    assert result.exit_code == 2
    assert result.stderr.endswith(f"Did you mean {near}?\n")
    assert "no.such" not in sys.modules


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_the_help_names_commands_without_importing_them(arguments: list[str]) -> None:
    result = CliRunner().invoke(group, arguments, prog_name="tool")
    assert result.exit_code == 0
    assert "fail  Fails." in result.stdout
    assert "late  Not imported by the help." in result.stdout
    assert "no.such" not in sys.modules


def test_run_async_returns_the_value() -> None:
    async def main() -> int:
        await trio.lowlevel.checkpoint()
        return 3

    assert run_async(main) == 3


async def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("error", [LookupError("x"), KeyboardInterrupt()])
def test_run_async_unwraps_a_single_exception(error: BaseException) -> None:
    async def main() -> None:
        async with trio.open_nursery() as outer, trio.open_nursery() as inner:
            outer.start_soon(trio.sleep_forever)
            inner.start_soon(_raise, error)

    with pytest.raises(type(error)):
        run_async(main)


def test_a_signal_ends_what_runs_until_stopped_like_ctrl_c() -> None:
    ended: list[str] = []

    async def main() -> None:
        await trio.testing.wait_all_tasks_blocked()
        try:
            signal.raise_signal(signal.SIGTERM)
            await trio.sleep_forever()
        finally:
            ended.append("cleanly")

    with pytest.raises(KeyboardInterrupt):
        run_until_stopped(main)
    assert ended == ["cleanly"]


def test_what_runs_until_stopped_returns_its_value() -> None:
    async def main() -> int:
        return 3

    assert run_until_stopped(main) == 3


def test_run_async_keeps_a_group_of_several_exceptions() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_raise, LookupError("x"))
            nursery.start_soon(_raise, ValueError("y"))

    with pytest.raises(ExceptionGroup) as group_:
        run_async(main)
    assert group_.group_contains(LookupError)
    assert group_.group_contains(ValueError)


LONG = "lost as player 1, 0:10; player 1: RULE_VIOLATION the piece is placed already"


def test_a_line_that_is_too_wide_for_the_terminal_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    with pty(columns=40) as terminal:
        monkeypatch.setattr(sys, "stdout", terminal.file)
        print_line(LONG)
        print_line("        got: the process ended with exit code 1")
        print_line("a short line")
        assert seen(terminal.end(), 40, 24) == [
            "lost as player 1, 0:10; player 1:",
            "  RULE_VIOLATION the piece is placed",
            "  already",
            "        got: the process ended with",
            "          exit code 1",
            "a short line",
        ]


def test_a_line_with_wide_characters_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    with pty(columns=40) as terminal:
        monkeypatch.setattr(sys, "stdout", terminal.file)
        print_line("日本語の名前です: +3 =0 -1, points 117.5")
        assert seen(terminal.end(), 40, 24) == ["日本語の名前です: +3 =0 -1, points", "  117.5"]


def test_text_in_backticks_is_not_split() -> None:
    with pty(columns=40) as terminal:
        line = fitted("nobody listens there; start a server with `spielleiter serve --port 1`", terminal.file)
    assert line.splitlines() == ["nobody listens there; start a server", "  with `spielleiter serve --port 1`"]


def test_a_word_that_is_wider_than_the_terminal_is_not_split() -> None:
    with pty(columns=10) as terminal:
        assert fitted("report: " + "x" * 20, terminal.file) == "report:\n  " + "x" * 20


def test_without_a_terminal_nothing_is_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    print_line(LONG * 5)
    assert capsys.readouterr().out == LONG * 5 + "\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("match", "--help"),
        ("doctor",),
        ("demo", "--first", "first", "--second", "first"),
        ("match", "--player1", "builtin:first", "--player2", "builtin:first", "-n", "2", "--no-timeout", "--out", "m"),
        ("check", "builtin:first", "--pause", "0.1"),
    ],
    ids=" ".join,
)
def test_a_command_whose_output_nobody_reads_ends_without_a_message(arguments: tuple[str, ...], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "spielleiter", *arguments],
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=HANG_TIMEOUT,
            cwd=tmp_path,
            check=False,
        )
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert b"pipe" not in done.stderr
    assert b"Traceback" not in done.stderr
