"""Which streams act on escape sequences (consoles of Windows are stand-ins), and outputs that nobody reads."""

from __future__ import annotations

import ctypes
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spielleiter.common.terminal import enable_escapes, shows_colours, understands_escapes
from tests.timeouts import HANG_TIMEOUT

OUTPUT, ESCAPES = 0x0003, 0x0004
"""Modes of a console: those that are on from the start, and virtual terminal processing."""


class Kernel32:
    """A stand-in for the library. `mode` is that of the console with handle 70, `knows` the modes that it has."""

    def __init__(self, mode: int = OUTPUT, knows: int = OUTPUT | ESCAPES) -> None:
        self.mode, self.knows = mode, knows

    def GetConsoleMode(self, handle: ctypes.c_void_p, mode: Any) -> int:  # noqa: N802
        if handle.value != 70:
            return 0
        ctypes.cast(mode, ctypes.POINTER(ctypes.c_uint32)).contents.value = self.mode
        return 1

    def SetConsoleMode(self, handle: ctypes.c_void_p, mode: ctypes.c_uint32) -> int:  # noqa: N802
        assert handle.value == 70
        if mode.value & ~self.knows:
            return 0
        self.mode = mode.value
        return 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 7


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.parametrize(
    ("kernel", "descriptor", "answer", "mode"),
    [
        (Kernel32(), 7, True, OUTPUT | ESCAPES),
        (Kernel32(OUTPUT | ESCAPES), 7, True, OUTPUT | ESCAPES),
        (Kernel32(knows=OUTPUT), 7, False, OUTPUT),  # before Windows 10
        (Kernel32(), 8, False, OUTPUT),  # a file
    ],
)
def test_a_console_of_windows_is_made_to_act_on_escapes(
    kernel: Kernel32, descriptor: int, answer: bool, mode: int
) -> None:
    assert enable_escapes(descriptor, kernel, lambda number: number * 10) is answer
    assert kernel.mode == mode


def test_a_descriptor_without_a_handle_is_no_console() -> None:
    def refuse(_: int) -> int:
        raise OSError("bad file descriptor")

    assert not enable_escapes(7, Kernel32(), refuse)


@pytest.mark.parametrize("answer", [True, False])
def test_a_terminal_acts_on_escapes_if_its_console_does(answer: bool) -> None:
    assert understands_escapes(Terminal(), lambda descriptor: answer and descriptor == 7) is answer


@pytest.mark.parametrize("stream", [None, io.StringIO(), type("Replacement", (), {"isatty": lambda _: True})()])
def test_what_is_no_terminal_does_not(stream: object) -> None:
    assert not understands_escapes(stream, lambda _: True)


def test_the_environment_can_refuse_escapes_and_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spielleiter.common.terminal.enable_escapes", lambda _: True)  # on Windows
    assert shows_colours(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert understands_escapes(Terminal())
    assert not shows_colours(Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert not understands_escapes(Terminal())


# -- outputs that nobody reads ----------------------------------------------------------------------------------------

PROGRAM = """
import sys
from spielleiter.common.terminal import end_quietly_without_readers
end_quietly_without_readers()
try:
    print("ä line", file=sys.{stream}, flush={is_flushed})
    print("another", file=sys.{stream}, flush={is_flushed})
except OSError:
    print("seen")
print("the end", file=sys.stderr)
"""


def run(code: str, *options: str, **streams: int) -> subprocess.CompletedProcess[bytes]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        check=False,
        timeout=HANG_TIMEOUT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdout=pipes["stdout"],
        stderr=pipes["stderr"],
    )


@pytest.fixture
def closed() -> int:
    """A pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-u",)])
def test_without_a_reader_of_its_output_a_program_ends_at_once(options: tuple[str, ...], closed: int) -> None:
    done = run(PROGRAM.format(stream="stdout", is_flushed=True), *options, stdout=closed)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.slow
def test_what_python_writes_at_its_end_is_lost_without_a_message(closed: int) -> None:
    done = run(PROGRAM.format(stream="stdout", is_flushed=False), stdout=closed)
    assert done.stderr.splitlines() == [b"the end"]


@pytest.mark.slow
def test_without_a_reader_of_its_messages_a_program_goes_on(closed: int) -> None:
    done = run(PROGRAM.format(stream="stderr", is_flushed=True) + "print('result')", stderr=closed)
    assert (done.returncode, done.stdout.split()) == (0, [b"result"])


@pytest.mark.slow
def test_what_is_read_is_written_unchanged() -> None:
    done = run(PROGRAM.format(stream="stdout", is_flushed=False), "-X", "utf8")
    assert (done.returncode, done.stdout.decode().splitlines()) == (0, ["ä line", "another"])


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
def test_a_full_disk_is_still_an_error() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        done = run("import sys\n" + PROGRAM.format(stream="stdout", is_flushed=True), stdout=full)
    finally:
        os.close(full)
    assert b"No space left" in done.stderr
